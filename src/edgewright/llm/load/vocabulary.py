"""The vocabulary of a checkpoint: tokenizer.json and tokenizer_config.json as plain lists."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import read_limited

TOKENIZER, SETTINGS, TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
LARGEST = 1 << 28
NORMAL, UNKNOWN, CONTROL, OWN, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
# Pieces of the pattern that cuts a text into words, whether whole words are taken before merges, and what
# llama.cpp calls that way of cutting. All must fit: a near miss gives other tokens without a word.
CUTTINGS: tuple[tuple[tuple[str, ...], bool, str], ...] = (
    ((r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*", r"|\p{N}{1,3}|"), False, "gpt-4o"),
    ((r"\p{L}+|\p{N}{1,3}|",), True, "llama-bpe"),
    ((r"\p{L}+|\p{N}{1,3}|",), False, "dbrx"),
    ((r"\p{L}+|\p{N}|",), False, "qwen2"),
)


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in order, and how texts become them."""

    # 'llama': SentencePiece with single bytes as a way out; 'gpt2': pairs of bytes.
    kind: str
    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    merges: tuple[str, ...]
    # How llama.cpp cuts texts into words before it merges; empty for SentencePiece.
    cutting: str
    special: dict[str, int]
    adds_bos: bool
    adds_space: bool
    # Whether blanks behind special tokens are lost, as in Phi 3.
    strips_blanks: bool
    template: str


def read_vocabulary(folder: Path, size: int) -> Vocabulary:
    """The vocabulary of a folder, filled up to the rows of the embedding."""
    tokenizer, settings = (
        read_json_object(folder / TOKENIZER),
        read_json_object(folder / SETTINGS, needed=False),
    )
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict) or not isinstance(model, dict) or model.get("type") != "BPE":
        raise UnsupportedFeature(
            "the tokenizer is not of the kind BPE, which all models of the family have",
            Where(file=str(folder / TOKENIZER)),
        )
    merges = [_join_merge(pair) for pair in _read_list(folder, model, "merges")]
    is_bytes = bool(model.get("byte_fallback"))
    tokens, types = _list_tokens(folder, tokenizer, vocabulary, size)
    ids = {token: number for number, token in enumerate(tokens)}
    return Vocabulary(
        kind="llama" if is_bytes else "gpt2",
        tokens=tuple(tokens),
        scores=_list_scores(tokens, types, merges),
        types=tuple(types),
        merges=tuple(merges),
        cutting="" if is_bytes else _find_cutting(folder, tokenizer),
        special=_find_special(settings, ids),
        adds_bos=_has_bos(tokenizer, settings),
        adds_space="Prepend" in json.dumps(tokenizer.get("normalizer")),
        strips_blanks=any(
            item.get("special") and item.get("rstrip")
            for item in _read_list(folder, tokenizer, "added_tokens")
            if isinstance(item, dict)
        ),
        template=find_template(folder),
    )


def read_json_object(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint; empty where the file is not needed and not there."""
    if not path.is_file() and not needed:
        return {}
    try:
        content = json.loads(read_limited(path, LARGEST))
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the file is no JSON: {shown(problem)}", Where(file=str(path))) from None
    if not isinstance(content, dict):
        raise BadInput(
            f"the file holds a {type(content).__name__}, expected an object", Where(file=str(path))
        )
    return content


def _read_list(folder: Path, fields: dict[str, Any], name: str) -> list[Any]:
    """A list; empty where it is absent."""
    value = fields.get(name)
    if value is not None and not isinstance(value, list):
        raise BadInput(
            f"'{name}' is a {type(value).__name__}, expected a list", Where(file=str(folder / TOKENIZER))
        )
    return value or []


def _join_merge(pair: Any) -> str:
    return " ".join(map(str, pair)) if isinstance(pair, list) else str(pair)


def _list_tokens(
    folder: Path, tokenizer: dict[str, Any], vocabulary: dict[str, Any], size: int
) -> tuple[list[str], list[int]]:
    """By number; numbers that nobody uses get a name of their own."""
    tokens = [f"[PAD{number}]" for number in range(size)]
    types = [UNUSED] * size
    added = [item for item in _read_list(folder, tokenizer, "added_tokens") if isinstance(item, dict)]
    entries: list[tuple[Any, Any, int]] = [
        (text, number, _find_type(text)) for text, number in vocabulary.items()
    ]
    entries += [
        (item.get("content"), item.get("id"), CONTROL if item.get("special") else OWN) for item in added
    ]
    for text, number, kind in entries:
        if type(number) is not int or not 0 <= number < size or not isinstance(text, str):
            raise BadInput(
                f"token '{shown(text)}' has the number {shown(number)}, the embedding has {size} rows",
                Where(file=str(folder / TOKENIZER)),
                do="take both from the same model",
            )
        tokens[number], types[number] = text, UNKNOWN if text == "<unk>" else kind
    return tokens, types


def _find_type(text: str) -> int:
    is_byte = len(text) == 6 and text.startswith("<0x") and text.endswith(">")
    return BYTE if is_byte else NORMAL


def _list_scores(tokens: list[str], types: list[int], merges: list[str]) -> tuple[float, ...]:
    """SentencePiece joins the pair of the best score first: that is the order of the merges."""
    ranks = {merge.replace(" ", ""): -float(rank) for rank, merge in reversed(list(enumerate(merges)))}
    return tuple(
        ranks.get(token, -float(len(merges) + number)) if kind == NORMAL else 0.0
        for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
    )


def _find_cutting(folder: Path, tokenizer: dict[str, Any]) -> str:
    alone = tokenizer.get("pre_tokenizer")
    # The pattern of GPT-2 has no spelling: it is the one that bytes bring along.
    if isinstance(alone, dict) and alone.get("type") == "ByteLevel" and alone.get("use_regex", True):
        return "gpt-2"
    pattern = json.dumps(tokenizer.get("pre_tokenizer")).replace("\\\\", "\\")
    takes_words = bool(tokenizer["model"].get("ignore_merges"))
    for pieces, is_first, name in CUTTINGS:
        if takes_words == is_first and all(piece in pattern for piece in pieces):
            return name
    raise UnsupportedFeature(
        "the pattern that cuts texts into words is not one that llama.cpp is known to have",
        Where(file=str(folder / TOKENIZER)),
        do="write another format: they take the tokenizer's own files",
    )


def _find_special(settings: dict[str, Any], ids: dict[str, int]) -> dict[str, int]:
    special = {}
    for role in ("bos", "eos", "unk", "pad"):
        value = settings.get(f"{role}_token")
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and text in ids:
            special[role] = ids[text]
    return special


def _has_bos(tokenizer: dict[str, Any], settings: dict[str, Any]) -> bool:
    if isinstance(settings.get("add_bos_token"), bool):
        return bool(settings["add_bos_token"])
    after = tokenizer.get("post_processor")
    steps = after.get("single") if isinstance(after, dict) else None
    return (
        isinstance(steps, list) and bool(steps) and isinstance(steps[0], dict) and "SpecialToken" in steps[0]
    )


def find_template(folder: Path) -> str:
    """How a chat is spelled; empty where the folder does not say."""
    if (folder / TEMPLATE).is_file():
        return read_limited(folder / TEMPLATE, LARGEST).decode("utf-8", errors="replace")
    template = read_json_object(folder / SETTINGS, needed=False).get("chat_template")
    return template if isinstance(template, str) else ""
