"""What a scheme is: it chooses, from what was seen of a tensor, the range that its encoding shall cover."""

from typing import ClassVar

from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram


class Scheme:
    """Chooses ranges, one for each row of what was seen."""

    # Whether extremes alone are not enough.
    needs_histogram: ClassVar[bool] = False

    def choose_ranges(self, statistics: Extremes | Histogram, grid: Grid) -> Extremes:
        """The ranges that encodings on the grid shall cover."""
        raise NotImplementedError


class FromExtremes(Scheme):
    """A scheme that looks at the smallest and the largest value only."""

    def choose_ranges(self, statistics: Extremes | Histogram, grid: Grid) -> Extremes:
        """From the extremes, wherever they come from."""
        return self.from_extremes(
            statistics.extremes if isinstance(statistics, Histogram) else statistics, grid
        )

    def from_extremes(self, extremes: Extremes, grid: Grid) -> Extremes:
        """The ranges for extremes."""
        raise NotImplementedError


class FromHistogram(Scheme):
    """A scheme that weighs how often values occur; extremes alone are taken as they are."""

    needs_histogram = True

    def choose_ranges(self, statistics: Extremes | Histogram, grid: Grid) -> Extremes:
        """From the histogram where there is one."""
        return self.from_histogram(statistics, grid) if isinstance(statistics, Histogram) else statistics

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """The ranges for a histogram."""
        raise NotImplementedError
