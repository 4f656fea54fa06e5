"""Ways to compare a tensor with its reference: one class for each verifier of the accuracy debugger."""

from edgewright.analyse.verifiers.distances import (
    CosineSimilarity,
    L1Error,
    MeanAbsoluteError,
    MeanSquaredError,
    ScaledDiff,
    SignalToNoise,
)
from edgewright.analyse.verifiers.rankings import MeanIou, TopK
from edgewright.analyse.verifiers.tolerances import AdjustedRtolAtol, RtolAtol
from edgewright.analyse.verifiers.verifier import Verifier

# In the order in which the guide names them.
VERIFIERS: tuple[type[Verifier], ...] = (
    *(RtolAtol, AdjustedRtolAtol, TopK, L1Error, CosineSimilarity),
    *(MeanSquaredError, MeanAbsoluteError, SignalToNoise, MeanIou, ScaledDiff),
)
