"""From a checkpoint to graphs for the NPU: weights in codes, activations in 16 bits, compiled for a chip."""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.config.backend_config import BackendConfig
from edgewright.config.context import EpContext
from edgewright.core.errors import AccuracyGate, UnsupportedFeature, UsageError, Where
from edgewright.core.files import Chunks, write_folder, write_whole
from edgewright.core.numbers import Array
from edgewright.ir.contract import dtype_word
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.evaluate_file import TextScore, evaluate_file
from edgewright.llm.load.checkpoint import EMBEDDING, Checkpoint
from edgewright.llm.load.config import CONFIG
from edgewright.llm.npu.graphs import (
    collect_samples,
    make_float_model,
    quantize_like,
    quantize_prefill,
)
from edgewright.llm.npu.manifest import DECODE, FILE, PREFILL, Manifest
from edgewright.llm.npu.matrices import Tensor
from edgewright.llm.quantize_checkpoint import quantize_checkpoint
from edgewright.llm.quantize_model import check_score
from edgewright.llm.recipe import BEST, FAST, Recipe
from edgewright.llm.rounding.codes import Codes, join_codes
from edgewright.llm.writers.companions import list_companions
from edgewright.model.model import Model
from edgewright.run.context.compile import CompileOrder, compile_graphs, find_provider
from edgewright.run.context.ep_context import export_ep_context
from edgewright.targets.soc import find_htp_soc

# Weights in 4 bits: whole rows share a scale, or blocks of 64 a multiple of it.
PER_CHANNEL, LPBQ = "per-channel", "lpbq"
PRECISIONS = {"w4a16": "int4", "w8a16": "int8"}
# Texts that show the ranges of activations: fewer let rare values saturate.
MOST_TEXTS = 32
# Weights that a context may hold (the library maps no more); larger models must be cut into several.
MOST_BYTES = 2 << 30
NATIVE = "htp-native"
PIECE = 1 << 24


@dataclass(frozen=True)
class LanguageModelBuild:
    """What was written, for which chip, and what it costs."""

    path: str
    target: str
    precision: str
    recipe: str
    prefill: int
    context: int
    parameters: int
    file_bytes: dict[str, int]
    # What compiled it; htp-sim writes a context of ours, which no device takes.
    compiler: str
    seconds: float
    # On the simulation, over the whole text, and on the emulator, over some of it.
    score: TextScore | None = None
    native_score: TextScore | None = None


def build_language_model(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    folder: Path | str,
    output: Path | str,
    *,
    target: str,
    calibration: Path | str,
    precision: str = "w4a16",
    recipe: str = LPBQ,
    prefill: int = 128,
    context: int = 4096,
    text: Path | str | None = None,
    native_windows: int = 0,
    share_weights: bool = False,
) -> LanguageModelBuild:
    """Writes a folder that a phone's runtime, ours and ONNX Runtime's QNN provider read.

    Args:
        folder: a Hugging Face checkpoint, or a GGUF file.
        output: the folder to write.
        target: the chip, such as SM8650.
        calibration: a text, or a .npy file of tokens: ranges of activations, and codes of 4 bits.
        precision: w4a16 or w8a16.
        recipe: how weights of 4 bits share scales: lpbq or per-channel.
        prefill: tokens that the graph for prompts takes at once.
        context: tokens that the graphs look back on, new ones included.
        text: what judges, on the simulation; None: nothing is run.
        native_windows: pieces of that text that are run on the emulator, too.
        share_weights: whether the context holds one copy of the weights for both graphs; ONNX Runtime's
            provider crashes on such a context, so the ONNX files around it are left out.
    """
    start, checkpoint, place = time.monotonic(), Checkpoint(folder), Path(output)
    chip = find_htp_soc(target)
    manifest = Manifest(chip.name, precision, prefill, _check_context(checkpoint, prefill, context))
    texts = read_calibration_texts(checkpoint, Path(calibration))
    tensors = quantize_weights(checkpoint, precision, recipe, texts)
    graphs = _make_graphs(checkpoint, manifest, tensors, texts)
    provider = find_provider("htp")
    order = CompileOrder(provider, chip, BackendConfig(is_weight_sharing=share_weights))
    _write(checkpoint, place, manifest, graphs, order)
    score = None if text is None else evaluate_file(place, text, against=checkpoint.source)
    native = None
    if text is not None and native_windows and provider == NATIVE:
        native = evaluate_file(
            place, text, against=checkpoint.source, windows=native_windows, backend=provider
        )
    return LanguageModelBuild(
        path=str(place),
        target=chip.name,
        precision=precision,
        recipe=recipe if precision == "w4a16" else PER_CHANNEL,
        prefill=prefill,
        context=context,
        parameters=checkpoint.spec.weights,
        file_bytes={file.name: file.stat().st_size for file in sorted(place.iterdir())},
        compiler=provider,
        seconds=time.monotonic() - start,
        score=score,
        native_score=native,
    )


def check_build(built: LanguageModelBuild, limit: float) -> None:
    """Refuses a model that predicts the text worse than the limit allows, on simulation or emulator."""
    check_score(built.score, built.path, limit)
    native = built.native_score
    if native is not None and native.increase is not None and native.increase > limit:
        raise AccuracyGate(
            f"on the emulator perplexity rises by {native.increase:.2f} %, the limit is {limit:g} %",
            Where(file=built.path),
            do="find the op: edgewright debug prefill.dlc --compare_backends htp-sim,htp-native",
        )


