"""A recording as a program in C: it makes the same calls to any library that has QNN's interface."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

# Offset and length of a tensor's bytes in the file of tensors.
Place = tuple[int, int]
# What stands behind the executions, so that another one can be put before it.
CLOSING = "  return finish();\n}\n"
FIELDS = {
    DType.FLOAT_32: "floatValue",
    DType.FLOAT_64: "doubleValue",
    DType.INT_64: "int64Value",
    DType.UINT_64: "uint64Value",
    DType.INT_32: "int32Value",
    DType.UINT_32: "uint32Value",
    DType.INT_16: "int16Value",
    DType.UINT_16: "uint16Value",
    DType.INT_8: "int8Value",
    DType.UINT_8: "uint8Value",
    DType.BOOL_8: "bool8Value",
    DType.STRING: "stringValue",
}


def write_program(graph: QnnGraph, places: Mapping[str, Place]) -> str:
    """The program without executions; ``places`` tells where the bytes of static tensors are.

    Tensors of parameters have the key "node/parameter".
    """
    program = _Program(graph, places)
    declared, built = "\n".join(program.declare()), "\n".join(program.build())
    return f"{_read_part('frame')}{declared}\n{_read_part('execute')}\n{built}\n\n{program.open_main()}"


def write_execution(inputs: Sequence[Place]) -> str:
    """One more call of the graph, with the places of its inputs' bytes."""
    offsets = ", ".join(str(offset) for offset, _ in inputs) or "0"
    return f"  execute((const uint64_t[]){{{offsets}}});\n"


def _read_part(name: str) -> str:
    return (files("edgewright.backends.saver") / "_data" / f"saver_{name}.c").read_text()


class _Program:
    def __init__(self, graph: QnnGraph, places: Mapping[str, Place]) -> None:
        self._graph, self._places = graph, places
        # Every tensor with its key, in the order in which they are made.
        self._tensors = [(tensor.name, tensor) for tensor in graph.tensors.values()]
        self._tensors += [
            (f"{node.name}/{name}", tensor)
            for node in graph.nodes
            for name, tensor in node.tensor_params.items()
        ]
        self._variables = {key: f"t{index}" for index, (key, _) in enumerate(self._tensors)}

    def declare(self) -> Iterator[str]:
        """All tensors."""
        for key, tensor in self._tensors:
            yield from _declare_tensor(self._variables[key], key.replace("/", "_"), tensor)
        for kind, name in ((TensorKind.APP_WRITE, "inputTensors"), (TensorKind.APP_READ, "outputTensors")):
            own = [f"&{self._variables[tensor.name]}" for tensor in self._graph.of_kind(kind)]
            yield f"static Qnn_Tensor_t* const {name}[] = {{{', '.join([*own, 'NULL'])}}};"

    def build(self) -> Iterator[str]:
        """The function that builds the graph."""
        yield "static void buildGraph(void) {"
        yield f"  CHECK(qnn->graphCreate(context, {_quote(self._graph.name)}, NULL, &graph));"
        for key, tensor in self._tensors:
            offset, size = self._places.get(key, (0, 0)) if tensor.data is not None else (0, 0)
            yield f"  createTensor(&{self._variables[key]}, {offset}u, {size}u);"
        for node in self._graph.nodes:
            yield from self._add_node(node)
        yield "  CHECK(qnn->graphFinalize(graph, NULL, NULL));"
        yield "}"

    def _add_node(self, node: QnnNode) -> Iterator[str]:
        params = [*map(_write_scalar, node.scalar_params, node.scalar_params.values())]
        for name in node.tensor_params:
            value = f"{{.tensorParam = {self._variables[f'{node.name}/{name}']}}}"
            params.append(f"{{QNN_PARAMTYPE_TENSOR, {_quote(name)}, {value}}}")
        both = (node.inputs, node.outputs)
        tensors = [[self._variables.get(name, "nullTensor") for name in ports] for ports in both]
        yield "  {"
        yield f"    Qnn_Param_t params[] = {{{', '.join(params) or '{QNN_PARAMTYPE_UNDEFINED}'}}};"
        for name, ports in zip(("inputs", "outputs"), tensors, strict=True):
            yield f"    Qnn_Tensor_t {name}[] = {{{', '.join(ports) or 'nullTensor'}}};"
        names = ", ".join(map(_quote, (node.name, node.package, node.type)))
        counts = f"{len(params)}u, params, {len(tensors[0])}u, inputs, {len(tensors[1])}u, outputs"
        yield f"    addNode((Qnn_OpConfigV1_t){{{names}, {counts}}});"
        yield "  }"

    def open_main(self) -> str:
        """The start of main, up to the first execution."""
        return "int main(int count, char** words) {\n  start(count, words);\n  buildGraph();\n" + CLOSING


