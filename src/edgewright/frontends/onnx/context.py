"""What a translation of an ONNX op may use: the shared builder, and ways into subgraphs and functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx

from edgewright.core.errors import UnsupportedOp
from edgewright.frontends._common.builder import Builder
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.graph import Graph

if TYPE_CHECKING:
    from edgewright.frontends.onnx.importer import Importer

__all__ = ["Context"]


class Context(Builder):
    """A builder that also knows the model it builds from."""

    def __init__(self, graph: Graph, importer: "Importer") -> None:
        super().__init__(graph)
        self._importer = importer

    def inline(self, body: onnx.GraphProto, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place, its formal inputs bound to values; returns its outputs' values."""
        return self._importer.inline(body, arguments)

    def translate(self, proto: onnx.NodeProto, inputs: Sequence[str]) -> list[str]:
        """Translates another ONNX node whose inputs are the given values: a decomposition in ONNX terms."""
        return self._importer.translate(proto, inputs)

    def refuse(self, node: SourceNode, reason: str, do: str = "") -> UnsupportedOp:
        """The error for a node that cannot be translated."""
        return UnsupportedOp(
            f"ONNX op '{node.op_type}' is not supported here: {reason}",
            node.where,
            do=do or "cut the graph before it with --out_node, or replace the op in the source model",
        )
