"""What to do with an array whose shape is not the expected one."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod

from edgewright.ir.dims import Dim

# Beyond that there are too many orders of the axes to try, and nobody means them.
LARGEST_RANK = 6


def is_matching_shape(shape: Sequence[int], expected: Sequence[Dim]) -> bool:
    """Whether numbers may stand in the place of dimensions; a symbol takes any."""
    return len(shape) == len(expected) and all(
        not isinstance(dim, int) or dim == size for size, dim in zip(shape, expected, strict=True)
    )


def advise_shape(shape: Sequence[int], expected: Sequence[Dim]) -> str:
    """The step that gives the expected shape, as code where it is clear."""
    rank = len(expected)
    order = _find_order(shape, expected)
    if order is not None:
        return f"{_name_layout(order)}: array.transpose{order}"
    rests = {axis: (*expected[:axis], *expected[axis + 1 :]) for axis in _list_singles(expected)}
    for axis, rest in rests.items():
        if is_matching_shape(shape, rest):
            return f"add {_name_axis(axis, rank)}: {_spell_added_axis('array', axis, rank)}"
    for axis, rest in rests.items():
        order = _find_order(shape, rest)
        if order is not None:
            code = _spell_added_axis(f"array.transpose{order}", axis, rank)
            return f"{_name_layout(order)}, then add {_name_axis(axis, rank)}: {code}"
    for axis in _list_singles(shape):
        if is_matching_shape((*shape[:axis], *shape[axis + 1 :]), expected):
            return f"remove {_name_axis(axis, len(shape))}: array.squeeze({axis})"
    return _advise_sizes(shape, expected)


def _advise_sizes(shape: Sequence[int], expected: Sequence[Dim]) -> str:
    """What helps where no order of the axes does."""
    if len(shape) == len(expected) and is_matching_shape(shape[1:], expected[1:]):
        return f"give {_count_samples(expected[0])} at once, not {shape[0]}"
    batch = expected[0] if expected else None
    if isinstance(batch, int) and shape and shape[0] > batch:
        order = _find_order((batch, *shape[1:]), expected)
        if order is not None:
            code = f"array[:{batch}].transpose{order}"
            return f"{_name_layout(order)}, and {_count_samples(batch)} at once, not {shape[0]}: {code}"
    sizes = [dim for dim in expected if isinstance(dim, int)]
    if len(sizes) == len(expected) and prod(shape) == prod(sizes):
        text = ", ".join(map(str, sizes))
        return f"if the values are in the order of the model: array.reshape({text})"
    if len(shape) == len(expected):
        pairs = enumerate(zip(shape, expected, strict=True))
        wrong = [f"axis {a} has {n}, not {d}" for a, (n, d) in pairs if isinstance(d, int) and d != n]
        return f"give the input in the shape of the model: {', '.join(wrong)}"
    return f"give the input with {len(expected)} axes, not {len(shape)}"


def _count_samples(count: Dim) -> str:
    return f"{count} sample{'s' * (count != 1)}"


def _find_order(shape: Sequence[int], expected: Sequence[Dim]) -> tuple[int, ...] | None:
    """The order of the axes that fits; moving the channels comes before all others."""
    rank = len(expected)
    if len(shape) != rank or not 2 <= rank <= LARGEST_RANK:
        return None
    for order in (*_list_channel_moves(rank), *permutations(range(rank))):
        if is_matching_shape([shape[axis] for axis in order], expected):
            return order if order != tuple(range(rank)) else None
    return None


def _list_channel_moves(rank: int) -> Iterator[tuple[int, ...]]:
    """Channels of a batch, or of one image, to the end and to the front."""
    batch = () if rank == 3 else (0,)
    first, last = len(batch), rank - 1
    if rank > 2:
        yield (*batch, *range(first + 1, rank), first)
        yield (*batch, last, *range(first, last))


def _name_layout(order: tuple[int, ...]) -> str:
    rank = len(order)
    moves = dict(zip(_list_channel_moves(rank), ("last", "first"), strict=False))
    return f"the model wants channels {moves[order]}" if order in moves else "the axes have another order"


def _list_singles(shape: Sequence[Dim]) -> list[int]:
    """Axes of one element, and of a size that is open: the batch first, then from the end."""
    singles = [axis for axis, dim in enumerate(shape) if not isinstance(dim, int) or dim == 1]
    return sorted(singles, key=lambda axis: (axis != 0, -axis))


def _name_axis(axis: int, rank: int) -> str:
    names = {0: "a first axis, the batch", rank - 1: "a last axis"}
    return names.get(axis, f"axis {axis}")


def _spell_added_axis(array: str, axis: int, rank: int) -> str:
    if axis == 0:
        return f"{array}[None]"
    return f"{array}[..., None]" if axis == rank - 1 else f"np.expand_dims({array}, {axis})"
