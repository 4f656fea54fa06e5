"""Texts that calibrate: plain text through the checkpoint's own tokenizer, or tokens in a .npy file."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.llm.forward import cut_windows
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.vocabulary import TOKENIZER

LARGEST_TEXT = 1 << 28
# Tokens of one piece, and of all pieces: more changes codes little and takes time.
PIECE_TOKENS, MOST_TOKENS = 256, 1 << 16


def read_calibration_texts(checkpoint: Checkpoint, path: Path) -> list[Array]:
    """Pieces of tokens from the beginning of a text."""
    tokens = _read_tokens(checkpoint, path)
    length = min(PIECE_TOKENS, checkpoint.spec.context)
    pieces = [piece for piece, _ in cut_windows(tokens, length, MOST_TOKENS // length)]
    if not pieces:
        raise UsageError(
            f"the text has {len(tokens)} tokens, expected more than {length}",
            Where(file=str(path)),
            do="give a longer text, 50,000 words for example",
        )
    return pieces


def _read_tokens(checkpoint: Checkpoint, path: Path) -> Array:
    if path.suffix != ".npy":
        return _split_text(checkpoint, path)
    try:
        tokens = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as problem:
        raise BadInput(f"the file cannot be read: {shown(problem)}", Where(file=str(path))) from None
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise BadInput(
            f"the array is {tokens.dtype} {list(tokens.shape)}, expected one row of whole numbers",
            Where(file=str(path)),
        )
    return _check_tokens(checkpoint, path, tokens[: MOST_TOKENS + 1].astype(np.int64))


def _split_text(checkpoint: Checkpoint, path: Path) -> Array:
    tokenizers = require("tokenizers", to="read texts; a .npy file of tokens needs nothing")
    text = read_limited(path, LARGEST_TEXT).decode("utf-8", errors="replace")
    tokenizer = tokenizers.Tokenizer.from_file(str(checkpoint.folder / TOKENIZER))
    # No token is shorter than a byte, and few are longer than 16.
    tokens = tokenizer.encode(text[: 16 * MOST_TOKENS]).ids[: MOST_TOKENS + 1]
    return _check_tokens(checkpoint, path, np.array(tokens, np.int64))


def _check_tokens(checkpoint: Checkpoint, path: Path, tokens: Array) -> Array:
    size = checkpoint.spec.vocabulary
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
        raise BadInput(
            f"tokens are {tokens.min()} to {tokens.max()}, the embedding has {size} rows",
            Where(file=str(path)),
            do="use the tokenizer of this checkpoint",
        )
    return tokens
