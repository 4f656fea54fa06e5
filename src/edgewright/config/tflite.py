"""The options of qnn-tflite-converter alone, and the groups and rules that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER
from edgewright.config.converter_parts import SUBGRAPH_SIGNATURE
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class TfliteOnly(OptionGroup):
    """What only TFLite models have or need."""

    title = "TFLite"

    signature_name: str | None = SUBGRAPH_SIGNATURE
    show_unconsumed_nodes: bool = opt(help="list the tensors that nothing reads")
    dump_relay: str | None = opt(
        metavar="FILE", help="write the graph as text, as it stands after the import"
    )


TFLITE_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, TfliteOnly)
