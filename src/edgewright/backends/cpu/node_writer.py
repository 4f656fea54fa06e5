"""Writes IR nodes for the engine: fixed-point ops between decoding and encoding, transposes put off."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from edgewright.backends.cpu.column_products import write_column_sums
from edgewright.backends.cpu.exact_products import write_exact_sums
from edgewright.backends.cpu.fused_steps import can_combine, combine_in_one_pass
from edgewright.backends.cpu.halves import HalfArithmetic, halve_value, look_up_half
from edgewright.backends.cpu.kernels import has_integer_kernel
from edgewright.backends.cpu.packed import is_packed
from edgewright.backends.cpu.registry import LOWERINGS, Lowering, NotOnEngine
from edgewright.backends.cpu.sums import (
    BYTE,
    PLAIN,
    Rounding,
    SumForm,
    WideSums,
    look_up,
    look_up_pairs,
    round_sums,
    scale_value,
    shift_value,
    split_bytes,
    write_fused_product,
    write_matrix_sums,
    write_product,
)
from edgewright.backends.cpu.writer import ENGINE_CODES, ENGINE_OPSET, Writer
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, given
from edgewright.ops.reference import means_real_numbers


class NodeWriter(Writer):
    """A writer that knows how each op is written.

    Nodes named in ``through_float`` run on real numbers although they only move elements.
    """

    def __init__(
        self,
        graph: Graph,
        opset: int = ENGINE_OPSET,
        through_float: Collection[str] = frozenset(),
        rounding: Rounding = PLAIN,
    ) -> None:
        super().__init__(graph, opset)
        self._through_float = through_float
        self._rounding = rounding
        self._real_constants: dict[tuple[str, DType], str] = {}
        # Whether fixed-point ops were written: what is a real number among them is meant to be one.
        self.has_fixed_point = False

    def write(self, node: Node) -> None:
        """Writes one IR node; raises NotOnEngine and leaves nothing behind where the engine lacks it."""
        lowering = LOWERINGS.get(type(node.op))
        values = [value for value in (*node.inputs, *node.outputs) if value]
        if lowering is None or any(self.graph.types[value].dtype not in ENGINE_CODES for value in values):
            raise NotOnEngine
        types = [self.graph.types[value] for value in values]
        is_fixed = node.name in self._through_float or means_real_numbers(node.op, types)
        before = len(self._nodes)
        self._label = node.name
        try:
            names = self._look_up(node) or (self._write_fixed if is_fixed else self._write_float)(
                lowering, node
            )
        except NotOnEngine:
            del self._nodes[before:]
            raise
        finally:
            self._seen_as.clear()
            self._stand_ins.clear()
        self._names.update(zip(node.outputs, names, strict=False))
        if self._rounding.halves is not None and not node.op.keeps_encoding:
            self._halve_results(node, self._rounding.halves)

    def _look_up(self, node: Node) -> list[str]:
        """The result of a conversion or of a function of one float that has a table; nothing without one."""
        form = self._rounding.sums(self.graph, node) if self._rounding.sums and node.op.is_encoder else None
        if form is not None and form.table is not None:
            return [self._find_in_table(node.inputs[0], form.table)]
        halves = self._rounding.halves
        types = {self.graph.types[value].dtype for value in (*node.inputs, *node.outputs) if value}
        table = halves.table(node.op) if halves is not None and types == {DType.FLOAT_32} else None
        return [] if table is None else [look_up_half(self, self.value(node.inputs[0]), table)]

    def _find_in_table(self, value: str, table: Array) -> str:
        return look_up(self, self.value(value), self.graph.types[value].dtype, table)

    def _halve_results(self, node: Node, halves: HalfArithmetic) -> None:
        if halves.is_whole(self.graph, node):
            return
        is_even = halves.has_even_ties(self.graph, node)
        for value in filter(None, node.outputs):
            kind = self.graph.types[value]
            if kind.dtype == DType.FLOAT_32 and halves.table(node.op) is None:
                self._names[value] = halve_value(self, self._names[value], kind.rank, is_even=is_even)

    def _write_fixed(self, lowering: Lowering, node: Node) -> list[str]:
        """Decoded, computed on real numbers, encoded: the engine makes an integer kernel of the three."""
        self.has_fixed_point = True
        # Rules are for one result: what is split has an encoding for each part.
        sums = self._rounding.sums if len(node.outputs) == 1 else None
        form = sums(self.graph, node) if sums is not None else None
        if form is not None:
            return self._write_sums(lowering, node, form)
        values = [v for v in dict.fromkeys((*node.inputs, *node.outputs)) if v]
        fixed = {v: self.graph.types[v] for v in values if self.graph.types[v].dtype.is_fixed_point}
        real = self._choose_real_dtype(node)
        keeps_integers = self._keeps_integers(node)
        for value, stored in fixed.items():
            if value in self.graph.constants and not keeps_integers:
                self._stand_ins[value] = self._real_constant(value, node, real)
            elif value in node.inputs:
                self._stand_ins[value] = self.decoded(self.value(value), stored)
        self._seen_as.update({value: stored.with_dtype(real) for value, stored in fixed.items()})
        names = self._write_float(lowering, node)
        types = [self.graph.types[value] for value in node.outputs if value]
        return [
            self.encoded(n, t) if t.dtype.is_fixed_point else n for n, t in zip(names, types, strict=False)
        ]

    def _write_sums(self, lowering: Lowering, node: Node, form: SumForm) -> list[str]:
        """Computed on whole numbers, then rounded as the form says."""
        stored = self.graph.types[node.outputs[0]]
        if form.table is not None or form.pairs is not None:
            return [self._find_in_tables(node, form)]
        if form.factors and can_combine(
            node.op, [self.graph.types[v].dtype for v in (*node.inputs, *node.outputs)]
        ):
            return self._combine(node, form)
        if form.product is not None and form.product.is_fused:
            return [write_fused_product(self, node, form)]
        given = self.graph.types[node.inputs[0]].encoding
        if form.wide is not None:
            sums = self._write_wide_sums(lowering, node, form, form.wide)
        elif form.columns is not None:
            sums = [write_column_sums(self, node, form.columns)]
        elif form.zero is not None:
            sums = [write_matrix_sums(self, node, form.zero)]
        elif form.product is not None:
            assert given is not None
            zero = np.asarray(-given.offsets[0], np.uint8)
            sums = [write_product(self, node, form.product, self.value(node.inputs[0]), zero)]
        else:
            sums = [self._write_whole(lowering, node, form)]
        return [round_sums(self, sums, form, stored, stored.rank - 1)]

    def _find_in_tables(self, node: Node, form: SumForm) -> str:
        if form.table is not None:
            return self._find_in_table(next(iter(form.inputs)), form.table)
        assert form.pairs is not None
        first, second = map(self.value, node.inputs)
        return look_up_pairs(self, first, second, form.pairs)

    def _combine(self, node: Node, form: SumForm) -> list[str]:
        """Both sides as they are stored: our kernel counts, combines and rounds them."""
        encoding = self.graph.types[node.outputs[0]].encoding
        assert encoding is not None
        zero = -encoding.offsets[0]
        numbers = [(form.inputs[value].offsets[0], form.factors[value]) for value in node.inputs]
        sides = np.asarray(numbers, np.float64)

        def write(w: Writer, op: Op, inputs: list[str], _: Node) -> str:
            return combine_in_one_pass(w, op, inputs, sides, form.steps, zero)

        return self._write_turned(write, node) or self._run_lowering(write, node.op, node, None)

    def _write_wide_sums(self, lowering: Lowering, node: Node, form: SumForm, wide: WideSums) -> list[str]:
        """The sums of high and of low bytes."""
        found = []
        for byte, zero in zip(
            split_bytes(self, self.value(node.inputs[0])), divmod(wide.zero, BYTE), strict=True
        ):
            if form.product is not None:
                found.append(write_product(self, node, form.product, byte, np.asarray(zero, np.uint8)))
                continue
            seen = replace(self.graph.types[node.inputs[0]], dtype=DType.UFIXED_POINT_8)
            whole = replace(seen, encoding=Encoding((1.0,), (-zero,)))
            found.append(self._write_whole(lowering, node, form, self.decoded(byte, whole)))
        return found

    def _write_whole(self, lowering: Lowering, node: Node, form: SumForm, first: str = "") -> str:
        """The sums of an op on whole numbers; ``first`` is what its first input is read as."""
        for value in filter(None, dict.fromkeys(node.inputs)):
            if value in form.constants:
                self._stand_ins[value] = self.constant(form.constants[value])
            elif first:
                self._stand_ins[value] = first
            elif value in form.tables:
                self._stand_ins[value] = self._find_in_table(value, form.tables[value])
            else:
                seen = replace(self.graph.types[value], encoding=form.inputs[value])
                whole = shift_value(self, self.decoded(self.value(value), seen), form.shifts.get(value, 0.0))
                factor = form.factors.get(value)
                self._stand_ins[value] = whole if factor is None else scale_value(self, whole, factor)
        values = filter(None, (*node.inputs, *node.outputs))
        self._seen_as.update({v: self.graph.types[v].with_dtype(DType.FLOAT_32) for v in values})
        return self._write_float(lowering, node)[0]

    def _keeps_integers(self, node: Node) -> bool:
        """Whether constants are decoded in the run; the engine would do so each time if it is no use."""
        return has_integer_kernel(self.graph, node)

    def _choose_real_dtype(self, node: Node) -> DType:
        """What stored integers are decoded to: half precision where nothing but weights is stored."""
        values = [v for v in (*node.inputs, *node.outputs) if v and v not in self.graph.constants]
        types = {self.graph.types[value].dtype for value in values}
        is_half = DType.FLOAT_16 in types and not any(dtype.is_fixed_point for dtype in types)
        return DType.FLOAT_16 if is_half else DType.FLOAT_32

    def _real_constant(self, value: str, node: Node, dtype: DType) -> str:
        """A constant as real numbers; no name where the lowering takes its 4 bits instead."""
        if is_packed(self.graph, node) and value == node.inputs[1]:
            return ""
        if (value, dtype) not in self._real_constants:
            encoding = self.graph.types[value].encoding
            assert encoding is not None
            real = encoding.decode(self.graph.constants[value]).astype(dtype.numpy, copy=False)
            self._real_constants[value, dtype] = self.constant(real)
        return self._real_constants[value, dtype]

    def _write_float(self, lowering: Lowering, node: Node) -> list[str]:
        halves = self._rounding.halves
        if halves is not None and halves.has_exact_sums and node.op.is_product:
            types = {self.graph.types[value].dtype for value in (*node.inputs, *node.outputs) if value}
            if types == {DType.FLOAT_32}:
                return [self._write_exact(lowering, node)]
        return self._write_turned(lowering, node) or self._run_lowering(lowering, node.op, node, None)

    def _write_exact(self, lowering: Lowering, node: Node) -> str:
        """Sums in float64, where the engine has them, as float32 plus the bias."""
        sums = write_exact_sums(self, node)
        if not sums:
            inputs = [self.value(value) for value in node.inputs[:2]]
            sums = self._run_lowering(lowering, node.op, node, inputs)[0]
        bias = given(node.inputs, 2)
        return self.node("Add", sums, self.value(bias)) if bias else sums

    def _run_lowering(self, lowering: Lowering, op: Op, node: Node, inputs: list[str] | None) -> list[str]:
        given = inputs if inputs is not None else [self.value(v) if v else "" for v in node.inputs]
        written = lowering(self, op, given, node)
        return [written] if isinstance(written, str) else list(written)

    def _write_turned(self, lowering: Lowering, node: Node) -> list[str] | None:
        """Computes on what was there before a transpose, where the op allows: it may never be needed."""
        names = [self._stand_ins.get(value) or self._names.get(value) for value in node.inputs]
        order = next((self._turned[name][1] for name in names if name in self._turned), None)
        if order is None:
            return None
        back = tuple(order.index(axis) for axis in range(len(order)))
        types = [self.type(value) if value else None for value in node.inputs]
        turned = node.op.permuted(back, *types)  # type: ignore[arg-type]
        if turned is None:
            return None
        op, is_moved = turned
        inputs = [
            self._find_untransposed(v, order, back, m) for v, m in zip(node.inputs, is_moved, strict=True)
        ]
        if None in inputs:
            return None
        moved = [v for v, m in zip(node.inputs, is_moved, strict=True) if m]
        before = dict(self._seen_as)
        self._seen_as.update({v: self.type(v).permuted(back) for v in {*moved, *node.outputs} if v})
        written = self._run_lowering(lowering, op, node, [name or "" for name in inputs])
        self._seen_as = before
        return [self.transpose(name, order) for name in written]

    def _find_untransposed(
        self, value: str, order: tuple[int, ...], back: tuple[int, ...], is_moved: bool
    ) -> str | None:
        """The engine's name of a value before it was transposed; None where that would cost a transpose."""
        if not value or not is_moved:
            return self.value(value) if value else ""
        name = self.value(value)
        is_constant = name in self._initializers or self._stored.get(name, ("",))[0] in self._initializers
        if self._turned.get(name, ("", ()))[1] == order or is_constant:
            return self.transpose(name, back)
        return None
