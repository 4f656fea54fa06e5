"""What a scheme is: it chooses, from what was seen of a tensor, the range that its encoding shall cover."""

from typing import ClassVar

from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram

__all__ = ["FromExtremes", "FromHistogram", "Scheme"]


class Scheme:
    """Chooses ranges, one for each row of what was seen."""

    # Whether extremes alone are not enough.
    needs_histogram: ClassVar[bool] = False

    def ranges(self, seen: Extremes | Histogram, grid: Grid) -> Extremes:
        """The ranges that encodings on the grid shall cover."""
        raise NotImplementedError


class FromExtremes(Scheme):
    """A scheme that looks at the smallest and the largest value only."""

    def ranges(self, seen: Extremes | Histogram, grid: Grid) -> Extremes:
        """From the extremes, wherever they come from."""
        return self.from_extremes(seen.extremes if isinstance(seen, Histogram) else seen, grid)

    def from_extremes(self, extremes: Extremes, grid: Grid) -> Extremes:
        """The ranges for extremes."""
        raise NotImplementedError


class FromHistogram(Scheme):
    """A scheme that weighs how often values occur; extremes alone are taken as they are."""

    needs_histogram = True

    def ranges(self, seen: Extremes | Histogram, grid: Grid) -> Extremes:
        """From the histogram where there is one."""
        return self.from_histogram(seen, grid) if isinstance(seen, Histogram) else seen

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """The ranges for a histogram."""
        raise NotImplementedError
