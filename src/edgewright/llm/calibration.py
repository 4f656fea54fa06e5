"""Texts that calibrate: plain text through the checkpoint's own tokenizer, or tokens in a .npy file."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.llm.forward import cut_windows
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.texts import read_tokens

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
    tokens = read_tokens(checkpoint.folder, path)
    return _check_tokens(checkpoint, path, np.asarray(tokens[: MOST_TOKENS + 1], np.int64))


def _check_tokens(checkpoint: Checkpoint, path: Path, tokens: Array) -> Array:
    size = checkpoint.spec.vocabulary
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
        raise BadInput(
            f"tokens are {tokens.min()} to {tokens.max()}, the embedding has {size} rows",
            Where(file=str(path)),
            do="use the tokenizer of this checkpoint",
        )
    return tokens
