"""A YAML file to start from: every input and output of a model, with what is known of it filled in."""

from collections.abc import Iterator

from edgewright.config.io_config import COLOURS, DESIRED, DESIRED_DTYPES, INPUTS, OUTPUTS, SOURCE
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.sdk.source_io import CHANNEL_FIRST, is_channel_first

__all__ = ["layout_word", "quoted", "template_text"]

HEAD = f"""\
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


def template_text(graph: Graph) -> str:
    """The file for a graph whose ends are as in the source."""
    lines = [HEAD, f"{INPUTS}:"]
    for number, name in enumerate(graph.inputs, start=1):
        lines += _entry(graph, name, f"Input {number}", is_input=True)
    lines += ["", f"{OUTPUTS}:"]
    for number, name in enumerate(graph.outputs, start=1):
        lines += _entry(graph, name, f"Output {number}", is_input=False)
    return "\n".join(lines) + "\n"


def _entry(graph: Graph, name: str, title: str, *, is_input: bool) -> Iterator[str]:
    found = graph.types[name]
    layout = layout_word(graph, name)
    yield from (f"  # {title}", f"  - Name: {quoted(name)}")
    yield from (f"    {SOURCE}:", f"      DataType: {dtype_word(found.dtype)}", f"      Layout: {layout}")
    yield from (f"    {DESIRED}:", "      DataType:", "      Layout:")
    if is_input:
        # Symbolic dimensions have no place in the file: options give them their numbers.
        dims = ",".join(str(dim) for dim in found.shape) if found.is_static else ""
        yield from (f"      Shape: {dims}".rstrip(), "      Color Conversion:")
    yield from ("      QuantParams:", "        Scale:", "        Offset:")


def layout_word(graph: Graph, name: str) -> str:
    """The layout of an end as options spell it."""
    rank = graph.types[name].rank
    if rank in CHANNEL_FIRST and is_channel_first(graph, name):
        return CHANNEL_FIRST[rank]
    return {1: "F", 2: "NF"}.get(rank, "NONTRIVIAL")


def quoted(name: str) -> str:
    """A name as YAML reads it back, whatever it holds."""
    import yaml

    text: str = yaml.safe_dump(name, default_style='"', width=float("inf"), allow_unicode=True)
    return text.strip()
