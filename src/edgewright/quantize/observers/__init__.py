"""What is remembered of a tensor's values: extremes and histograms, of fixed size however much was seen."""

from edgewright.quantize.observers.extremes import Extremes
from edgewright.quantize.observers.histogram import Histogram, HistogramObserver

__all__ = ["Extremes", "Histogram", "HistogramObserver"]
