"""The broadcasting rule of elementwise ops, for shapes that may be symbolic."""

from itertools import zip_longest

from edgewright.core.errors import ShapeMismatch
from edgewright.ir.dims import Dim, Shape


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of operands, aligned at the last axis as numpy does."""
    columns = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return tuple(_common(dims, shapes) for dims in columns)[::-1]


def _common(dims: tuple[Dim, ...], shapes: tuple[Shape, ...]) -> Dim:
    wide = [dim for dim in dims if dim != 1]
    numbers = {dim for dim in wide if isinstance(dim, int)}
    if len(numbers) > 1:
        raise ShapeMismatch(
            f"shapes {' and '.join(map(_text, shapes))} do not broadcast: {sorted(numbers)} meet on one axis",
            do="make the two dimensions equal, or one of them 1",
        )
    # A number beats a symbol: the symbol must then be that number, or 1.
    return numbers.pop() if numbers else (wide[0] if wide else 1)


def _text(shape: Shape) -> str:
    return f"[{','.join(str(dim) for dim in shape)}]"
