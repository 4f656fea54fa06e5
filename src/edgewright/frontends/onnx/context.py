"""What a translation of an ONNX op may use: the shared builder, and ways into subgraphs and functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import UnsupportedOp
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.builder import Builder
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.graph import Graph

if TYPE_CHECKING:
    from edgewright.frontends.onnx.importer import Importer

# The ops that take something else than tensors.
SEQUENCE_OPS = frozenset(
    {
        "ConcatFromSequence",
        "Identity",
        "Loop",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
    }
)


class Context(Builder):
    """A builder that also knows the model it builds from.

    A sequence or an optional is a name that flows like a value's but that the graph does not know: what it
    holds is decided while the graph is built.
    """

    def __init__(self, graph: Graph, importer: "Importer") -> None:
        super().__init__(graph)
        self.sequences: dict[str, list[str]] = {}
        self.optionals: dict[str, str] = {}  # what an optional holds; "" where it is empty
        self._importer = importer

    def inline(self, body: onnx.GraphProto, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place, its formal inputs bound to values; returns its outputs' values."""
        return self._importer.inline(body, arguments)

    def translate(self, proto: onnx.NodeProto, inputs: Sequence[str]) -> list[str]:
        """Translates another ONNX node whose inputs are the given values: a decomposition in ONNX terms."""
        return self._importer.translate(proto, inputs)

    def tensor(self, proto: onnx.TensorProto | onnx.SparseTensorProto, node: SourceNode) -> Array:
        """A tensor that an attribute holds, as an array; large ones stay in the file."""
        return self._importer.tensor(proto, node.where)

    def sequence(self, items: Sequence[str]) -> str:
        """A new sequence of values."""
        name = self.graph.fresh_name("sequence")
        self.sequences[name] = list(items)
        return name

    def optional(self, item: str) -> str:
        """A new optional that holds a value or a sequence, or nothing ("")."""
        name = self.graph.fresh_name("optional")
        self.optionals[name] = item
        return name

    def is_tensor(self, value: str) -> bool:
        """Whether a name stands for a tensor, not for a sequence or an optional."""
        return value not in self.sequences and value not in self.optionals

    def dtypes(self, node: SourceNode) -> list[DType | None]:
        """Datatypes of a node's inputs; None where one is left out or no tensor."""
        types = self.graph.types
        return [types[value].dtype if value in types else None for value in node.inputs]

    def rename(self, old: str, new: str) -> None:
        """Gives a produced value another name, in sequences too."""
        super().rename(old, new)
        for items in self.sequences.values():
            items[:] = [new if item == old else item for item in items]
        for name, item in self.optionals.items():
            self.optionals[name] = new if item == old else item

    def refuse_sequences(self, node: SourceNode) -> None:
        """An op that only knows tensors was given something else."""
        if (self.sequences or self.optionals) and not (
            node.op_type in SEQUENCE_OPS or all(self.is_tensor(value) for value in node.inputs)
        ):
            raise self.refuse(node, "an input is a sequence or an optional")

    def refuse(self, node: SourceNode, reason: str, do: str = "") -> UnsupportedOp:
        """The error for a node that cannot be translated."""
        return UnsupportedOp(
            f"ONNX op '{node.op_type}' is not supported here: {reason}",
            node.where,
            do=do or advise_cut(),
        )
