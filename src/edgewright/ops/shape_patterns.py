"""Shapes held against patterns such as "N n 4": one name for one length, in all inputs of an op."""

from edgewright.core.errors import ShapeMismatch
from edgewright.ir.dims import Dim
from edgewright.ir.types import TensorType


def match_shapes(*pairs: tuple[str, TensorType | None]) -> dict[str, Dim]:
    """The length of each name; shapes that do not fit their patterns are refused. None fits everything.

    A name is a word or a number; the first length of a word gives it its meaning.
    """
    lengths: dict[str, Dim] = {}
    present = [(pattern.split(), kind) for pattern, kind in pairs if kind is not None]
    for names, kind in present:
        if kind.rank != len(names) or not all(
            _agree(lengths, name, length) for name, length in zip(names, kind.shape, strict=True)
        ):
            shapes = ", ".join(str(list(tensor_type.shape)) for _, tensor_type in present)
            wanted = ", ".join(f"[{', '.join(parts)}]" for parts, _ in present)
            raise ShapeMismatch(f"shapes {shapes} do not fit", do=f"give tensors of shapes {wanted}")
    return lengths


def check_multiple(length: Dim, factor: int, what: str) -> None:
    """Refuses a length that is not a number of whole groups."""
    if isinstance(length, int) and (length % factor or not length):
        raise ShapeMismatch(f"{what} is {length}, expected a multiple of {factor}", do="give whole groups")


def _agree(lengths: dict[str, Dim], name: str, length: Dim) -> bool:
    known = int(name) if name.isdigit() else lengths.setdefault(name, length)
    return not (isinstance(known, int) and isinstance(length, int)) or known == length
