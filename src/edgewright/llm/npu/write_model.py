"""The folder of a built model: graphs, binaries, the table of embeddings, and what a runtime must know."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.context import EpContext
from edgewright.core.events import announce_progress
from edgewright.core.files import Chunks, write_folder, write_whole
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.config import CONFIG
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.genie import EXTENSIONS, GENIE, TABLE, make_extensions, make_genie_config
from edgewright.llm.npu.make_parts import MadeModel
from edgewright.llm.npu.manifest import FILE, OUTSIDE, Manifest, Part
from edgewright.llm.npu.quantize_blocks import Entry
from edgewright.llm.writers.companions import list_companions
from edgewright.model.saving import save_dlc
from edgewright.run.context.compile import CompileOrder, compile_graphs
from edgewright.run.context.ep_context import export_ep_context
from edgewright.run.context.info import read_context_info

NATIVE = "htp-native"
PAGE, GENERATION = "inputs_outputs.md", "generation_config.json"
PIECE = 1 << 24


def write_model(
    checkpoint: Checkpoint, place: Path, manifest: Manifest, made: MadeModel, order: CompileOrder | None
) -> None:
    """Everything is made in a folder apart, and appears at once; without an order nothing is compiled."""
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name[:64]}.") as name:
        folder = Path(name)
        tensors: dict[str, Any] = {}
        parts = manifest.list_parts()
        with announce_progress("writing parts", total=len(parts)) as step:
            for part in parts:
                graphs = [made.join_part(part, kind) for kind in manifest.shapes]
                tensors |= {graph.name: _describe(graph) for graph in graphs}
                _write_part(folder, part, graphs, order)
                del graphs
                made.release_weights()
                step()
        if manifest.embedding == OUTSIDE:
            write_whole(folder / TABLE, _iterate_table(made))
        for_genie = {} if order is None else _configure_genie(folder, manifest, made, order)
        files: dict[str, Chunks] = {file.name: _move_file(file) for file in sorted(folder.iterdir())}
        files["encodings.json"] = made.iterate_encodings()
        files[FILE] = [manifest.write(tensors)]
        files[PAGE] = [_write_page(tensors)]
        files[CONFIG] = [(checkpoint.folder / CONFIG).read_bytes()]
        files[GENERATION] = [_write_generation(made.spec)]
        write_folder(place, files | for_genie | list_companions(checkpoint.folder))


def _write_part(folder: Path, part: Part, graphs: list[Graph], order: CompileOrder | None) -> None:
    """The graphs of a part, and a context of both."""
    for graph in graphs:
        save_dlc(graph, folder / f"{graph.name}.dlc")
    if order is None:
        return
    binary = folder / f"{part.name(order.target.name)}.bin"
    write_whole(binary, compile_graphs(graphs, order).chunks())
    if order.provider == NATIVE and not order.config.is_weight_sharing:
        for graph in graphs:
            export_ep_context(EpContext(str(binary), str(folder / f"{graph.name}.onnx"), graph.name))


def _configure_genie(
    folder: Path, manifest: Manifest, made: MadeModel, order: CompileOrder
) -> dict[str, Chunks]:
    """Only around genuine binaries; what they need beside fast memory they share, as they run in turn."""
    if order.provider != NATIVE:
        return {}
    names = [f"{part.name(order.target.name)}.bin" for part in manifest.list_parts()]
    graphs = [graph for name in names for graph in read_context_info(folder / name).binary.graphs]
    spill_fill = max(graph.spill_fill_bytes or 0 for graph in graphs)
    config = make_genie_config(made.spec, manifest, made.embedding, names, spill_fill)
    extensions = make_extensions(order.target, is_shared=order.config.is_weight_sharing)
    return {GENIE: [config], EXTENSIONS: [extensions]}


def _write_generation(spec: ModelSpec) -> bytes:
    """Which tokens begin and end a text, where the checkpoint does not say it in a file of its own."""
    content = {"bos_token_id": spec.bos, "eos_token_id": list(spec.eos), "pad_token_id": spec.pad}
    given = {name: value for name, value in content.items() if value is not None}
    return (json.dumps(given, indent=2) + "\n").encode()


def _write_page(tensors: dict[str, Any]) -> bytes:
    """Inputs and outputs of every graph in their order, for people."""
    lines = ["# Inputs and outputs", "", "value = scale x (stored + offset)"]
    for graph, roles in tensors.items():
        lines += [
            "",
            f"## {graph}",
            "",
            "| | name | type | shape | scale | offset |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            _write_row(f"{role.removesuffix('s')} {number}", item)
            for role, items in roles.items()
            for number, item in enumerate(items)
        ]
    return ("\n".join(lines) + "\n").encode()


def _write_row(place: str, item: dict[str, Any]) -> str:
    shape = " x ".join(map(str, item["shape"]))
    cells = (place, item["name"], item["dtype"], shape, item.get("scale", ""), item.get("offset", ""))
    return f"| {' | '.join(map(str, cells))} |"


def _iterate_table(made: MadeModel) -> Iterator[bytes]:
    """Rows as the first graph takes them."""
    for rows in made.table.iterate():
        yield encode_rows(rows, made.embedding).tobytes()


def encode_rows(rows: Any, entry: Entry) -> Any:
    """Values as stored integers of 16 bits."""
    codes = np.rint(rows / np.float32(entry["y_scale"])) + entry["y_zero_point"]
    return np.clip(codes, 0, 65535).astype("<u2")


def _move_file(file: Path) -> Iterator[bytes]:
    """A file piece by piece, which is gone afterwards: binaries are as large as the model."""
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece
    file.unlink()


def _describe(graph: Graph) -> dict[str, Any]:
    """Names, shapes, types and encodings of inputs and outputs, in their order."""
    return {
        role: [_describe_tensor(name, graph.types[name]) for name in names]
        for role, names in (("inputs", graph.inputs), ("outputs", graph.outputs))
    }


def _describe_tensor(name: str, tensor: Any) -> dict[str, Any]:
    entry = {"name": name, "dtype": dtype_word(tensor.dtype), "shape": list(tensor.shape)}
    if tensor.encoding is None:
        return entry
    return entry | {"scale": tensor.encoding.scales[0], "offset": tensor.encoding.offsets[0]}
