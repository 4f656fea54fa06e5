"""Saves a graph as an ONNX model: quantized ops stand between DequantizeLinear and QuantizeLinear."""

from pathlib import Path

from onnx import ModelProto

from edgewright.artifacts.file_kinds import ONNX, refuse_other_kinds
from edgewright.artifacts.qdq_onnx import OnnxParts, to_files
from edgewright.artifacts.qdq_onnx.opset import convert_opset
from edgewright.backends.cpu.export import export_graph
from edgewright.core.files import write_all
from edgewright.ir.graph import Graph
from edgewright.model.saving import SavedFiles, SaveOptions


def save_onnx(graph: Graph, path: Path | str, options: SaveOptions | None = None) -> SavedFiles:
    """Writes an ONNX file, with its weights beside it where they are large; the graph is not changed."""
    about = options or SaveOptions()
    refuse_other_kinds([(Path(path), ONNX)])
    model, arrays = export_graph(graph)
    model = convert_opset(model, about.opset)
    model.MergeFrom(ModelProto(producer_name="edgewright", doc_string=about.copyright_text))
    model.graph.name = graph.name or "main"
    files = to_files(OnnxParts(model, arrays), Path(path))
    write_all(files)
    return SavedFiles(tuple(sorted(files)))
