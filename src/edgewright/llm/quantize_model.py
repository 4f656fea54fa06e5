"""From a checkpoint to a quantized file, with a record of what was done."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import UsageError, shown
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.recipe import BALANCED, BEST, BITS, FAST, Recipe
from edgewright.llm.writers.gguf_file import write_gguf

FORMATS: dict[str, str] = {"gguf": ".gguf"}


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


def quantize_language_model(
    folder: Path | str,
    format: str = "gguf",  # noqa: A002 - the word that users know
    *,
    recipe: Recipe | None = None,
    calibration: Path | str | None = None,
    output: Path | str | None = None,
) -> LanguageModelFile:
    """Quantizes a Hugging Face checkpoint and writes it in a format.

    Args:
        folder: config.json, safetensors and tokenizer files.
        format: gguf.
        recipe: precision, blocks and effort; int4 in blocks of 32 where nothing is said.
        calibration: a text, or a .npy file of tokens; without it the recipe must be 'fast'.
        output: the file; beside the folder, named after it, where nothing is said.
    """
    start = time.monotonic()
    if format not in FORMATS:
        raise UsageError(f"format '{shown(format)}' is unknown, expected one of: {', '.join(FORMATS)}")
    checkpoint, recipe = Checkpoint(folder), recipe or Recipe()
    texts = read_calibration_texts(checkpoint, Path(calibration)) if calibration else []
    path = Path(output) if output else _name_file(checkpoint, recipe, format)
    write_gguf(checkpoint, recipe, path, texts)
    sizes = [math.prod(tensor.shape) for tensor in checkpoint.tensors.values()]
    widths = [tensor.dtype.itemsize for tensor in checkpoint.tensors.values()]
    return LanguageModelFile(
        path=str(path),
        format=format,
        precision=recipe.precision,
        recipe=recipe.name,
        source_bytes=sum(size * width for size, width in zip(sizes, widths, strict=True)),
        file_bytes=path.stat().st_size,
        parameters=sum(sizes),
        tokens=sum(map(len, texts)),
        seconds=time.monotonic() - start,
    )


def choose_recipe_name(name: str | None, precision: str, *, has_text: bool) -> str:
    """The best that a text allows; only 4 bits need one."""
    needs_text = BITS[precision] == 4
    if name is None:
        return BEST if has_text and needs_text else FAST
    if name in {BALANCED, BEST} and needs_text and not has_text:
        raise UsageError(
            f"recipe '{name}' needs a text that calibrates", do="add --calib TEXT, or choose --recipe fast"
        )
    return name


def _name_file(checkpoint: Checkpoint, recipe: Recipe, kind: str) -> Path:
    folder = checkpoint.folder.resolve()
    return Path(f"{folder.name}-{recipe.precision}{FORMATS[kind]}")
