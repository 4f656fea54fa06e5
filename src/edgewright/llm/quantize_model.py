"""From a checkpoint to a quantized file, with a record of what was done."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.core.errors import AccuracyGate, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import remove_parts
from edgewright.core.numbers import Array
from edgewright.llm.calibration import MOST_TOKENS, read_calibration_texts
from edgewright.llm.evaluate_file import LIMITS, TextScore, evaluate_file
from edgewright.llm.layer_state import name_state_folder, remove_layer_state
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.matrix_errors import MatrixError, collect_matrix_errors
from edgewright.llm.recipe import (
    BALANCED,
    BEST,
    BITS,
    FAST,
    FLOAT_ACTIVATIONS,
    INT8_ACTIVATIONS,
    WIDTHS,
    Recipe,
)
from edgewright.llm.sensitivity import widen_sensitive
from edgewright.llm.writers.gguf_types import apply_gguf_type, settle_types

log = logging.getLogger(__name__)
Writer = Callable[[Checkpoint, Recipe, Path, Sequence[Array]], None]
# GGUF is one file, all others are folders.
FORMATS = ("gguf", "onnx", "openvino", "mlx", "safetensors")
# The formats that hold scales that are multiples of others; safetensors has the values themselves.
HOLDERS = {
    "q4_k": ("gguf", "safetensors"),
    "q6_k": ("gguf", "safetensors"),
    "lpbq": ("onnx", "openvino", "safetensors"),
}


@dataclass(frozen=True)
class LanguageModelFile:
    """What was written, and how."""

    path: str
    format: str
    precision: str
    recipe: str
    # Of the checkpoint's weights and of the file.
    source_bytes: int
    file_bytes: int
    parameters: int
    # Tokens of the text that calibrated; 0 where none did.
    tokens: int
    seconds: float
    # What its runtime made of a text, where that was asked for.
    score: TextScore | None = None
    matrices: tuple[MatrixError, ...] = ()
    # Where bits are mixed: nats by which each matrix alone changes what the model says; which got more.
    sensitivity: dict[str, float] = field(default_factory=dict)
    widened: tuple[str, ...] = ()

    @property
    def width(self) -> str:
        """int4, int8, fp16 or fp32."""
        return WIDTHS.get(self.precision, self.precision)


def quantize_language_model(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    folder: Path | str,
    format: str = "gguf",  # noqa: A002 - the word that users know
    *,
    recipe: Recipe | None = None,
    calibration: Path | str | None = None,
    calibration_tokens: int = MOST_TOKENS,
    output: Path | str | None = None,
    text: Path | str | None = None,
    resume: bool = False,
) -> LanguageModelFile:
    """Quantizes a Hugging Face checkpoint and writes it in a format.

    Args:
        folder: config.json, safetensors and tokenizer files; or a GGUF file.
        format: gguf, onnx, openvino, mlx or safetensors.
        recipe: precision, blocks and effort; int4 in blocks of 32 where nothing is said.
        calibration: a text, or a .npy file of tokens; without it the recipe must be 'fast'.
        calibration_tokens: tokens of it at most, in pieces from all over it.
        output: the file or folder; named after the checkpoint where nothing is said.
        text: what is run through the file in its own runtime and through the checkpoint; None: nothing is.
        resume: whether layers are taken that an earlier run of the same kind has finished; layers of a run
            with a text are always kept until the end, others where this is said.
    """
    start = time.monotonic()
    if format not in FORMATS:
        raise UsageError(f"format '{shown(format)}' is unknown, expected one of: {', '.join(FORMATS)}")
    checkpoint, recipe = Checkpoint(folder), recipe or Recipe()
    _check_precisions(format, recipe)
    _check_activations(format, recipe)
    _check_context(format, checkpoint, recipe)
    texts = read_calibration_texts(checkpoint, Path(calibration), calibration_tokens) if calibration else []
    path = Path(output) if output else _name_file(checkpoint, recipe, format)
    _keep_source(checkpoint, path)
    recipe, sensitivity = _mix(checkpoint, _keep_layers(recipe, path, resume=resume), texts, format)
    with collect_matrix_errors() as errors, _tell_of_layers(recipe.state):
        _find_writer(format)(checkpoint, recipe, path, texts)
    if recipe.state is not None:
        remove_layer_state(recipe.state)
    return LanguageModelFile(
        path=str(path),
        format=format,
        precision=recipe.precision,
        recipe=recipe.name,
        source_bytes=sum(tensor.nbytes for tensor in checkpoint.tensors.values()),
        file_bytes=_measure_size(path),
        parameters=sum(math.prod(tensor.shape) for tensor in checkpoint.tensors.values()),
        tokens=sum(map(len, texts)),
        seconds=time.monotonic() - start,
        score=None if text is None else evaluate_file(path, text, against=checkpoint.source),
        matrices=errors.list_errors(),
        sensitivity=sensitivity,
        widened=tuple(name for name in sensitivity if recipe.is_kept(name)),
    )


def check_increase(made: LanguageModelFile, limit: float | None) -> None:
    """Refuses a file that predicts the text worse than the limit allows, or may do so."""
    most = LIMITS[made.width] if limit is None else limit
    check_score(made.score, made.path, most)


def check_score(score: TextScore | None, path: str, most: float) -> None:
    """Refuses a score that is over a limit in percent, or may be, and a tokenizer that is another one."""
    if score is not None and score.has_same_tokenizer is False:
        raise AccuracyGate(
            "its runtime cuts a text into other tokens than the checkpoint's tokenizer does",
            Where(file=path),
            do="look at tokenizer.json and tokenizer_config.json of the checkpoint: they may disagree",
        )
    if score is None or score.increase is None or score.increase_high is None:
        return
    if score.increase_high <= most:
        return
    reached = f"perplexity rises by {score.increase:.2f} % ({score.describe_interval()})"
    if score.increase > most:
        raise AccuracyGate(
            f"{reached}, the limit is {most:g} %",
            Where(file=path),
            do="give a text that calibrates (--calib), keep some matrices wider (--keep), or take int8",
        )
    raise AccuracyGate(
        f"{reached}: whether that is within {most:g} % is not proven",
        Where(file=path),
        do="give a longer --text",
    )


def choose_recipe(
    recipe: Recipe, name: str | None, *, has_text: bool, gguf_type: str | None = None
) -> Recipe:
    """The recipe with the best effort that a text allows; only 4 bits need one.

    Args:
        recipe: precision and blocks.
        name: fast, balanced or best; None: what fits.
        has_text: whether a text calibrates.
        gguf_type: the type of a GGUF file, which sets the precision.
    """
    if gguf_type is not None:
        recipe = apply_gguf_type(recipe, gguf_type)
    needs_text = recipe.width == "int4"
    if name in {BALANCED, BEST} and needs_text and not has_text:
        raise UsageError(
            f"recipe '{name}' needs a text that calibrates", do="add --calib TEXT, or choose --recipe fast"
        )
    return replace(recipe, name=name or (BEST if has_text and needs_text else FAST))


def _check_precisions(kind: str, recipe: Recipe) -> None:
    """Whether the format holds what was asked for as it is."""
    missing = [name for name in HOLDERS if recipe.has_precision(name) and kind not in HOLDERS[name]]
    if missing:
        kinds = [other for other in FORMATS if all(other in HOLDERS[name] for name in missing)]
        raise UnsupportedFeature(
            f"the format {kind} cannot hold the scales of {' and '.join(missing)}",
            do=f"choose --to {' or '.join(kinds)}, or --precision int4",
        )


def _check_context(kind: str, checkpoint: Checkpoint, recipe: Recipe) -> None:
    """Whether the length of texts changes anything, and is one that the model has."""
    if recipe.context is None:
        return
    if kind != "mlx":
        raise UsageError(
            f"the runtime of {kind} chooses by the length of each text, --context is for mlx",
            do="leave out --context",
        )
    if not 0 < recipe.context <= checkpoint.spec.context:
        raise UsageError(f"--context is {recipe.context}, the model has room for {checkpoint.spec.context}")


def _check_activations(kind: str, recipe: Recipe) -> None:
    """Whether the format's runtime does with activations what was asked for."""
    if kind == "gguf" and recipe.activations == FLOAT_ACTIVATIONS:
        raise UnsupportedFeature(
            "llama.cpp rounds activations to 8 bits by itself where weights are quantized",
            do="leave out --activations, or choose --precision fp16",
        )
    if recipe.activations != INT8_ACTIVATIONS:
        return
    if kind in {"mlx", "safetensors"}:
        raise UnsupportedFeature(
            f"the runtime of {kind} has no products with 8-bit activations", do="choose --to onnx or openvino"
        )
    if BITS[recipe.width] is None:
        raise UsageError(f"8-bit activations need weights in int4 or int8, --precision is {recipe.precision}")


