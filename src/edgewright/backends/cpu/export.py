"""Writes a whole graph as one ONNX model for anybody: the graph's names, real numbers at its ends."""

from collections.abc import Collection, Iterable

import numpy as np
import onnx

from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import ENGINE_OPSET
from edgewright.core.errors import EdgewrightError, Problems, UnsupportedFeature, UnsupportedOp, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.source import SourceOp
from edgewright.passes.target.float_io import with_float_io

FOUR_BITS = {True: onnx.TensorProto.INT4, False: onnx.TensorProto.UINT4}


def export_graph(graph: Graph) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model, and the arrays of initializers whose bytes it does not hold.

    Ops in fixed point are float ops between DequantizeLinear and QuantizeLinear, those that only move
    elements too: few engines have the latter for every integer type.
    """
    plain = with_float_io(graph)
    writer = _Exporting(plain)
    for value in plain.inputs:
        writer.add_input(value)
    writer.write_all(plain.nodes)
    return writer.finished()


class _Exporting(NodeWriter):
    """A writer for readers other than our own engine."""

    def __init__(self, graph: Graph) -> None:
        through_float = {node.name for node in graph.nodes if not node.op.is_encoder}
        super().__init__(graph, through_float=through_float)
        self.is_standard = True

    def write_all(self, nodes: Iterable[Node]) -> None:
        """Writes all nodes; those that ONNX has no form for come in one error."""
        problems: list[EdgewrightError] = []
        for node in nodes:
            try:
                self._write_one(node)
            except NotOnEngine:
                # What reads it must still be looked at.
                self._names.update({value: value for value in node.outputs if value})
                kind = node.op.display_name()
                what = f"op '{kind}' cannot be written in opset {ENGINE_OPSET} of ONNX"
                problems.append(UnsupportedOp(what, Where(op=kind, node=node.name)))
        if problems:
            raise Problems(problems)

    def _keeps_integers(self, node: Node) -> bool:
        """Weights are always written as integers: the file is small, and has its encodings."""
        del node
        return True

    def _write_one(self, node: Node) -> None:
        # An op of another version may mean something else, and a graph inside a node has names of its own.
        if node.subgraphs or (isinstance(node.op, SourceOp) and node.op.version != ENGINE_OPSET):
            raise NotOnEngine
        self.write(node)

    def finished(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model under the graph's names, with 4-bit weights in 4 bits."""
        outputs = list(self.graph.outputs)
        model, names = self.model(outputs)
        if self.computed:
            inputs = [self.graph.types[name] for name in self.graph.inputs]
            symbols = sorted(frozenset[str]().union(*(tensor_type.symbols for tensor_type in inputs)))
            raise UnsupportedFeature(
                f"the model depends on the numbers of its symbolic dimensions {symbols}",
                do="convert it with input_shapes or symbols (-d or -s on the command line)",
            )
        self._pack_four_bits(model)
        self._rename(model, dict(zip(names, outputs, strict=True)))
        return model, self.external

    def _pack_four_bits(self, model: onnx.ModelProto) -> None:
        kinds = {
            stored: tensor_type.dtype
            for stored, tensor_type in self._stored.values()
            if tensor_type.encoding is not None and tensor_type.encoding.bitwidth == 4
        }
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "DequantizeLinear" and node.input[0] in kinds and node.input[0] in tensors:
                for name in (node.input[0], *node.input[2:]):
                    self._pack(tensors[name], kinds[node.input[0]])

    def _pack(self, tensor: onnx.TensorProto, dtype: DType) -> None:
        kind = FOUR_BITS[dtype.is_signed]
        if tensor.data_type == kind:
            return
        array = np.asarray(self._array(tensor.name))
        packed = onnx.numpy_helper.from_array(
            array.astype(onnx.helper.tensor_dtype_to_np_dtype(kind)), tensor.name
        )
        self.external.pop(tensor.name, None)
        tensor.CopyFrom(packed)

    def _rename(self, model: onnx.ModelProto, outputs: dict[str, str]) -> None:
        """The graph's own names for its values, in whichever layout they are; others keep a number."""
        taken = {*self.graph.inputs, *outputs.values()}
        names = {name: name for name in self.graph.inputs} | outputs
        used = {name for node in model.graph.node for name in (*node.input, *node.output)}
        layouts: dict[str, list[str]] = {}
        for (base, _), made in self._made.items():
            layouts.setdefault(base, []).append(made)
        for value, engine in self._names.items():
            base = self._turned.get(engine, (engine, ()))[0]
            forms = [n for n in (engine, base, *layouts.get(base, ())) if n in used and n not in names]
            if forms and value not in taken:
                names[forms[0]] = value
                taken.add(value)
        for name in sorted(used):
            if name and name not in names:
                names[name] = _free(name, taken)
                taken.add(names[name])
        for node in model.graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for item in (*model.graph.initializer, *model.graph.output):
            item.name = names.get(item.name, item.name)
        self.external = {names.get(name, name): array for name, array in self.external.items()}


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name
