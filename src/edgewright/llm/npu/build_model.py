"""From a checkpoint to graphs for the NPU: weights in codes, activations in 16 bits, compiled for a chip."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.config.backend_config import BackendConfig
from edgewright.core.errors import AccuracyGate, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.llm.calibration import MOST_TOKENS, read_calibration_texts
from edgewright.llm.evaluate_file import FEWEST, TextScore, evaluate_file
from edgewright.llm.load.checkpoint import EMBEDDING, Checkpoint
from edgewright.llm.npu.compare_backends import LEAST_DISTANCE, BackendComparison, judge_natively
from edgewright.llm.npu.make_parts import make_model
from edgewright.llm.npu.manifest import Manifest
from edgewright.llm.npu.plan_parts import choose_embedding, plan_parts
from edgewright.llm.npu.write_model import NATIVE, write_model
from edgewright.llm.quantize_model import check_score
from edgewright.llm.recipe import BEST, FAST, Recipe
from edgewright.llm.sensitivity import widen_sensitive
from edgewright.run.context.compile import CompileOrder, find_provider
from edgewright.targets.soc import find_htp_soc

# Weights in 4 bits: whole rows share a scale, or blocks of 64 a multiple of it.
PER_CHANNEL, LPBQ = "per-channel", "lpbq"
PRECISIONS = {"w4a16": "int4", "w8a16": "int8"}
# Of a value that is not rounded.
WHOLE_BITS = 32
# Of a part; large ones take minutes.
COMPILE_SECONDS = 6 * 3600.0


@dataclass(frozen=True)
class LanguageModelBuild:
    """What was written, for which chip, and what it costs."""

    path: str
    target: str
    precision: str
    recipe: str
    prefill: int
    context: int
    # Layers of each part.
    parts: tuple[int, ...]
    embedding: str
    kv_bits: int
    parameters: int
    file_bytes: dict[str, int]
    # What compiled it; htp-sim writes a context of ours, which no device takes; empty: nothing was compiled.
    compiler: str
    seconds: float
    # On the simulation, over the whole text, and on the emulator, over some of it.
    score: TextScore | None = None
    native_score: TextScore | None = None
    # The emulator beside the simulation, on the same pieces.
    comparison: BackendComparison | None = None


@dataclass(frozen=True)
class BuildRequest:
    """What is built, for which chip, and how."""

    # A Hugging Face checkpoint, or a GGUF file; and the folder to write.
    checkpoint: Path | str
    output: Path | str
    # The chip, such as SM8650.
    target: str
    # A text, or a .npy file of tokens: ranges of activations, and codes of 4 bits; tokens of it at most.
    calibration: Path | str
    calibration_tokens: int = MOST_TOKENS
    # w4a16 or w8a16; how weights of 4 bits share scales; fast, balanced or best, best for 4 bits otherwise.
    precision: str = "w4a16"
    recipe: str = LPBQ
    effort: str | None = None
    # Bits of a weight on the average over layers and head: matrices that matter most get 8 for 4.
    mixed: float | None = None
    # Tokens that the graph for prompts takes at once; those that graphs look back on, new ones included.
    prefill: int = 128
    context: int = 4096
    # Of keys and values, 8 or 16.
    kv_bits: int = 16
    # Inside of the first graph, or outside: a file of rows; None: inside unless it is large.
    embedding: str | None = None
    # Contexts that the model is cut into; None: as few as hold it.
    parts: int | None = None
    # What judges, on the simulation; pieces of it that are run on the emulator, too; None: nothing is run.
    text: Path | str | None = None
    native_windows: int = 0
    # Whether a context holds one copy of the weights for both graphs; ONNX Runtime's provider crashes on such
    # a context, so the ONNX files around it are left out.
    share_weights: bool = False
    # Whether context binaries are made.
    is_compiled: bool = True


def build_language_model(request: BuildRequest) -> LanguageModelBuild:
    """Writes a folder that a phone's runtime, ours and ONNX Runtime's QNN provider read."""
    start, checkpoint, place = time.monotonic(), Checkpoint(request.checkpoint), Path(request.output)
    manifest = _plan(checkpoint, request)
    provider = find_provider("htp")
    _make(checkpoint, place, manifest, request, provider)
    score, native, comparison = _judge(request, checkpoint, provider)
    return LanguageModelBuild(
        path=str(place),
        target=manifest.target,
        precision=request.precision,
        recipe=request.recipe if request.precision == "w4a16" else PER_CHANNEL,
        prefill=request.prefill,
        context=request.context,
        parts=manifest.parts,
        embedding=manifest.embedding,
        kv_bits=request.kv_bits,
        parameters=checkpoint.spec.weights,
        file_bytes={file.name: file.stat().st_size for file in sorted(place.iterdir())},
        compiler=provider if request.is_compiled else "",
        seconds=time.monotonic() - start,
        score=score,
        native_score=native,
        comparison=comparison,
    )


def _plan(checkpoint: Checkpoint, request: BuildRequest) -> Manifest:
    spec = checkpoint.spec
    _check_context(checkpoint, request.prefill, request.context)
    where = choose_embedding(spec, request.embedding)
    return Manifest(
        target=find_htp_soc(request.target).name,
        precision=request.precision,
        prefill=request.prefill,
        context=request.context,
        parts=plan_parts(spec, where, is_shared=request.share_weights, asked=request.parts),
        embedding=where,
        kv_bits=request.kv_bits,
    )


def _make(
    checkpoint: Checkpoint, place: Path, manifest: Manifest, request: BuildRequest, provider: str
) -> None:
    """Weights are in files until all is written."""
    texts = read_calibration_texts(checkpoint, Path(request.calibration), request.calibration_tokens)
    config = BackendConfig(is_weight_sharing=request.share_weights)
    order = CompileOrder(provider, find_htp_soc(request.target), config, timeout=COMPILE_SECONDS)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name[:64]}.") as weights:
        recipe = choose_recipe(checkpoint, request.precision, request.recipe, request.effort)
        if request.mixed is not None:
            recipe = _widen(checkpoint, recipe, texts, request.mixed)
        made = make_model(checkpoint, manifest, recipe, texts, Path(weights))
        write_model(checkpoint, place, manifest, made, order if request.is_compiled else None)


def _judge(
    request: BuildRequest, checkpoint: Checkpoint, provider: str
) -> tuple[TextScore | None, TextScore | None, BackendComparison | None]:
    """On the simulation, and on the emulator where it is there and asked for."""
    if request.text is None:
        return None, None, None
    score = evaluate_file(request.output, request.text, against=checkpoint.source)
    if not request.native_windows or provider != NATIVE:
        return score, None, None
    native = judge_natively(Path(request.output), Path(request.text), checkpoint, request.native_windows)
    return score, *native


def check_build(built: LanguageModelBuild, limit: float) -> None:
    """Refuses a model that predicts the text worse than the limit allows, on simulation or emulator."""
    check_score(built.score, built.path, limit)
    native = built.native_score
    if native is not None and native.increase is not None and native.increase > limit:
        raise AccuracyGate(
            f"on the emulator perplexity rises by {native.increase:.2f} %, the limit is {limit:g} %"
            f"{_name_first_layer(built.comparison)}",
            Where(file=built.path),
            do="choose 8 bits, a text that calibrates better, or a higher --max_increase",
        )

    _check_agreement(built, limit)


def _check_agreement(built: LanguageModelBuild, limit: float) -> None:
    """What the simulation says counts where the emulator agrees, or has read enough of the text itself."""
    score, native, comparison = built.score, built.native_score, built.comparison
    if score is None or native is None or comparison is None or score.increase_high is None:
        return
    is_read = native.windows >= FEWEST and native.increase_high is not None and native.increase_high <= limit
    is_within = score.increase_high + abs(comparison.difference) <= limit
    if is_read or (is_within and comparison.logits >= LEAST_DISTANCE):
        return
    raise AccuracyGate(
        f"simulation and emulator differ: logits agree to {comparison.logits:.0f} dB, perplexity by "
        f"{comparison.difference:+.2f} %; that it rises by {limit:g} % at most on the emulator is not proven"
        f"{_name_first_layer(comparison)}",
        Where(file=built.path),
        do=f"let the emulator read more of the text: --native_windows {FEWEST} or more",
    )


def _name_first_layer(comparison: BackendComparison | None) -> str:
    """Where the emulator leaves the simulation, if it does."""
    if comparison is None or comparison.is_close or comparison.first_layer is None:
        return ""
    number = comparison.first_layer
    return f"; it differs from the simulation from layer {number} on ({comparison.layers[number]:.0f} dB)"


def _check_context(checkpoint: Checkpoint, prefill: int, context: int) -> None:
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


def choose_recipe(checkpoint: Checkpoint, precision: str, name: str, effort: str | None = None) -> Recipe:
    """Scales are above 0, as QNN wants them; the embedding is looked up as it is, the head has 8 bits."""
    keep = {EMBEDDING: "fp32"} | {checkpoint.head: "int8"}
    width = LPBQ if precision == "w4a16" and name == LPBQ else PRECISIONS[precision]
    default = BEST if precision == "w4a16" else FAST
    return Recipe(width, effort or default, 0, is_positive=True, keep=keep)


def _widen(checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array], bits: float) -> Recipe:
    """More bits where they matter most; an embedding that is looked up counts for nothing."""
    spec = checkpoint.spec
    if recipe.width != "int4":
        raise UsageError("bits are mixed of 4 and 8, the precision has 8", do="use --precision w4a16")
    table = 0 if spec.is_tied else spec.vocabulary * spec.hidden
    share = table / spec.weights
    widened, _ = widen_sensitive(checkpoint, recipe, texts, bits * (1 - share) + WHOLE_BITS * share)
    return widened
