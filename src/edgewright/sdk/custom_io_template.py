"""A YAML file to start from for --custom_io: every input and output, as the source has them."""

from collections.abc import Iterator
from pathlib import Path

from edgewright.config.custom_io import DEFINED, UNDEFINED
from edgewright.config.io_config import DESIRED_DTYPES
from edgewright.core.files import keep_sources, write_whole
from edgewright.frontends.open_source import source_graph
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.model.convert import Rewrites
from edgewright.sdk.converter import MOVES_AS_VIEWS, ConverterOptions, overrides_of
from edgewright.sdk.io_config_template import layout_word, quoted

__all__ = ["write_custom_io_template"]

HEAD = f"""\
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


def write_custom_io_template(options: ConverterOptions) -> Path:
    """Writes the file that --dump_custom_io_config_template names."""
    assert options.onnx.dump_custom_io_config_template is not None
    target = Path(options.onnx.dump_custom_io_config_template)
    keep_sources([Path(options.source.input_network)], [target])
    graph = source_graph(options.source.input_network, overrides_of(options))
    # A transpose at the graph's ends shows which axes are the channels.
    Rewrites(left_out=MOVES_AS_VIEWS).apply(graph)
    lines = [HEAD, *(line for name in _ends(graph) for line in _entry(graph, name))]
    write_whole(target, ["\n".join([*lines, ""]).encode()])
    return target


def _ends(graph: Graph) -> list[str]:
    return list(dict.fromkeys((*graph.inputs, *graph.outputs)))


def _entry(graph: Graph, name: str) -> Iterator[str]:
    layout, word = layout_word(graph, name), dtype_word(graph.types[name].dtype)
    dtype = word if word in DESIRED_DTYPES else ""
    yield from (f"- IOName: {quoted(name)}", "  Layout:", f"    Model: {layout}", f"    Custom: {layout}")
    yield f"  Datatype: {dtype}".rstrip()
    yield from ("  QuantParam:", f"    Type: {UNDEFINED}", "    Scale:", "    Offset:")
