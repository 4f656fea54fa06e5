"""The tokenizer of a GGUF file as the files of a Hugging Face folder."""

from collections.abc import Mapping
from typing import Any

from edgewright.core.errors import BadInput, Where, shown
from edgewright.llm.load.gguf_file import GgufContent
from edgewright.llm.load.vocabulary import CONTROL, NORMAL, OWN, UNKNOWN, UNUSED

PREFIX = "tokenizer.ggml."
_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + _REST
# What cuts texts into words, by the names that llama.cpp has for it.
PATTERNS = {
    "llama-bpe": _CL100K,
    "dbrx": _CL100K,
    "qwen2": _CL100K.replace("{1,3}", ""),
    "gpt-4o": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDINGS}?|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDINGS}?|\p{{N}}{{1,3}}|"
    + _REST.replace("[\\r\\n]*", "[\\r\\n/]*", 1),
}
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
SPACE = "▁"
# Letters of a word that is taken apart.
LONGEST_WORD = 64


def restore_tokenizer(content: GgufContent) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """tokenizer.json and tokenizer_config.json, and what the file does not say of them."""
    values = content.values
    tokens, types = _read_tokens(content)
    kind, cutting = values.get(f"{PREFIX}model"), values.get(f"{PREFIX}pre", "default")
    settings = _describe_settings(values, tokens)
    if kind == "llama":
        model, steps = _describe_pieces(content, tokens, types)
    elif kind == "gpt2" and cutting in PATTERNS:
        model, steps = _describe_pairs(content, tokens, types, cutting)
    else:
        return {}, settings, [f"the tokenizer: '{shown(kind)}' cut as '{shown(cutting)}' is not known here"]
    added = [
        {"id": number, "content": tokens[number], "special": kind != OWN, **FLAGS}
        for number, kind in enumerate(types)
        if kind in {CONTROL, OWN, UNKNOWN}
    ]
    after = _describe_start(values, tokens)
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added}
    return {**whole, **steps, "post_processor": after, "model": model}, settings, []


def _read_tokens(content: GgufContent) -> tuple[list[str], list[int]]:
    tokens = content.values.get(f"{PREFIX}tokens", [])
    types = content.values.get(f"{PREFIX}token_type", [NORMAL] * len(tokens))
    is_good = isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
    if not is_good or not isinstance(types, list) or len(types) != len(tokens):
        raise BadInput(
            "the vocabulary has no list of tokens, or not one type for each", Where(file=str(content.path))
        )
    return tokens, types


def _describe_settings(values: Mapping[str, Any], tokens: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {"add_bos_token": bool(values.get(f"{PREFIX}add_bos_token", False))}
    for role, name in {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}.items():
        number = values.get(f"{PREFIX}{name}_token_id")
        if type(number) is int and 0 <= number < len(tokens):
            settings[f"{role}_token"] = tokens[number]
    template = values.get("tokenizer.chat_template")
    return {**settings, "chat_template": template} if isinstance(template, str) else settings


def _describe_pieces(
    content: GgufContent, tokens: list[str], types: list[int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """SentencePiece: the pair whose whole has the best score is joined first."""
    scores = content.values.get(f"{PREFIX}scores", [])
    if (
        not isinstance(scores, list)
        or len(scores) != len(tokens)
        or not all(isinstance(s, float) for s in scores)
    ):
        raise BadInput("the vocabulary has not one score for each token", Where(file=str(content.path)))
    vocabulary = _number_tokens(tokens, types)
    merges = _rank_merges({token: n for token, n in vocabulary.items() if types[n] == NORMAL}, scores)
    steps: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]
    undo = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if content.values.get(f"{PREFIX}add_space_prefix", True):
        steps.insert(0, {"type": "Prepend", "prepend": SPACE})
        undo.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    model = {"type": "BPE", "byte_fallback": True, "fuse_unk": True, "vocab": vocabulary, "merges": merges}
    unknown = [token for token, number in vocabulary.items() if types[number] == UNKNOWN]
    normalizer = {"type": "Sequence", "normalizers": steps}
    decoder = {"type": "Sequence", "decoders": undo}
    return {**model, "unk_token": unknown[0] if unknown else None}, {
        "normalizer": normalizer,
        "pre_tokenizer": None,
        "decoder": decoder,
    }


def _rank_merges(words: Mapping[str, int], scores: list[float]) -> list[list[str]]:
    """All pairs of words that make up a word, the best first."""
    ranked = []
    for word, number in words.items():
        for cut in range(1, min(len(word), LONGEST_WORD)):
            first, second = words.get(word[:cut]), words.get(word[cut:])
            if first is not None and second is not None:
                ranked.append((-scores[number], first, second, [word[:cut], word[cut:]]))
    return [pair for *_, pair in sorted(ranked)]


def _describe_pairs(
    content: GgufContent, tokens: list[str], types: list[int], cutting: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pairs of bytes, joined in the order of the merges."""
    merges = content.values.get(f"{PREFIX}merges", [])
    if not isinstance(merges, list) or not all(isinstance(m, str) and m.count(" ") == 1 for m in merges):
        raise BadInput(
            "the vocabulary has no list of merges, each of two parts", Where(file=str(content.path))
        )
    model = {
        "type": "BPE",
        "byte_fallback": False,
        "ignore_merges": cutting == "llama-bpe",
        "vocab": _number_tokens(tokens, types),
        "merges": [merge.split(" ") for merge in merges],
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": PATTERNS[cutting]},
        "behavior": "Isolated",
        "invert": False,
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return model, {
        "normalizer": {"type": "NFC"} if cutting == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "decoder": {**level, "use_regex": True},
    }


def _number_tokens(tokens: list[str], types: list[int]) -> dict[str, int]:
    """Numbers that nobody uses are left out."""
    pairs = enumerate(zip(tokens, types, strict=True))
    return {token: number for number, (token, kind) in pairs if kind != UNUSED}


def _describe_start(values: Mapping[str, Any], tokens: list[str]) -> dict[str, Any] | None:
    """The token that begins every text."""
    number = values.get(f"{PREFIX}bos_token_id")
    if (
        not values.get(f"{PREFIX}add_bos_token", False)
        or type(number) is not int
        or not 0 <= number < len(tokens)
    ):
        return None
    mark, first = (
        {"SpecialToken": {"id": tokens[number], "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    )
    pair = [mark, first, {"Sequence": {"id": "B", "type_id": 1}}]
    special = {tokens[number]: {"id": tokens[number], "ids": [number], "tokens": [tokens[number]]}}
    return {"type": "TemplateProcessing", "single": [mark, first], "pair": pair, "special_tokens": special}
