"""Ops that keep the meaning of their source: what QNN has no name for, and what op packages define."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.ir.op import Op, Port, register, structural
from edgewright.ir.types import TensorType


@register
@dataclass(frozen=True, kw_only=True)
class SourceOp(Op):
    """An op known by its package and type. Only a backend that knows that package can run it."""

    inputs = (Port("in[0..m]", is_required=False, is_repeated=True),)
    outputs = (Port("out[0..m]", is_repeated=True),)

    package: str = structural()
    type: str = structural()
    version: int = structural(0)
    attributes: tuple[tuple[str, Hashable], ...] = structural(())
    results: tuple[TensorType, ...] = structural(())

    def display_name(self) -> str:
        """The type in its package."""
        return self.type

    @property
    def has_fixed_types(self) -> bool:
        """Only the source knows what other types would mean."""
        return True

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As the frontend or the op package said."""
        del inputs
        return self.results

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The results are the outputs."""
        return {"results": tuple(outputs)}
