"""The closed set of records that travel between the worker and its caller."""

from edgewright.abi.frames import Codec
from edgewright.core import errors

CODEC = Codec((errors.Where, errors.BackendCrash, errors.BadInput, errors.EnvironmentProblem))
