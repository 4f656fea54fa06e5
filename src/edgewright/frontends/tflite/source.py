"""One operator of a TFLite file as its translation sees it."""

from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import BadInput, Where
from edgewright.frontends.tflite.codes import ACTIVATIONS
from edgewright.frontends.tflite.reader import Operator, Tensor


@dataclass(frozen=True)
class SourceNode:
    """Inputs are names of graph values ("" where left out): real numbers where TFLite has quantized ones."""

    operator: Operator
    inputs: list[str]
    # The tensors behind inputs and outputs as the file declares them; None where one is left out.
    operands: tuple[Tensor | None, ...]
    results: tuple[Tensor, ...]
    label: str

    @property
    def op(self) -> str:
        """Name of the op."""
        return self.operator.op

    @property
    def where(self) -> Where:
        """The place for messages."""
        return Where(op=self.op, node=self.label)

    @property
    def activation(self) -> str:
        """Name of the fused activation."""
        code = self.option("fused_activation_function")
        if not 0 <= code < len(ACTIVATIONS):
            raise BadInput(
                f"activation {code} is not known, expected 0 to {len(ACTIVATIONS) - 1}", self.where
            )
        return ACTIVATIONS[code]

    def option(self, name: str) -> Any:
        """An option of the op."""
        return self.operator.options[name]

    def input(self, index: int) -> str:
        """An input that may be left out: "" where it is."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def need(self, *places: int) -> list[str]:
        """Inputs that must be there."""
        found = [self.input(place) for place in places]
        if not all(found):
            raise BadInput(
                f"input {places[found.index('')]} is left out, expected a tensor",
                self.where,
                do="export the model again",
            )
        return found
