"""Inputs and outputs of the legacy converters as a --custom_io file describes them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from edgewright.config.converter import Source
from edgewright.config.custom_io import read_custom_io
from edgewright.config.io_config import IoConfig, TensorConfig
from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, Problems, UsageError, Where
from edgewright.core.numbers import DType
from edgewright.ir.contract import dtype_word
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert
from edgewright.passes.target.float_io import make_input_float, make_output_float
from edgewright.passes.target.retype_io import insert_after_input, insert_before_output
from edgewright.quantize.tensor_encodings import TensorEncoding
from edgewright.sdk.io_config import (
    PLAIN,
    STORED,
    check_ends,
    retype_ends,
    stored_type,
)
from edgewright.sdk.source_io import full_names, unknown_names

__all__ = ["custom_io_of", "pinned_ends", "retype_quantized"]


def custom_io_of(file: str | None, source: Source, graph: Graph, *, is_quantized: bool) -> IoConfig:
    """What a file says about the ends of an imported graph; nothing where there is no file."""
    if file is None:
        return IoConfig()
    ends = (*graph.inputs, *graph.outputs)
    full = full_names(ends)
    named = ((full.get(name, name), tensor) for name, tensor in read_custom_io(file).items())
    found = {name: replace(tensor, name=name) for name, tensor in named}
    problems = unknown_names("custom_io", found, ends, "input or output")
    known = {name: tensor for name, tensor in found.items() if name in ends}
    for name, tensor in known.items():
        problems += _clashes(tensor, source, Where(file=file, tensor=name))
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    config = _config(file, known, source, graph)
    check_ends(_checked(config) if is_quantized else config, graph)
    return config


def pinned_ends(config: IoConfig) -> list[TensorEncoding]:
    """Encodings that come before those of a quantizer; signed ones are converted at the end itself."""
    ends = (*(config.inputs or {}).values(), *(config.outputs or {}).values())
    chosen = [(end.name, *stored_type(end)) for end in ends if end.params is not None]
    return [
        TensorEncoding(name, 8, scales=encoding.scales, offsets=encoding.offsets)
        for name, dtype, encoding in chosen
        if dtype == DType.UFIXED_POINT_8
    ]


def retype_quantized(graph: Graph, config: IoConfig) -> None:
    """Gives the ends of a quantized graph the types that are wanted."""
    left: dict[str, dict[str, TensorConfig]] = {"inputs": {}, "outputs": {}}
    for side, names in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        for name in dict.fromkeys(names):
            found = config.input(name) if side == "inputs" else config.output(name)
            where = Where(file=config.file, tensor=name)
            if graph.types[name].dtype.is_float and found.dtype in STORED and found.params is None:
                raise _no_scale(found, "stays float", where)
            if graph.types[name].encoding is None:
                left[side][name] = found
            elif found.dtype is not None:
                _retype(graph, found, where, is_input=side == "inputs")
    retype_ends(graph, replace(config, **left), dict(graph.types))  # type: ignore[arg-type]


def _config(file: str, known: Mapping[str, TensorConfig], source: Source, graph: Graph) -> IoConfig:
    layouts = dict(source.input_layouts)
    full = {
        name: replace(
            tensor,
            source_layout=tensor.source_layout or layouts.get(name),
            source_dtype=dtype_word(graph.types[name].dtype) if tensor.dtype else None,
        )
        for name, tensor in known.items()
    }
    inputs = {name: tensor for name, tensor in full.items() if name in graph.inputs}
    return IoConfig(file, inputs, {name: t for name, t in full.items() if name not in graph.inputs})


def _checked(config: IoConfig) -> IoConfig:
    """Without the types that a quantizer gives encodings."""

    def plain(tensor: TensorConfig) -> TensorConfig:
        is_left = tensor.dtype in STORED and tensor.params is None
        return replace(tensor, dtype=None) if is_left else tensor

    inputs = {name: plain(tensor) for name, tensor in (config.inputs or {}).items()}
    return replace(
        config, inputs=inputs, outputs={name: plain(t) for name, t in (config.outputs or {}).items()}
    )


def _clashes(tensor: TensorConfig, source: Source, where: Where) -> Iterator[EdgewrightError]:
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


def _retype(graph: Graph, found: TensorConfig, where: Where, *, is_input: bool) -> None:
    inner, wanted = graph.types[found.name], found.dtype or ""
    if wanted not in STORED:
        (make_input_float if is_input else make_output_float)(graph, found.name, PLAIN[wanted])
        return
    dtype, encoding = _outer(found, inner, where)
    if (dtype, encoding) == (inner.dtype, inner.encoding):
        return
    if is_input:
        outer = replace(inner, dtype=dtype, encoding=encoding)
        op = Convert(dtype=inner.dtype, encoding=inner.encoding, source=encoding)
        insert_after_input(graph, found.name, outer, op)
    else:
        insert_before_output(
            graph, found.name, Convert(dtype=dtype, encoding=encoding, source=inner.encoding)
        )


def _outer(found: TensorConfig, inner: TensorType, where: Where) -> tuple[DType, Encoding]:
    """The type outside: the user's encoding, or that of the quantizer for integers of the other sign."""
    if found.params is not None:
        return stored_type(found)
    assert inner.encoding is not None
    dtype = STORED[found.dtype or ""]
    if inner.dtype.bits != 8:
        raise _no_scale(found, f"is quantized to {inner.dtype.bits} bits", where)
    shift = (128 if dtype.is_signed else 0) - (128 if inner.dtype.is_signed else 0)
    return dtype, replace(inner.encoding, offsets=tuple(offset + shift for offset in inner.encoding.offsets))


def _no_scale(found: TensorConfig, what: str, where: Where) -> UsageError:
    return UsageError(
        f"{found.dtype} values are wanted of a tensor that {what}, and there is no scale for them",
        where,
        do="add 'QuantParam' with 'Scale' and 'Offset', or quantize the tensor to 8 bits",
    )
