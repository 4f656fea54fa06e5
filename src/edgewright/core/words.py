"""Names in messages: lists of them, and suggestions for mistyped ones."""

from collections.abc import Iterable, Sequence

from edgewright.core.errors import shown


def find_closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None where none is close."""
    from difflib import get_close_matches  # only needed once something is wrong

    by_folded = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The advice for a mistyped word: the closest known one, or `otherwise` where none is close."""
    guess = find_closest(word, known)
    return otherwise if guess is None else f"did you mean '{guess}'?"


def quote_names(names: Sequence[str]) -> str:
    """Names of a model in quotes, ten at most."""
    text = ", ".join(f"'{shown(name, 60)}'" for name in names[:10])
    return text if len(names) <= 10 else f"{text} and {len(names) - 10} more"
