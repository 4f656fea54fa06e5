"""The file that --dump_out_names writes: outputs by their names in the model and in the program."""

import json
from dataclasses import replace

from edgewright.core.files import write_whole
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.model.saving import SavedFiles

__all__ = ["with_output_names"]

FILE = "model_output_names.json"


def with_output_names(files: SavedFiles, graph: Graph) -> SavedFiles:
    """Writes the names beside the model: programs name few of their tensors, so the tool does."""
    form = NameTable((*graph.inputs, *graph.outputs))
    target = files.cpp.with_name(FILE)
    names = {form(name): name for name in graph.outputs}
    write_whole(target, [json.dumps(names, indent=2).encode()])
    return replace(files, paths=(*files.paths, target))
