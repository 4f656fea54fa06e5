"""Inputs and outputs of the legacy converters, as their options and a --custom_io file describe them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgewright.config.converter import Source
from edgewright.config.custom_io import read_custom_io
from edgewright.config.io_config import IoConfig, TensorConfig
from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, UsageError, Where
from edgewright.core.numbers import DType
from edgewright.frontends._common.input_spec import list_unknown_names
from edgewright.frontends.io_changes import FIXED_POINT, PLAIN, find_stored_type, retype_io
from edgewright.ir.contract import dtype_word
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert
from edgewright.passes.target.float_io import make_input_float, make_output_float
from edgewright.passes.target.retype_io import insert_after_input, insert_before_output
from edgewright.quantize.tensor_encodings import TensorEncoding
from edgewright.sdk.io_config import check_io, raise_all


def describe_io(source: Source, file: str | None, graph: Graph, *, is_quantized: bool) -> IoConfig:
    """What options and a file, where there is one, say about the inputs and outputs of an imported graph."""
    io = IoConfig()
    for name, source_layout in source.input_layouts:
        io = io.with_fields(name, source_layout=source_layout)
    for name, colour, *source_colour in source.input_encodings:
        io = io.with_fields(name, colour=colour, source_colour=(*source_colour, "bgr")[0])
    check_io(io, graph)
    if file is None:
        return io
    tensors = _read_file(file, source, graph)
    merged = IoConfig(file, {name: _merge(io.tensor(name), t, graph) for name, t in tensors.items()})
    check_io(_leave_to_quantizer(merged) if is_quantized else merged, graph)
    # The layout in the source alone changes nothing, unless an option gives it.
    for name, tensor in merged.tensors.items():
        layout = tensor.source_layout if tensor.layout is not None else io.tensor(name).source_layout
        io = replace(io, tensors={**io.tensors, name: replace(tensor, source_layout=layout)})
    return replace(io, file=file)


def find_full_names(names: Sequence[str]) -> dict[str, str]:
    """Inputs or outputs by what a user may call them: TensorFlow's :0 may be left out."""
    return {**{name.removesuffix(":0"): name for name in names}, **{name: name for name in names}}


def list_pinned_encodings(io: IoConfig) -> list[TensorEncoding]:
    """Encodings that come before those of a quantizer; signed ones are converted at the tensor itself."""
    types = {name: find_stored_type(t) for name, t in io.tensors.items() if t.params is not None}
    return [
        TensorEncoding(name, 8, scales=encoding.scales, offsets=encoding.offsets)
        for name, (dtype, encoding) in types.items()
        if dtype == DType.UFIXED_POINT_8
    ]


def retype_quantized(graph: Graph, io: IoConfig) -> None:
    """Gives the inputs and outputs of a quantized graph the types that are asked for."""
    unquantized: dict[str, TensorConfig] = {}
    for name in dict.fromkeys((*graph.inputs, *graph.outputs)):
        tensor, where = io.tensor(name), Where(file=io.file, tensor=name)
        if graph.types[name].dtype.is_float and tensor.dtype in FIXED_POINT and tensor.params is None:
            raise _refuse_without_scale(tensor, "stays float", where)
        if graph.types[name].encoding is None:
            unquantized[name] = tensor
        elif tensor.dtype is not None:
            _retype(graph, tensor, where)
    retype_io(graph, replace(io, tensors=unquantized), dict(graph.types))


def _read_file(file: str, source: Source, graph: Graph) -> dict[str, TensorConfig]:
    known = [*graph.inputs, *graph.outputs]
    full = find_full_names(known)
    named = {full.get(name, name): tensor for name, tensor in read_custom_io(file).items()}
    tensors = {name: replace(tensor, name=name) for name, tensor in named.items()}
    problems = list_unknown_names("custom_io", tensors, known, "input or output")
    for name, tensor in tensors.items():
        if name in known:
            problems += _list_contradictions(tensor, source, Where(file=file, tensor=name))
    raise_all(problems)
    return tensors


def _merge(options: TensorConfig, tensor: TensorConfig, graph: Graph) -> TensorConfig:
    return replace(
        tensor,
        source_layout=tensor.source_layout or options.source_layout,
        source_dtype=dtype_word(graph.types[tensor.name].dtype) if tensor.dtype else None,
        colour=options.colour,
        source_colour=options.source_colour,
    )


def _leave_to_quantizer(io: IoConfig) -> IoConfig:
    """Without the types that a quantizer gives encodings."""
    return replace(
        io,
        tensors={
            name: replace(t, dtype=None) if t.dtype in FIXED_POINT and t.params is None else t
            for name, t in io.tensors.items()
        },
    )


def _list_contradictions(tensor: TensorConfig, source: Source, where: Where) -> Iterator[EdgewrightError]:
    layouts, dtypes = dict(source.input_layouts), dict(source.input_dtypes)
    if tensor.source_layout is not None and tensor.name in layouts:
        yield UsageError(
            f"{spell_option('input_layouts')} gives the layout {layouts[tensor.name]}, and 'Model' the "
            f"layout {tensor.source_layout}, expected one of them",
            where,
            do="leave one of the two out for this input",
        )
    if tensor.layout is not None and tensor.source_layout is None and tensor.name not in layouts:
        yield UsageError(
            f"the layout {tensor.layout} is wanted, and that of the source is not given",
            where,
            do="add 'Model' beside 'Custom'",
        )
    if tensor.dtype is not None and dtypes.get(tensor.name, tensor.dtype) != tensor.dtype:
        yield UsageError(
            f"{spell_option('input_dtypes')} gives the type {dtypes[tensor.name]}, and 'Datatype' "
            f"{tensor.dtype}, expected one of them",
            where,
            do="leave one of the two out for this input",
        )


def _retype(graph: Graph, tensor: TensorConfig, where: Where) -> None:
    inner, word = graph.types[tensor.name], tensor.dtype or ""
    is_input = tensor.name in graph.inputs
    if word not in FIXED_POINT:
        (make_input_float if is_input else make_output_float)(graph, tensor.name, PLAIN[word])
        return
    dtype, encoding = _choose_encoding(tensor, inner, where)
    if (dtype, encoding) == (inner.dtype, inner.encoding):
        return
    if is_input:
        outer = replace(inner, dtype=dtype, encoding=encoding)
        op = Convert(dtype=inner.dtype, encoding=inner.encoding, source=encoding)
        insert_after_input(graph, tensor.name, outer, op)
    else:
        insert_before_output(
            graph, tensor.name, Convert(dtype=dtype, encoding=encoding, source=inner.encoding)
        )


def _choose_encoding(tensor: TensorConfig, inner: TensorType, where: Where) -> tuple[DType, Encoding]:
    """The type outside: the user's encoding, or that of the quantizer for integers of the other sign."""
    if tensor.params is not None:
        return find_stored_type(tensor)
    assert inner.encoding is not None
    dtype = FIXED_POINT[tensor.dtype or ""]
    if inner.dtype.bits != 8:
        raise _refuse_without_scale(tensor, f"is quantized to {inner.dtype.bits} bits", where)
    shift = (128 if dtype.is_signed else 0) - (128 if inner.dtype.is_signed else 0)
    return dtype, replace(inner.encoding, offsets=tuple(offset + shift for offset in inner.encoding.offsets))


def _refuse_without_scale(tensor: TensorConfig, what: str, where: Where) -> UsageError:
    return UsageError(
        f"{tensor.dtype} values are wanted of a tensor that {what}, and there is no scale for them",
        where,
        do="add 'QuantParam' with 'Scale' and 'Offset', or quantize the tensor to 8 bits",
    )
