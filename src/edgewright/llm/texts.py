"""Texts as tokens: through a model's own tokenizer, or from a .npy file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, EnvironmentProblem, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.data.numpy_files import map_numpy_array
from edgewright.llm.load.vocabulary import TOKENIZER
from edgewright.llm.runtimes.session import RuntimeSession

LARGEST_TEXT = 1 << 28
# Runtimes count tokens in 32 bits; none has a vocabulary of this size.
LARGEST_TOKEN = (1 << 31) - 1
# A tokenizer without a rule for words holds some 200 bytes for each letter of what it is given at once.
LARGEST_PIECE = 1 << 20
_BREAKS = ("\n", " ")


def read_tokens(folder: Path, path: Path, session: RuntimeSession | None = None) -> Array:
    """The tokens of a text or of a .npy file.

    Args:
        folder: where tokenizer.json is.
        path: the text.
        session: a runtime that may have the tokenizer where the folder has none.
    """
    if path.suffix == ".npy":
        return read_token_file(path)
    text = read_limited(path, LARGEST_TEXT).decode("utf-8", errors="replace")
    if (folder / TOKENIZER).is_file():
        return split_text(folder, text)
    tokens = [] if session is None else session.split_text(text, is_start=True)
    if not tokens:
        raise BadInput(f"there is no {TOKENIZER}", Where(file=str(folder)), do="give a .npy file of tokens")
    return np.array(tokens, np.int64)


def read_token_file(path: Path) -> Array:
    """One row of whole numbers."""
    tokens = map_numpy_array(path)
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise BadInput(
            f"the array is {tokens.dtype} {list(tokens.shape)}, expected one row of whole numbers",
            Where(file=str(path)),
        )
    if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) <= LARGEST_TOKEN:
        raise BadInput(
            f"tokens are {tokens.min()} to {tokens.max()}, expected 0 to {LARGEST_TOKEN} at most",
            Where(file=str(path)),
            do="write the tokens of the model's own tokenizer",
        )
    return np.asarray(tokens, np.int64)


def split_text(folder: Path, text: str) -> Array:
    """The tokens that a checkpoint's tokenizer gives; a long text is given in pieces of whole lines."""
    tokenizer = open_tokenizer(folder)
    tokens = [
        np.array(tokenizer.encode(piece, add_special_tokens=not number).ids, np.int64)
        for number, piece in enumerate(cut_text(text))
    ]
    return np.concatenate(tokens)


def cut_text(text: str, most: int = LARGEST_PIECE) -> Iterator[str]:
    """Pieces of at most so many letters: whole lines, or words where a line is longer."""
    start = 0
    while len(text) - start > most:
        breaks = (text.rfind(mark, start, start + most) + 1 for mark in _BREAKS)
        end = next((place for place in breaks if place > start), start + most)
        yield text[start:end]
        start = end
    yield text[start:]


def open_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder."""
    tokenizers = require("tokenizers", to="read texts; a .npy file of tokens needs nothing")
    try:
        return tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as problem:
        raise EnvironmentProblem(
            f"the package tokenizers cannot read it: {shown(problem)}", Where(file=str(folder / TOKENIZER))
        ) from None
