"""Inputs and outputs of a converted model as their user wants them: layouts, data types, encodings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from edgewright.config.io_config import IoConfig, QuantParams, TensorConfig
from edgewright.config.qairt_converter import QairtSource
from edgewright.core.errors import EdgewrightError, Problems, UsageError, Where
from edgewright.core.numbers import DType
from edgewright.ir.contract import dtype_word
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.lower import SOURCE_ORDERS
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Transpose
from edgewright.passes.target.colour_io import Colours, recolour_input
from edgewright.passes.target.retype_io import (
    insert_after_input,
    insert_before_output,
    retype_input,
    retype_output,
)
from edgewright.sdk.source_io import CHANNEL_FIRST, is_channel_first, unknown_names

__all__ = [
    "check_ends",
    "check_names",
    "check_options",
    "label_ends",
    "merged",
    "recolour_ends",
    "retype_ends",
    "source_shapes",
    "stored_type",
    "turn_ends",
]

# Guide, custom I/O: the only layouts that are turned into each other.
SWAPS = (("NCDHW", "NDHWC"), ("NCHW", "NHWC"), ("NFC", "NCF"), ("NTF", "TNF"))
RETYPED = ("float32", "float16", "int8", "uint8")
STORED = {"uint8": DType.UFIXED_POINT_8, "int8": DType.SFIXED_POINT_8}
PLAIN = {
    "float32": DType.FLOAT_32,
    "float16": DType.FLOAT_16,
    "uint8": DType.UINT_8,
    "int8": DType.INT_8,
}


def merged(config: IoConfig, source: QairtSource) -> IoConfig:
    """The configuration with what the command line says in place of what the file says."""
    inputs = dict(config.inputs or {})
    for name, layout in source.input_layouts:
        inputs[name] = replace(inputs.get(name, TensorConfig(name)), source_layout=layout)
    for name, dtype in source.input_dtypes:
        inputs[name] = replace(inputs.get(name, TensorConfig(name)), source_dtype=dtype)
    for name, colour, *wanted in source.colour_encodings:
        inputs[name] = replace(
            inputs.get(name, TensorConfig(name)), colour=colour, source_colour=wanted[0] if wanted else "bgr"
        )
    for name, dims in source.input_dims:
        found = inputs.get(name, TensorConfig(name))
        # The command line speaks of the source, the file of the converted model.
        inputs[name] = replace(found, shape=_reordered(dims, _order(found, _source_first(found))))
    return replace(config, inputs=inputs, outputs=config.outputs or {})


def source_shapes(config: IoConfig) -> dict[str, tuple[int, ...]]:
    """The shapes that inputs get, in the layout of the source."""
    return {
        name: _reordered(found.shape, _order(found, _desired_first(found)))
        for name, found in (config.inputs or {}).items()
        if found.shape is not None
    }


def check_names(config: IoConfig, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Every name of the file must be in the model."""
    problems = unknown_names("io_config", config.inputs or {}, inputs, "input")
    problems += unknown_names("io_config", config.outputs or {}, outputs, "output")
    _raise(problems)


def check_options(source: QairtSource, graph: Graph) -> None:
    """Every name that an option gives must be in the model."""
    given: dict[str, Sequence[tuple[str, ...]]] = {
        "input_layouts": source.input_layouts,
        "input_dtypes": source.input_dtypes,
        "input_encodings": source.colour_encodings,
    }
    problems: list[EdgewrightError] = []
    for field, entries in given.items():
        problems += unknown_names(field, [name for name, *_ in entries], graph.inputs, "input")
    _raise(problems)


def check_ends(config: IoConfig, graph: Graph) -> None:
    """What is said of each end must fit the source and be possible."""
    problems: list[EdgewrightError] = []
    ends = [(found, name) for name, found in (config.inputs or {}).items() if name in graph.inputs]
    ends += [(found, name) for name, found in (config.outputs or {}).items() if name in graph.outputs]
    for found, name in ends:
        problems += _problems(found, graph.types[name], Where(file=config.file or None, tensor=name))
    _raise(problems)


def turn_ends(graph: Graph, config: IoConfig) -> None:
    """Puts transposes at the ends whose layout changes; later passes take away what they make needless."""
    for name in graph.inputs:
        found = config.input(name)
        if _is_turned(found):
            order = _order(found, _desired_first(found))
            outer = graph.types[name].permuted(tuple(order.index(axis) for axis in range(len(order))))
            insert_after_input(graph, name, outer, Transpose(perm=order))
    for name in _made(graph):
        found = config.output(name)
        if _is_turned(found):
            insert_before_output(graph, name, Transpose(perm=_order(found, _source_first(found))))


def label_ends(graph: Graph, config: IoConfig, names: Iterable[str] | None = None) -> None:
    """Writes the layout of each end, or of those named, into its type, as far as it is known."""
    for name in (*graph.inputs, *graph.outputs) if names is None else names:
        found = config.input(name) if name in graph.inputs else config.output(name)
        tensor_type = graph.types[name]
        layout = found.layout or found.source_layout
        if layout is None and tensor_type.rank in CHANNEL_FIRST and is_channel_first(graph, name):
            layout = CHANNEL_FIRST[tensor_type.rank]
        # A spatial-first label says that the source has channels first.
        is_told = layout not in {None, "NONTRIVIAL"} and (layout not in SOURCE_ORDERS or _is_turned(found))
        graph.types[name] = replace(tensor_type, layout=layout if is_told else None)


def recolour_ends(graph: Graph, config: IoConfig) -> None:
    """Lets inputs come in the colours that are said, and makes those that the network wants."""
    for name in graph.inputs:
        found = config.input(name)
        if found.colour is not None:
            colours = Colours(found.colour.lower(), found.source_colour)
            recolour_input(graph, name, colours, found.layout or found.source_layout)


