"""The options of qnn-tensorflow-converter alone, and the groups that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER
from edgewright.config.converter_parts import SAVED_MODEL_TAG, SIGNATURE_KEY, UNUSED_NODES
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class TensorflowOnly(OptionGroup):
    """What only TensorFlow models have or need."""

    title = "TensorFlow"

    show_unconsumed_nodes: bool = UNUSED_NODES
    allow_unconsumed_nodes: bool = opt(
        help="convert a graph with such nodes; it always is, so the option changes nothing"
    )
    saved_model_tag: str | None = SAVED_MODEL_TAG
    saved_model_signature_key: str | None = SIGNATURE_KEY


TENSORFLOW_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, TensorflowOnly)
