"""Parts of an ONNX model as models of their own: what makes some values from others that are known."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import onnx

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class SourceLayer:
    """One result of a model that can be looked at alone."""

    name: str
    type: str


class OnnxParts:
    """A model to cut; golden values tell the shapes of what is between its nodes."""

    def __init__(self, file: str, golden: Mapping[str, Array]) -> None:
        try:
            self._model = onnx.shape_inference.infer_shapes(onnx.load(file))
        except Exception as problem:  # protobuf's errors have no common base
            raise BadInput(
                f"the model cannot be read: {shown(problem, 300)}", Where(file=shown(file))
            ) from None
        graph = self._model.graph
        self._golden = golden
        self._nodes = [node for node in graph.node if node.op_type != "Constant"]
        self._places = {name: place for place, node in enumerate(self._nodes) for name in node.output if name}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._constants[node.output[0]] = node.attribute[0].t
        known = [*graph.value_info, *graph.input, *graph.output]
        self._types = {item.name: item.type for item in known}
        self.outputs = tuple(item.name for item in graph.output)

    def list_layers(self) -> list[SourceLayer]:
        """The first result of every node that has a golden value."""
        layers = [SourceLayer(node.output[0], node.op_type) for node in self._nodes if node.output]
        return [layer for layer in layers if layer.name in self._golden]

    def find_type(self, name: str) -> str:
        """The op that makes a value."""
        return self._nodes[self._places[name]].op_type if name in self._places else ""

    def cut_layer(self, output: str, stops: Collection[str]) -> onnx.ModelProto:
        """What makes one value from the nearest values of ``stops``."""
        return self._cut([output], set(stops) - {output})

    def cut_rest(self, output: str, stops: Collection[str]) -> onnx.ModelProto:
        """What makes the outputs that a layer has a part in, from the layer on; it reads what is before."""
        own = self._collect_places([output], set(stops) - {output})[0]
        earlier = {name for name in stops if self._places.get(name, -1) < min(own, default=0)}
        outputs = [name for name in self.outputs if own & self._collect_places([name], earlier)[0]]
        return self._cut(outputs, earlier)

    def _collect_places(self, outputs: Sequence[str], stops: Collection[str]) -> tuple[set[int], list[str]]:
        """The nodes that are needed, and the values that they read from outside."""
        places: set[int] = set()
        read: dict[str, None] = {}
        front = list(outputs)
        while front:
            name = front.pop()
            if not name or name in self._constants:
                continue
            place = None if name in stops else self._places.get(name)
            if place is None:
                read[name] = None
            elif place not in places:
                places.add(place)
                front += self._nodes[place].input
        return places, list(read)

    def _cut(self, outputs: Sequence[str], stops: Collection[str]) -> onnx.ModelProto:
        places, read = self._collect_places(outputs, stops)
        nodes = [self._nodes[place] for place in sorted(places)]
        for node in nodes:
            if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
                raise UnsupportedFeature(
                    f"{node.op_type} has a body of its own, which may read values from anywhere",
                    Where(node=node.name),
                )
        names = dict.fromkeys(name for node in nodes for name in node.input if name in self._constants)
        constants = []
        for name in names:
            tensor = onnx.TensorProto()
            tensor.CopyFrom(self._constants[name])
            tensor.name = name
            constants.append(tensor)
        graph = onnx.helper.make_graph(
            *(nodes, "part", [self._declare(name) for name in sorted(read)]),
            *([onnx.helper.make_empty_tensor_value_info(name) for name in outputs], constants),
        )
        part = onnx.helper.make_model(graph, opset_imports=self._model.opset_import)
        part.ir_version = self._model.ir_version
        return part

    def _declare(self, name: str) -> onnx.ValueInfoProto:
        array, kind = self._golden.get(name), self._types.get(name)
        if array is None:
            raise BadInput("there is no golden value to start from", Where(tensor=name))
        shape: Sequence[int] = array.shape
        sizes = [] if kind is None else [size.dim_value for size in kind.tensor_type.shape.dim]
        # Golden files of other tools do not tell their shapes.
        if len(shape) == 1 and sizes and all(sizes):
            shape = sizes
        elem = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        if kind is not None and kind.tensor_type.elem_type:
            elem = kind.tensor_type.elem_type
        return onnx.helper.make_tensor_value_info(name, elem, list(shape))
