"""Questions and contexts of SQuAD as inputs of BERT: pieces of a context, several of them in one row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Example:
    """A question about a context, and answers that are right; none where it has no answer."""

    number: str
    question: str
    context: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Feature:
    """A question and a piece of its context as tokens; offsets are characters, None of the rest."""

    example: Example
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    offsets: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Lengths:
    """How long rows, questions and steps between pieces are."""

    row: int = 384
    question: int = 64
    stride: int = 128


@dataclass(frozen=True)
class Placed:
    """A feature and where it begins in its row."""

    feature: Feature
    start: int


def make_features(example: Example, tokenizer: Any, lengths: Lengths) -> list[Feature]:
    """All pieces of an example: each begins a stride after the one before."""
    encoded = tokenizer.encode(example.question, add_special_tokens=False)
    question = example.question
    if len(encoded.ids) > lengths.question:
        question = question[: encoded.offsets[lengths.question - 1][1]]
    asked = len(tokenizer.encode(question, add_special_tokens=False).ids)
    added = tokenizer.num_special_tokens_to_add(is_pair=True)
    room = lengths.row - asked - added
    if room < 1 or lengths.stride < 1:
        raise UsageError(
            f"rows of {lengths.row} tokens have no room for a context after a question of {asked}",
            do="set max_seq_length higher, or max_query_length lower",
        )
    overlap = max(0, room - lengths.stride)
    tokenizer.enable_truncation(lengths.row, stride=overlap, strategy="only_second")
    try:
        whole = tokenizer.encode(question, example.context)
    finally:
        tokenizer.no_truncation()
    return [_make_feature(example, piece) for piece in (whole, *whole.overflowing)]


def _make_feature(example: Example, piece: Any) -> Feature:
    offsets = tuple(
        place if sequence == 1 else None
        for place, sequence in zip(piece.offsets, piece.sequence_ids, strict=True)
    )
    return Feature(example, tuple(piece.ids), tuple(piece.type_ids), offsets)


def pack_features(features: Sequence[Feature], length: int, most: int) -> Iterator[list[Placed]]:
    """Features together in rows, longest first, each where it fits first: none is cut."""
    rows: list[list[Placed]] = []
    stops: list[int] = []
    for feature in sorted(features, key=lambda each: -len(each.ids)):
        size = len(feature.ids)
        fitting = (n for n, end in enumerate(stops) if end + size <= length and len(rows[n]) < most)
        place = next(fitting, None)
        if place is None:
            place = len(rows)
            rows.append([])
            stops.append(0)
        rows[place].append(Placed(feature, stops[place]))
        stops[place] += size
    yield from rows


def make_arrays(row: Sequence[Placed], length: int, *, is_packed: bool) -> dict[str, Array]:
    """Tokens, the mask (with packing the number of each feature, from 1), segments, and places."""
    arrays = {name: np.zeros((1, length), np.int64) for name in ("ids", "mask", "segments", "places")}
    for number, placed in enumerate(row, 1):
        part = slice(placed.start, placed.start + len(placed.feature.ids))
        arrays["ids"][0, part] = placed.feature.ids
        arrays["mask"][0, part] = number
        arrays["segments"][0, part] = placed.feature.segments
        arrays["places"][0, part] = np.arange(len(placed.feature.ids))
    if not is_packed:
        del arrays["places"]
    return arrays


def change_mask(mask: Array, kind: str | None, length: int | None, *, is_packed: bool) -> Array:
    """The mask as the model takes it: numbers, truth values, or how many tokens each feature has."""
    if kind == "compressed":
        sizes = [int((mask == number).sum()) for number in range(1, int(mask.max(initial=0)) + 1)]
        row = np.zeros((1, length or len(sizes)), mask.dtype)
        row[0, : len(sizes)] = sizes[: row.shape[1]]
        return row
    if kind is None:
        return mask
    if not is_packed:
        return mask.astype(bool)
    # Tokens see those of their own feature only.
    return np.asarray((mask[:, :, None] == mask[:, None, :]) & (mask[:, :, None] > 0))


def find_answer(
    pieces: Sequence[tuple[Feature, Array, Array]], most: int, longest: int
) -> tuple[str, float, list[dict[str, Any]]]:
    """The best answer in all pieces of a context, how much better none at all is, and the next best ones."""
    spans: list[tuple[float, str]] = []
    nothing = np.inf
    for feature, starts, stops in pieces:
        nothing = min(nothing, float(starts[0] + stops[0]))
        spans += _list_spans(feature, starts, stops, most, longest)
    spans.sort(key=lambda span: -span[0])
    best: dict[str, float] = {}
    for score, text in spans:
        best.setdefault(text, score)
    ranked = [{"text": text, "score": score} for text, score in list(best.items())[:most]]
    if not ranked:
        return "", np.inf, []
    return str(ranked[0]["text"]), nothing - float(spans[0][0]), ranked


def _list_spans(
    feature: Feature, starts: Array, stops: Array, most: int, longest: int
) -> list[tuple[float, str]]:
    """Pairs of likely starts and ends inside the context."""
    spans = []
    for start in np.argsort(-starts, kind="stable")[:most].tolist():
        for end in np.argsort(-stops, kind="stable")[:most].tolist():
            if not start <= end < start + longest or end >= len(feature.offsets):
                continue
            first, last = feature.offsets[start], feature.offsets[end]
            if first is not None and last is not None:
                text = feature.example.context[first[0] : last[1]]
                spans.append((float(starts[start] + stops[end]), text))
    return spans