def _check_context(checkpoint: Checkpoint, prefill: int, context: int) -> int:
    """Refuses what the graphs cannot be, before anything is computed."""
    room = checkpoint.spec.context
    if not 1 < prefill < context:
        raise UsageError(
            f"a prompt is read {prefill} tokens at a time in a context of {context}",
            do="choose 2 or more for --prefill, and more than that for --context",
        )
    if context > room:
        raise UsageError(
            f"the context is {context}, the model has room for {room}", do=f"choose --context {room} or less"
        )
    # Half a byte a weight is the least that any precision stores.
    if checkpoint.spec.weights // 2 > MOST_BYTES:
        raise UnsupportedFeature(
            f"the model has {checkpoint.spec.weights / 1e9:.1f} billion weights, more than one context holds",
            Where(file=str(checkpoint.source)),
            do="`edgewright llm quantize` writes it for other runtimes; one of several contexts is to come",
        )
    return context


def _choose_recipe(checkpoint: Checkpoint, precision: str, name: str) -> Recipe:
    """Scales are above 0, as QNN wants them; the embedding is looked up as it is, the head has 8 bits."""
    keep = {EMBEDDING: "fp32", checkpoint.head: "int8"} if precision == "w4a16" else {EMBEDDING: "fp32"}
    width = LPBQ if precision == "w4a16" and name == LPBQ else PRECISIONS[precision]
    effort = BEST if precision == "w4a16" else FAST
    return Recipe(width, effort, 0, is_positive=True, keep=keep)


def quantize_weights(
    checkpoint: Checkpoint, precision: str, recipe: str, texts: Sequence[Array]
) -> dict[str, Tensor]:
    """All tensors of a model, matrices as codes."""
    tensors: dict[str, Tensor] = {}
    for tensor in quantize_checkpoint(checkpoint, _choose_recipe(checkpoint, precision, recipe), texts):
        parts = [part for part in tensor.pieces if isinstance(part, Codes)]
        tensors[tensor.name] = join_codes(parts) if parts else checkpoint.read(tensor.name)
    return tensors


def _make_graphs(
    checkpoint: Checkpoint, manifest: Manifest, tensors: Mapping[str, Tensor], texts: Sequence[Array]
) -> dict[str, Model]:
    """Every tensor of the one has the encoding that it has in the other: states pass as they are."""
    spec, head, shapes = checkpoint.spec, checkpoint.head, manifest.shapes
    plain = make_float_model(spec, tensors, head, shapes[PREFILL], PREFILL)
    pieces = [text[: manifest.context] for text in texts[:MOST_TEXTS]]
    samples = collect_samples(plain, spec, shapes[PREFILL], pieces)
    first = quantize_prefill(plain, spec, tensors, head, samples)
    del plain, samples
    other = make_float_model(spec, tensors, head, shapes[DECODE], DECODE)
    return {PREFILL: first, DECODE: quantize_like(other, first.encodings("2.0.0"))}


def _write(
    checkpoint: Checkpoint, place: Path, manifest: Manifest, graphs: Mapping[str, Model], order: CompileOrder
) -> None:
    """Everything is made in a folder apart, and appears at once."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        for graph, model in graphs.items():
            model.save(made / f"{graph}.dlc")
        binary = made / f"{order.target.name}.bin"
        fixed = [model.fixed_graph() for model in graphs.values()]
        write_whole(binary, compile_graphs(fixed, order).chunks())
        if order.provider == NATIVE and not order.config.is_weight_sharing:
            for graph in graphs:
                wrapper = EpContext(str(binary), str(made / f"{graph}.onnx"), graph)
                export_ep_context(wrapper)
        files: dict[str, Chunks] = {file.name: _iterate_file(file) for file in sorted(made.iterdir())}
        encodings = json.dumps(graphs[PREFILL].encodings(), indent=1)
        files["encodings.json"] = [f"{encodings}\n".encode()]
        files[FILE] = [manifest.write({graph: _describe(model) for graph, model in graphs.items()})]
        files[CONFIG] = [(checkpoint.folder / CONFIG).read_bytes()]
        write_folder(place, files | list_companions(checkpoint.folder))


def _iterate_file(file: Path) -> Iterator[bytes]:
    """A file piece by piece: binaries are as large as the model."""
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece


def _describe(model: Model) -> dict[str, Any]:
    """Names, shapes, types and encodings of inputs and outputs, in their order."""
    graph = model.fixed_graph()
    return {
        role: [_describe_tensor(name, graph.types[name]) for name in names]
        for role, names in (("inputs", graph.inputs), ("outputs", graph.outputs))
    }


def _describe_tensor(name: str, tensor: Any) -> dict[str, Any]:
    entry = {"name": name, "dtype": dtype_word(tensor.dtype), "shape": list(tensor.shape)}
    if tensor.encoding is None:
        return entry
    return entry | {"scale": tensor.encoding.scales[0], "offset": tensor.encoding.offsets[0]}
