"""TFLite ops that cut and turn around."""

from dataclasses import dataclass

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.terms import emit_slice
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.dims import Dim
from edgewright.ops.axes import normal_axes
from edgewright.ops.rearrange_slice import FAR, Range, bounded_range, kept


@tflite_op("SLICE")
def slice_(ctx: Context, node: SourceNode) -> str:
    """From a place on, so many elements; -1 is all that are left."""
    x, begins, sizes = node.need(0, 1, 2)
    shape, starts, counts = ctx.shape(x), ctx.read_dims(begins), ctx.read_dims(sizes)
    if not len(shape) == len(starts) == len(counts):
        raise ShapeMismatch(f"{len(starts)} places and {len(counts)} sizes for {ctx.type(x)}", node.where)
    ranges: list[Range] = [
        (start, dim if count == -1 else start + count, 1)
        for start, count, dim in zip(starts, counts, shape, strict=True)
    ]
    return emit_slice(ctx, x, ranges)


@tflite_op("REVERSE_V2")
def reverse(ctx: Context, node: SourceNode) -> str:
    """Some axes back to front."""
    x, axes = node.need(0, 1)
    turned = normal_axes(ctx.read_ints(axes), ctx.rank(x))
    ranges: list[Range] = [
        (dim - 1, -1, -1) if axis in turned else (0, dim, 1) for axis, dim in enumerate(ctx.shape(x))
    ]
    return emit_slice(ctx, x, ranges)


@tflite_op("STRIDED_SLICE")
def strided_slice(ctx: Context, node: SourceNode) -> str:
    """Python's slicing, with masks for what is left out, new and gone axes."""
    x, *bounds = node.need(0, 1, 2, 3)
    spec = _Spec(node, *(ctx.read_dims(value) for value in bounds))
    ranges, shape = spec.applied(ctx.shape(x))
    return ctx.reshape(emit_slice(ctx, x, ranges), shape)


@dataclass(frozen=True)
class _Spec:
    """The entries of a slicing; bit i of a mask is about entry i."""

    node: SourceNode
    begins: tuple[Dim, ...]
    ends: tuple[Dim, ...]
    strides: tuple[Dim, ...]

    def applied(self, shape: tuple[Dim, ...]) -> tuple[list[Range], list[Dim]]:
        """The range of each axis, and the shape of the result."""
        if not len(self.begins) == len(self.ends) == len(self.strides):
            raise BadInput("begins, ends and strides differ in number", self.node.where)
        ranges: list[Range] = []
        result: list[Dim] = []
        for entry in self._entries(len(shape)):
            if entry is not None and self._has("new_axis_mask", entry):
                result.append(1)
                continue
            dim = self._next(shape, len(ranges))
            part = (0, dim, 1) if entry is None else self._range(entry, dim)
            ranges.append(part)
            if entry is None or not self._has("shrink_axis_mask", entry):
                result.append(kept(part))
        return ranges, result

    def _entries(self, rank: int) -> list[int | None]:
        """The entries with the ellipsis spread out; None for an axis that no entry is about."""
        own: list[int | None] = list(range(len(self.begins)))
        dots = [entry for entry in range(len(own)) if self._has("ellipsis_mask", entry)]
        if len(dots) > 1:
            raise BadInput(f"{len(dots)} entries are an ellipsis, expected 1", self.node.where)
        place = dots[0] if dots else len(own)
        new = sum(self._has("new_axis_mask", entry) for entry in range(len(own)) if entry != place)
        missing = rank - (len(own) - new - len(dots))
        if missing < 0:
            raise ShapeMismatch(f"{len(own)} entries are given for rank {rank}", self.node.where)
        return [*own[:place], *[None] * missing, *own[place + 1 :]]

    def _range(self, entry: int, dim: Dim) -> Range:
        begin, end, step = self.begins[entry], self.ends[entry], self.strides[entry]
        if not isinstance(step, int) or step == 0:
            raise BadInput(f"a stride is {step}, expected a number other than 0", self.node.where)
        if self._has("shrink_axis_mask", entry):
            at = begin + dim if isinstance(begin, int) and begin < 0 else begin
            if isinstance(at, int) and isinstance(dim, int) and not 0 <= at < dim:
                raise ShapeMismatch(f"place {begin} lies outside an axis of {dim}", self.node.where)
            return at, at + 1, 1
        if self._has("begin_mask", entry):
            begin = 0 if step > 0 else FAR
        if self._has("end_mask", entry):
            end = FAR if step > 0 else -FAR
        elif self.node.option("offset"):
            end = begin + end
        return bounded_range(begin, end, step, dim)

    def _has(self, mask: str, entry: int) -> bool:
        return bool(self.node.option(mask) >> entry & 1)

    def _next(self, shape: tuple[Dim, ...], axis: int) -> Dim:
        if axis >= len(shape):
            raise ShapeMismatch(f"more entries than the {len(shape)} axes are given", self.node.where)
        return shape[axis]
