"""Texts that calibrate: plain text through the checkpoint's own tokenizer, or tokens in a .npy file."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.llm.forward import cut_windows
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.texts import read_tokens

# Tokens of one piece, and of all pieces where nothing is said: more changes codes little and takes time.
PIECE_TOKENS, MOST_TOKENS = 256, 1 << 16
# Few tokens say more where they are from many places, which does not pay for pieces that are too short.
FEWEST_PIECES, SHORTEST_PIECE = 8, 32


def read_calibration_texts(checkpoint: Checkpoint, path: Path, most: int = MOST_TOKENS) -> list[Array]:
    """Pieces of tokens from all over a text: its parts differ.

    Args:
        checkpoint: whose tokenizer reads it.
        path: a text, or a .npy file of tokens.
        most: tokens of all pieces at most; there is one piece at least.
    """
    tokens = _check_tokens(checkpoint, path, read_tokens(checkpoint.folder, path))
    length = min(PIECE_TOKENS, checkpoint.spec.context, max(SHORTEST_PIECE, most // FEWEST_PIECES))
    pieces = [piece for piece, _ in cut_windows(tokens, length)]
    if not pieces:
        raise UsageError(
            f"the text has {len(tokens)} tokens, expected more than {length}",
            Where(file=str(path)),
            do="give a longer text, 50,000 words for example",
        )
    places = np.linspace(0, len(pieces) - 1, min(len(pieces), max(1, most // length)))
    return [pieces[place] for place in places.round().astype(int)]


def _check_tokens(checkpoint: Checkpoint, path: Path, tokens: Array) -> Array:
    size = checkpoint.spec.vocabulary
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
        raise BadInput(
            f"tokens are {tokens.min()} to {tokens.max()}, the embedding has {size} rows",
            Where(file=str(path)),
            do="use the tokenizer of this checkpoint",
        )
    return tokens
