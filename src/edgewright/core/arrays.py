"""Arrays of other packages as numpy's, without importing those packages."""

from typing import Any

import ml_dtypes
import numpy as np

from edgewright.core.errors import TypeMismatch, shown
from edgewright.core.numbers import Array


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy or of another package, and not a number or a list."""
    return hasattr(value, "__array__")


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type of single numbers: no text, date, object or record of fields.

    Anonymous bytes may be numbers: numpy's files have no name for bfloat16 and the like.
    """
    return dtype.kind not in "OUSTmM" and dtype.names is None and dtype.subdtype is None


def to_array(value: Any) -> Array:
    """The values as a numpy array: of an array, a tensor of torch on any device, or nested lists."""
    try:
        array: Array = np.asarray(_leave_torch(value) if hasattr(value, "detach") else value)
    except (ValueError, TypeError, RuntimeError) as problem:
        raise TypeMismatch(f"a {type(value).__name__} is no array: {shown(problem)}") from None
    # The floats of a list have no width of their own: models take 32 bits.
    return array.astype(np.float32) if array.dtype == np.float64 and not is_array(value) else array


def _leave_torch(tensor: Any) -> Array:
    """A tensor may need gradients, be on a device, or have a type that numpy lacks."""
    plain = tensor.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":
        narrow: Array = plain.float().numpy().astype(ml_dtypes.bfloat16)
        return narrow
    array: Array = plain.numpy()
    return array