def _declare_tensor(variable: str, name: str, tensor: QnnTensor) -> Iterator[str]:
    dims = ", ".join(f"{dim}u" for dim in tensor.dims) or "0u"
    yield f"static uint32_t {variable}_dims[] = {{{dims}}};"
    encoding = "{QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {{0.0f, 0}}}"
    if tensor.encoding is not None:
        lines, encoding = _write_encoding(variable, tensor.encoding, tensor.dtype)
        yield from lines
    yield (
        f"static Qnn_Tensor_t {variable} = {{QNN_TENSOR_VERSION_1, {{.v1 = {{0u, {_quote(name)}, "
        f"QNN_TENSOR_TYPE_{tensor.kind.name}, QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER, "
        f"QNN_DATATYPE_{tensor.dtype.name}, {encoding}, {len(tensor.dims)}u, {variable}_dims, "
        f"QNN_TENSORMEMTYPE_RAW, {{{{NULL, 0u}}}}}}}}}};"
    )


def _write_encoding(variable: str, encoding: Encoding, dtype: DType) -> tuple[list[str], str]:
    """What is declared before a tensor for its encoding, and the encoding itself."""
    if encoding.block_axis is not None:
        raise UnsupportedFeature(
            "the recording has weights in blocks, which its program in C has no form for",
            do="replay the recording itself: edgewright replay FOLDER --backend NAME",
        )
    pairs = [(_write_float(s), o) for s, o in zip(encoding.scales, encoding.offsets, strict=True)]
    is_narrow = encoding.bitwidth != dtype.bits
    kind = f"{'BW_' if is_narrow else ''}{'' if encoding.axis is None else 'AXIS_'}SCALE_OFFSET"
    head = f"QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_{kind}"
    if encoding.axis is None:
        scale, offset = pairs[0]
        if is_narrow:
            return [], f"{{{head}, {{.bwScaleOffsetEncoding = {{{encoding.bitwidth}u, {scale}, {offset}}}}}}}"
        return [], f"{{{head}, {{.scaleOffsetEncoding = {{{scale}, {offset}}}}}}}"
    count = len(pairs)
    if is_narrow:
        lines = [
            f"static float {variable}_scales[] = {{{', '.join(scale for scale, _ in pairs)}}};",
            f"static int32_t {variable}_offsets[] = {{{', '.join(str(offset) for _, offset in pairs)}}};",
        ]
        numbers = f"{encoding.bitwidth}u, {encoding.axis}, {count}u, {variable}_scales, {variable}_offsets"
        return lines, f"{{{head}, {{.bwAxisScaleOffsetEncoding = {{{numbers}}}}}}}"
    listed = ", ".join(f"{{{scale}, {offset}}}" for scale, offset in pairs)
    lines = [f"static Qnn_ScaleOffset_t {variable}_scales[] = {{{listed}}};"]
    numbers = f"{encoding.axis}, {count}u, {variable}_scales"
    return lines, f"{{{head}, {{.axisScaleOffsetEncoding = {{{numbers}}}}}}}"


def _write_scalar(name: str, scalar: QnnScalar) -> str:
    value: Any = scalar.value
    if scalar.dtype == DType.STRING:
        text = _quote(str(value))
    elif scalar.dtype.is_float:
        text = _write_float(float(value))
    else:
        text = str(int(value))
    written = f"{{.scalarParam = {{QNN_DATATYPE_{scalar.dtype.name}, {{.{FIELDS[scalar.dtype]} = {text}}}}}}}"
    return f"{{QNN_PARAMTYPE_SCALAR, {_quote(name)}, {written}}}"


def _write_float(number: float) -> str:
    """Exactly the number in single precision."""
    if not np.isfinite(number):
        return "NAN" if np.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
    return f"{float(np.float32(number)).hex()}f"


def _quote(text: str) -> str:
    """A literal that the text cannot leave."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    # A question mark may begin a trigraph.
    if 32 <= ord(char) < 127 and char not in {'"', "\\", "?"}:
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode())
