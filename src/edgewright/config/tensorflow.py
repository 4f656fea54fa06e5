"""The options of qnn-tensorflow-converter alone, and the groups that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup

__all__ = ["TENSORFLOW_CONVERTER", "TensorflowOnly"]


@dataclass(frozen=True)
class TensorflowOnly(OptionGroup):
    """What only TensorFlow models have or need."""

    title = "TensorFlow"

    show_unconsumed_nodes: bool = opt(help="list the nodes that the outputs do not depend on")
    allow_unconsumed_nodes: bool = opt(
        help="convert a graph with such nodes; it always is, so the option changes nothing"
    )
    saved_model_tag: str | None = opt(
        fills="tag", metavar="TAG", help="the tag of a graph in a SavedModel, 'serve' where nothing is said"
    )
    saved_model_signature_key: str | None = opt(
        fills="signature",
        metavar="KEY",
        help="the signature that names inputs and outputs, 'serving_default' where nothing is said",
    )


TENSORFLOW_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, TensorflowOnly)