def _name_file(checkpoint: Checkpoint, recipe: Recipe, kind: str) -> Path:
    source = checkpoint.source.resolve()
    name = source.stem if source.is_file() else source.name
    ending = ".gguf" if kind == "gguf" else f"-{kind}"
    return Path(f"{name}-{recipe.precision}{ending}")


def _mix(
    checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array], kind: str
) -> tuple[Recipe, dict[str, float]]:
    """More bits for sensitive matrices, where the recipe has room for them."""
    if not texts and (recipe.mixed is not None or recipe.is_smoothed):
        raise UsageError("mixed bits and AWQ need a text that calibrates", do="add --calib TEXT")
    if recipe.mixed is None:
        return recipe, {}
    wide = recipe.widen_ends(checkpoint.head, kind)
    settled = settle_types(checkpoint, recipe) if kind == "gguf" else wide
    return widen_sensitive(checkpoint, settled, texts, recipe.mixed)


def _keep_layers(recipe: Recipe, path: Path, *, resume: bool) -> Recipe:
    """Where layers are kept: those of earlier runs go where they are not taken."""
    folder = name_state_folder(path)
    if not resume:
        remove_layer_state(folder)
    else:
        remove_parts(path)
    return replace(recipe, state=folder if resume or recipe.name != FAST else None)


@contextmanager
def _tell_of_layers(folder: Path | None) -> Iterator[None]:
    """A run that fails says what is left of it."""
    try:
        yield
    except BaseException:
        if folder is not None and folder.is_dir():
            log.warning("finished layers are kept in %s: the same with --resume goes on there", folder)
        raise


def _find_writer(kind: str) -> Writer:
    """Imported when it is used: each needs packages that the others do not."""
    match kind:
        case "gguf":
            from edgewright.llm.writers.gguf_file import write_gguf as write
        case "onnx":
            from edgewright.llm.writers.onnx_folder import write_onnx as write
        case "openvino":
            from edgewright.llm.writers.openvino_folder import write_openvino as write
        case "mlx":
            from edgewright.llm.writers.mlx_folder import write_mlx as write
        case _:
            from edgewright.llm.writers.safetensors_folder import write_safetensors as write
    return write


def _keep_source(checkpoint: Checkpoint, path: Path) -> None:
    """A folder that is written replaces an older one, which must not be the checkpoint."""
    source, target = checkpoint.source.resolve(), path.resolve()
    if source == target or source.is_relative_to(target):
        raise UsageError(f"'{shown(path)}' is the checkpoint itself", do="name another place with -o")


def _measure_size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    return sum(file.stat().st_size for file in files)