def retype_ends(graph: Graph, config: IoConfig, before: Mapping[str, TensorType]) -> None:
    """Gives ends the types that are wanted, and those of the source where these are no floats."""
    for name in graph.inputs:
        found = config.input(name)
        if found.params is not None:
            dtype, encoding = stored_type(found)
            outer = replace(graph.types[name], dtype=dtype, encoding=encoding)
            insert_after_input(
                graph, name, outer, Dequantize(encoding=encoding, dtype=graph.types[name].dtype)
            )
        else:
            retype_input(graph, name, _wanted(found, graph.types[name], before[name]))
    for name in _made(graph):
        found = config.output(name)
        if found.params is not None:
            dtype, encoding = stored_type(found)
            insert_before_output(graph, name, Quantize(encoding=encoding, dtype=dtype))
        else:
            retype_output(graph, name, _wanted(found, graph.types[name], before[name]))


def stored_type(found: TensorConfig) -> tuple[DType, Encoding]:
    """The fixed-point type that a data type, a scale and an offset stand for."""
    assert found.dtype is not None
    assert found.params is not None
    params = found.params
    # Zero points are accepted for offsets of unsigned values: these are never above 0.
    offset = -abs(params.offset) if found.dtype == "uint8" else params.offset
    return STORED[found.dtype], Encoding((params.scale,), (offset,))


def _made(graph: Graph) -> list[str]:
    return [name for name in dict.fromkeys(graph.outputs) if name not in graph.inputs]


# What fits


def _problems(found: TensorConfig, source: TensorType, where: Where) -> Iterator[EdgewrightError]:
    if found.source_dtype is not None and found.source_dtype != dtype_word(source.dtype):
        yield UsageError(
            f"the source's data type is given as {found.source_dtype}, the model has "
            f"{dtype_word(source.dtype)}",
            where,
            do="give the type that the model has, or leave it out",
        )
    yield from _layout_problems(found, source, where)
    yield from _dtype_problems(found, source, where)


def _layout_problems(found: TensorConfig, source: TensorType, where: Where) -> Iterator[EdgewrightError]:
    for layout in (found.source_layout, found.layout):
        if layout not in {None, "NONTRIVIAL"} and len(layout or "") != source.rank:
            yield UsageError(
                f"the layout {layout} has {len(layout or '')} axes, the tensor has {source.rank}",
                where,
                do="use a layout with as many letters as the tensor has axes, or NONTRIVIAL",
            )
    if found.layout is None or found.layout == found.source_layout:
        return
    if found.source_layout is None:
        yield UsageError(
            f"the layout {found.layout} is wanted, and that of the source is not given",
            where,
            do="add 'Layout' under 'Src Model Parameters'",
        )
    elif not any({found.layout, found.source_layout} == set(swap) for swap in SWAPS):
        known = ", ".join(f"{one} and {other}" for one, other in SWAPS)
        yield UsageError(
            f"the layout {found.source_layout} cannot become {found.layout}",
            where,
            do=f"these become each other: {known}",
        )


def _dtype_problems(found: TensorConfig, source: TensorType, where: Where) -> Iterator[EdgewrightError]:
    word = dtype_word(source.dtype)
    if found.params is not None and (found.dtype not in STORED or not source.dtype.is_float):
        yield UsageError(
            f"a scale and an offset are given for {found.dtype or word} values of a tensor that is {word}, "
            "expected uint8 or int8 values of a float tensor",
            where,
            do="give the desired data type too, or leave scale and offset out",
        )
    if found.dtype is None or found.dtype == word:
        return
    if found.source_dtype is None:
        yield UsageError(
            f"the data type {found.dtype} is wanted, and that of the source is not given",
            where,
            do=f"add 'DataType: {word}' under 'Src Model Parameters'",
        )
    elif word not in RETYPED:
        yield UsageError(
            f"the data type {word} cannot become {found.dtype}, only {', '.join(RETYPED)} can be changed",
            where,
            do="leave the desired data type out",
        )
    elif found.dtype in STORED and source.dtype.is_float and found.params is None:
        yield UsageError(
            f"{found.dtype} values for a float tensor need a scale and an offset, found none",
            where,
            do="add 'Scale' and 'Offset'",
        )
    elif found.dtype in STORED and found.params is not None:
        yield from _offset_problems(found.dtype, found.params, where)


def _offset_problems(dtype: str, params: QuantParams, where: Where) -> Iterator[EdgewrightError]:
    low, high = (-255, 255) if dtype == "uint8" else (-128, 127)
    if not low <= params.offset <= high:
        yield UsageError(f"the offset of {dtype} values is {params.offset}, expected {low} to {high}", where)


def _raise(problems: Sequence[EdgewrightError]) -> None:
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


# Layouts


def _is_turned(found: TensorConfig) -> bool:
    return None not in (found.layout, found.source_layout) and found.layout != found.source_layout


def _desired_first(found: TensorConfig) -> tuple[str, str]:
    return found.layout or "", found.source_layout or ""


def _source_first(found: TensorConfig) -> tuple[str, str]:
    return found.source_layout or "", found.layout or ""


def _order(found: TensorConfig, layouts: tuple[str, str]) -> tuple[int, ...]:
    """The order of axes that leads from the first layout to the second; none where they are not turned."""
    have, want = layouts
    if not _is_turned(found) or sorted(have) != sorted(want):
        return ()
    return tuple(have.index(letter) for letter in want)


def _reordered(dims: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dims[axis] for axis in order) if len(dims) == len(order) else dims


# Types


def _wanted(found: TensorConfig, inner: TensorType, before: TensorType) -> DType:
    if found.dtype is not None:
        return PLAIN[found.dtype]
    return inner.dtype if before.dtype.is_float else before.dtype
