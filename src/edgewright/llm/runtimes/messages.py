"""The closed set of records that travel between a runtime's process and its caller."""

from edgewright.abi.frames import Codec
from edgewright.core import errors

CODEC = Codec(
    (
        errors.Where,
        errors.BackendCrash,
        errors.BadInput,
        errors.EnvironmentProblem,
        errors.LimitExceeded,
        errors.ShapeMismatch,
        errors.TypeMismatch,
        errors.UnsupportedFeature,
        errors.UnsupportedOp,
        errors.UsageError,
    )
)
