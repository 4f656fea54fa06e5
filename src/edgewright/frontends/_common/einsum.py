"""Einstein's sums, pair by pair: diagonals, sums, and products of matrices between transposes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edgewright.core.errors import BadInput, ShapeMismatch, Where
from edgewright.frontends._common.builder import Builder
from edgewright.frontends._common.products import emit_product
from edgewright.ir.dims import element_count
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange_slice import StridedSlice
from edgewright.ops.reduce import ReduceSum

ELLIPSIS = "..."


@dataclass(frozen=True)
class Term:
    """A value and the index that names each of its axes."""

    value: str
    axes: tuple[str, ...]

    def without(self, axis: str) -> tuple[str, ...]:
        """The indices but one."""
        return tuple(item for item in self.axes if item != axis)


def emit_einsum(ctx: Builder, equation: str, values: Sequence[str], where: Where) -> str:
    """Operands are multiplied from left to right; what later ones do not need is summed at once."""
    terms, output_axes = _parse_equation(ctx, equation.replace(" ", ""), values, where)
    pending = [_take_diagonal(ctx, term) for term in terms]
    result = pending.pop(0)
    while pending:
        other = pending.pop(0)
        kept = {*output_axes, *(axis for term in pending for axis in term.axes)}
        result = _multiply_terms(ctx, result, other, kept)
    result = _sum_axes(ctx, result, set(output_axes))
    return ctx.transpose(result.value, [result.axes.index(axis) for axis in output_axes])


def _parse_equation(
    ctx: Builder, equation: str, values: Sequence[str], where: Where
) -> tuple[list[Term], tuple[str, ...]]:
    left, arrow, right = equation.partition("->")
    words = left.split(",")
    if len(words) != len(values):
        raise BadInput(f"equation '{equation}' names {len(words)} operands, {len(values)} are given", where)
    terms = [
        Term(value, _name_axes(word, ctx.rank(value), where))
        for word, value in zip(words, values, strict=True)
    ]
    known = dict.fromkeys(axis for term in terms for axis in term.axes)
    # The axes behind an ellipsis count from its last one.
    shared = sorted((axis for axis in known if axis.startswith(ELLIPSIS)), reverse=True)
    output_axes = _parse_output(right, shared) if arrow else (*shared, *_find_single_letters(words))
    if len(set(output_axes)) != len(output_axes) or not set(output_axes) <= set(known):
        raise BadInput(
            f"the result of equation '{equation}' repeats an index or has one of no operand", where
        )
    return terms, output_axes


def _name_axes(word: str, rank: int, where: Where) -> tuple[str, ...]:
    before, ellipsis, after = word.partition(ELLIPSIS)
    count = rank - len(before) - len(after)
    if not (before + after).isalpha() and before + after:
        raise BadInput(f"'{word}' is not a list of letters", where)
    if count < 0 or (count and not ellipsis):
        raise ShapeMismatch(f"'{word}' names the axes of a tensor of rank {rank}", where)
    return (*before, *(f"{ELLIPSIS}{i:03d}" for i in reversed(range(count))), *after)


def _parse_output(right: str, shared: Sequence[str]) -> tuple[str, ...]:
    before, ellipsis, after = right.partition(ELLIPSIS)
    return (*before, *(shared if ellipsis else ()), *after)


def _find_single_letters(words: Iterable[str]) -> list[str]:
    letters = "".join(words).replace(".", "")
    return sorted(letter for letter in set(letters) if letters.count(letter) == 1)


def _take_diagonal(ctx: Builder, term: Term) -> Term:
    """An index that stands twice in one term: every (n + 1)-th element of the two axes as one."""
    repeated = next((axis for axis in term.axes if term.axes.count(axis) > 1), None)
    if repeated is None:
        return term
    first, second = [i for i, axis in enumerate(term.axes) if axis == repeated][:2]
    rest = [i for i in range(len(term.axes)) if i not in {first, second}]
    turned = ctx.transpose(term.value, [*rest, first, second])
    *outer, size, other = ctx.shape(turned)
    if not isinstance(size, int) or size != other or size == 0:
        raise ShapeMismatch(f"the diagonal of a {size} x {other} matrix is wanted, expected a square one")
    flat = ctx.reshape(turned, (*outer, size * size))
    ranges = (*((0, dim, 1) for dim in outer), (0, size * size, size + 1))
    value = ctx.emit(StridedSlice(ranges=ranges), flat)
    return _take_diagonal(ctx, Term(value, (*(term.axes[i] for i in rest), repeated)))


def _sum_axes(ctx: Builder, term: Term, kept: set[str]) -> Term:
    """The term without the indices that nobody wants any more."""
    gone = tuple(i for i, axis in enumerate(term.axes) if axis not in kept)
    if not gone:
        return term
    axes = tuple(axis for axis in term.axes if axis in kept)
    return Term(ctx.emit(ReduceSum(axes=gone), term.value), axes)


def _multiply_terms(ctx: Builder, left: Term, right: Term, kept: set[str]) -> Term:
    for axis in (axis for axis in left.axes if axis in right.axes and axis not in kept):
        left, right = _without_broadcast(ctx, left, right, axis)
    left = _sum_axes(ctx, left, kept | set(right.axes))
    right = _sum_axes(ctx, right, kept | set(left.axes))
    summed = [axis for axis in left.axes if axis in right.axes and axis not in kept]
    both = [axis for axis in left.axes if axis in right.axes and axis in kept]
    return (
        _multiply_and_sum(ctx, left, right, both, summed)
        if summed
        else _multiply_outer(ctx, left, right, both)
    )


def _without_broadcast(ctx: Builder, left: Term, right: Term, axis: str) -> tuple[Term, Term]:
    """A summed index of size 1 on one side is dropped there: the other side is summed by itself."""
    sizes = [ctx.shape(term.value)[term.axes.index(axis)] for term in (left, right)]
    if sizes[0] == sizes[1] or 1 not in sizes:
        return left, right
    narrow = left if sizes[0] == 1 else right
    place = narrow.axes.index(axis)
    shape = ctx.shape(narrow.value)
    value = ctx.reshape(narrow.value, (*shape[:place], *shape[place + 1 :]))
    smaller = Term(value, narrow.without(axis))
    return (smaller, right) if narrow is left else (left, smaller)


def _multiply_outer(ctx: Builder, left: Term, right: Term, both: Sequence[str]) -> Term:
    """Nothing to sum: a product element by element over all indices of the two."""
    mine, theirs = ([axis for axis in term.axes if axis not in both] for term in (left, right))
    order = [*both, *mine, *theirs]
    operands = []
    for term in (left, right):
        own = [axis for axis in order if axis in term.axes]
        turned = ctx.transpose(term.value, [term.axes.index(axis) for axis in own])
        sizes = dict(zip(own, ctx.shape(turned), strict=True))
        operands.append(ctx.reshape(turned, [sizes.get(axis, 1) for axis in order]))
    return Term(ctx.emit(ElementWiseMultiply(), *operands), tuple(order))


def _multiply_and_sum(
    ctx: Builder, left: Term, right: Term, both: Sequence[str], summed: Sequence[str]
) -> Term:
    """[both, mine, summed] times [both, summed, theirs]."""
    mine, theirs = (
        [axis for axis in term.axes if axis not in both and axis not in summed] for term in (left, right)
    )
    turns = [
        bool(mine) and left.axes == (*both, *summed, *mine),
        bool(theirs) and right.axes == (*both, *theirs, *summed),
    ]
    a = _reshape_to_matrix(ctx, left, both, (summed, mine) if turns[0] else (mine, summed))
    b = _reshape_to_matrix(ctx, right, both, (theirs, summed) if turns[1] else (summed, theirs))
    op = MatMul(transpose_in0=turns[0], transpose_in1=turns[1])
    value = emit_product(ctx, a, b, op)
    sizes = {
        axis: dim
        for term in (right, left)
        for axis, dim in zip(term.axes, ctx.shape(term.value), strict=True)
    }
    outer = ctx.shape(value)[: len(both)]
    shape = (*outer, *(sizes[axis] for axis in (*mine, *theirs)))
    return replace(left, value=ctx.reshape(value, shape), axes=(*both, *mine, *theirs))


def _reshape_to_matrix(
    ctx: Builder, term: Term, both: Sequence[str], sides: tuple[Sequence[str], Sequence[str]]
) -> str:
    """The term with its indices in order, those of each side as one axis."""
    order = [*both, *sides[0], *sides[1]]
    turned = ctx.transpose(term.value, [term.axes.index(axis) for axis in order])
    sizes = dict(zip(order, ctx.shape(turned), strict=True))
    rows, columns = (element_count(sizes[axis] for axis in side) for side in sides)
    return ctx.reshape(turned, (*(sizes[axis] for axis in both), rows, columns))
