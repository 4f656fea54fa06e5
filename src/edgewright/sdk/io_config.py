"""What a user says of inputs and outputs, held against the model: names, layouts, data types, encodings."""

from collections.abc import Iterator, Mapping, Sequence

from edgewright.config.io_config import IoConfig, QuantParams, TensorConfig
from edgewright.config.qairt_converter import QairtSource
from edgewright.core.errors import EdgewrightError, Problems, UsageError, Where
from edgewright.frontends._common.input_spec import list_unknown_names
from edgewright.frontends.io_changes import FIXED_POINT, reorder_dims
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

# Guide, custom I/O: the only layouts that are turned into each other.
SWAPS = (("NCDHW", "NDHWC"), ("NCHW", "NHWC"), ("NFC", "NCF"), ("NTF", "TNF"))
RETYPED = ("float32", "float16", "int8", "uint8")


def merge_options(io: IoConfig, source: QairtSource) -> IoConfig:
    """The description with what the command line says in place of what the file says."""
    for name, layout in source.input_layouts:
        io = io.with_fields(name, source_layout=layout)
    for name, dtype in source.input_dtypes:
        io = io.with_fields(name, source_dtype=dtype)
    for name, colour, *source_colour in source.colour_encodings:
        io = io.with_fields(name, colour=colour, source_colour=(*source_colour, "bgr")[0])
    for name, dims in source.input_dims:
        # The command line speaks of the source, the file of the converted model.
        io = io.with_fields(name, shape=reorder_dims(dims, io.tensor(name), to_source=False))
    return io


def list_source_shapes(io: IoConfig) -> dict[str, tuple[int, ...]]:
    """The shapes that inputs get, in the layout of the source."""
    return {
        name: reorder_dims(tensor.shape, tensor, to_source=True)
        for name, tensor in io.tensors.items()
        if tensor.shape is not None
    }


def check_file_names(io: IoConfig, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Every name of the file must be in the model."""
    problems = list_unknown_names("io_config", io.inputs, inputs, "input")
    raise_all([*problems, *list_unknown_names("io_config", io.outputs, outputs, "output")])


def list_unknown_inputs(
    given: Mapping[str, Sequence[tuple[str, ...]]], graph: Graph
) -> list[EdgewrightError]:
    """A problem for each input that an option names and the model lacks; options by the field they fill."""
    entries = [(field, [name for name, *_ in values]) for field, values in given.items()]
    return [p for field, names in entries for p in list_unknown_names(field, names, graph.inputs, "input")]


def check_io(io: IoConfig, graph: Graph) -> None:
    """What is said of each input and output must fit the source and be possible."""
    named = [item for item in io.tensors.items() if item[0] in (*graph.inputs, *graph.outputs)]
    where = [Where(file=io.file or None, tensor=name) for name, _ in named]
    raise_all(
        [
            problem
            for (name, tensor), place in zip(named, where, strict=True)
            for problem in _list_problems(tensor, graph.types[name], place)
        ]
    )


def raise_all(problems: Sequence[EdgewrightError]) -> None:
    """Raises what was found, if anything, as one error."""
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


def _list_problems(tensor: TensorConfig, source: TensorType, where: Where) -> Iterator[EdgewrightError]:
    if tensor.source_dtype is not None and tensor.source_dtype != dtype_word(source.dtype):
        yield UsageError(
            f"the source's data type is given as {tensor.source_dtype}, the model has "
            f"{dtype_word(source.dtype)}",
            where,
            do="give the type that the model has, or leave it out",
        )
    yield from _list_layout_problems(tensor, source, where)
    yield from _list_dtype_problems(tensor, source, where)


def _list_layout_problems(
    tensor: TensorConfig, source: TensorType, where: Where
) -> Iterator[EdgewrightError]:
    for layout in (tensor.source_layout, tensor.layout):
        if layout not in {None, "NONTRIVIAL"} and len(layout or "") != source.rank:
            yield UsageError(
                f"the layout {layout} has {len(layout or '')} axes, the tensor has {source.rank}",
                where,
                do="use a layout with as many letters as the tensor has axes, or NONTRIVIAL",
            )
    if tensor.layout is None or tensor.layout == tensor.source_layout:
        return
    if tensor.source_layout is None:
        yield UsageError(
            f"the layout {tensor.layout} is wanted, and that of the source is not given",
            where,
            do="add 'Layout' under 'Src Model Parameters'",
        )
    elif not any({tensor.layout, tensor.source_layout} == set(swap) for swap in SWAPS):
        known = ", ".join(f"{one} and {other}" for one, other in SWAPS)
        yield UsageError(
            f"the layout {tensor.source_layout} cannot become {tensor.layout}",
            where,
            do=f"these become each other: {known}",
        )


def _list_dtype_problems(tensor: TensorConfig, source: TensorType, where: Where) -> Iterator[EdgewrightError]:
    word = dtype_word(source.dtype)
    if tensor.params is not None and (tensor.dtype not in FIXED_POINT or not source.dtype.is_float):
        yield UsageError(
            f"a scale and an offset are given for {tensor.dtype or word} values of a tensor that is {word}, "
            "expected uint8 or int8 values of a float tensor",
            where,
            do="give the desired data type too, or leave scale and offset out",
        )
    if tensor.dtype is None or tensor.dtype == word:
        return
    if tensor.source_dtype is None:
        yield UsageError(
            f"the data type {tensor.dtype} is wanted, and that of the source is not given",
            where,
            do=f"add 'DataType: {word}' under 'Src Model Parameters'",
        )
    elif word not in RETYPED:
        yield UsageError(
            f"the data type {word} cannot become {tensor.dtype}, only {', '.join(RETYPED)} can be changed",
            where,
            do="leave the desired data type out",
        )
    elif tensor.dtype in FIXED_POINT and source.dtype.is_float and tensor.params is None:
        yield UsageError(
            f"{tensor.dtype} values for a float tensor need a scale and an offset, found none",
            where,
            do="add 'Scale' and 'Offset'",
        )
    elif tensor.dtype in FIXED_POINT and tensor.params is not None:
        yield from _list_offset_problems(tensor.dtype, tensor.params, where)


def _list_offset_problems(dtype: str, params: QuantParams, where: Where) -> Iterator[EdgewrightError]:
    low, high = (-255, 255) if dtype == "uint8" else (-128, 127)
    if not low <= params.offset <= high:
        yield UsageError(f"the offset of {dtype} values is {params.offset}, expected {low} to {high}", where)
