"""YAML files to start from for --io_config and --custom_io: every input and output, as the source has it."""

from collections.abc import Callable, Iterator
from pathlib import Path

from edgewright.config.custom_io import DEFINED, UNDEFINED
from edgewright.config.io_config import COLOURS, DESIRED, DESIRED_DTYPES, INPUTS, OUTPUTS, SOURCE
from edgewright.core.files import keep_sources, write_whole
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import MOVES_AS_VIEWS, Rewrites
from edgewright.frontends.io_changes import CHANNEL_FIRST, is_channel_first
from edgewright.frontends.open_source import import_open_graph
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph

IO_CONFIG_HEAD = f"""\
# What qairt-converter --io_config should make of inputs and outputs. Whatever is left empty stays as it is;
# whole entries may be left out. Options on the command line come before this file.
#
# {SOURCE}: data type and layout in the source, needed where the desired ones are given.
# {DESIRED}:
#   DataType: {", ".join(DESIRED_DTYPES)}
#   Layout: NCDHW <-> NDHWC, NCHW <-> NHWC, NCF <-> NFC, NTF <-> TNF
#   Shape: dimensions in the desired layout, as in 1,3,224,224
#   Color Conversion: {", ".join(COLOURS)}
#   QuantParams: for uint8 and int8; real = Scale * (stored + Offset)
"""
CUSTOM_IO_HEAD = f"""\
# What qnn-onnx-converter --custom_io should make of inputs and outputs. Fields, and whole entries, may be
# left out: these ends then are as without the file. As it stands, the file keeps everything as in the source.
#
# IOName: the name of an input or output.
# Layout:
#   Model: the layout in the source, as --input_layout gives it.
#   Custom: the layout in the converted model; NCDHW <-> NDHWC, NCHW <-> NHWC, NCF <-> NFC, NTF <-> TNF
# Datatype: {", ".join(DESIRED_DTYPES)}; empty where the source has another one
# QuantParam: for uint8 and int8; real = Scale * (stored + Offset)
#   Type: {DEFINED} where Scale and Offset are given, {UNDEFINED} otherwise
"""


def write_template(source: Path, target: Path, spec: InputSpec, describe: Callable[[Graph], str]) -> Path:
    """Writes the description of a source's inputs and outputs to a file."""
    keep_sources([source], [target])
    graph = import_open_graph(source, spec)
    # A transpose at an input or output shows which axes are the channels.
    Rewrites(left_out=MOVES_AS_VIEWS).apply(graph)
    write_whole(target, [describe(graph).encode()])
    return target


def describe_io_config(graph: Graph) -> str:
    """The file that --io_config reads."""
    lines = [IO_CONFIG_HEAD, f"{INPUTS}:"]
    for number, name in enumerate(graph.inputs, start=1):
        lines += _list_io_config_lines(graph, name, f"Input {number}", is_input=True)
    lines += ["", f"{OUTPUTS}:"]
    for number, name in enumerate(graph.outputs, start=1):
        lines += _list_io_config_lines(graph, name, f"Output {number}", is_input=False)
    return "\n".join(lines) + "\n"


def describe_custom_io(graph: Graph) -> str:
    """The file that --custom_io reads."""
    names = dict.fromkeys((*graph.inputs, *graph.outputs))
    return "\n".join([CUSTOM_IO_HEAD, *(line for n in names for line in _list_custom_io_lines(graph, n)), ""])


def _list_io_config_lines(graph: Graph, name: str, title: str, *, is_input: bool) -> Iterator[str]:
    tensor_type, layout = graph.types[name], _find_layout(graph, name)
    yield from (f"  # {title}", f"  - Name: {_quote(name)}")
    yield from (
        f"    {SOURCE}:",
        f"      DataType: {dtype_word(tensor_type.dtype)}",
        f"      Layout: {layout}",
    )
    yield from (f"    {DESIRED}:", "      DataType:", "      Layout:")
    if is_input:
        # Symbolic dimensions have no place in the file: options give them their numbers.
        dims = ",".join(str(dim) for dim in tensor_type.shape) if tensor_type.is_static else ""
        yield from (f"      Shape: {dims}".rstrip(), "      Color Conversion:")
    yield from ("      QuantParams:", "        Scale:", "        Offset:")


def _list_custom_io_lines(graph: Graph, name: str) -> Iterator[str]:
    layout, word = _find_layout(graph, name), dtype_word(graph.types[name].dtype)
    dtype = word if word in DESIRED_DTYPES else ""
    yield from (f"- IOName: {_quote(name)}", "  Layout:", f"    Model: {layout}", f"    Custom: {layout}")
    yield f"  Datatype: {dtype}".rstrip()
    yield from ("  QuantParam:", f"    Type: {UNDEFINED}", "    Scale:", "    Offset:")


def _find_layout(graph: Graph, name: str) -> str:
    """The layout of an input or output as options spell it."""
    rank = graph.types[name].rank
    if rank in CHANNEL_FIRST and is_channel_first(graph, name):
        return CHANNEL_FIRST[rank]
    return {1: "F", 2: "NF"}.get(rank, "NONTRIVIAL")


def _quote(name: str) -> str:
    """A name as YAML reads it back, whatever it holds."""
    import yaml

    text: str = yaml.safe_dump(name, default_style='"', width=float("inf"), allow_unicode=True)
    return text.strip()
