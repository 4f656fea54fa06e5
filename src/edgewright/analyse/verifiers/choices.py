"""Verifiers as command lines and configuration files name them, with their hyper-parameters."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from edgewright.analyse.verifiers import VERIFIERS
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.words import did_you_mean

log = logging.getLogger(__name__)

LARGEST_CONFIG = 1 << 24


@dataclass(frozen=True)
class VerifierChoice:
    """A verifier for some tensors, each entry of which it reads together; for all tensors where None."""

    verifier: Verifier
    tensors: tuple[tuple[str, ...], ...] | None = None


def read_verifier(words: Sequence[str]) -> Verifier:
    """The verifier that words name: 'rtolatol,rtolmargin,0.01', or CosineSimilarity param1 1 param2 2."""
    parts = [part.strip() for word in words for part in word.split(",") if part.strip()]
    if not parts:
        raise UsageError("a verifier has no name", do=f"name one of: {_list_names()}")
    kind = find_verifier(parts[0])
    if len(parts) % 2 == 0:
        raise UsageError(
            f"verifier '{shown(' '.join(parts))}' has a hyper-parameter without a value",
            do="write NAME,PARAMETER,VALUE,PARAMETER,VALUE with a point in numbers, as in "
            "rtolatol,rtolmargin,0.01,atolmargin,0.01",
        )
    return make_verifier(kind, dict(zip(parts[1::2], parts[2::2], strict=True)))


def read_verifiers(entries: Sequence[Sequence[str]]) -> list[VerifierChoice]:
    """A choice for every time the option was given, each verifier once."""
    chosen = [read_verifier(words) for words in entries]
    return [VerifierChoice(verifier) for verifier in dict.fromkeys(chosen)]


def read_verifier_config(file: str | Path) -> list[VerifierChoice]:
    """The verifiers of a configuration file: {NAME: {"parameters": {...}, "tensors": [[...], ...]}}."""
    where = Where(file=str(file))
    try:
        content = parse_json(read_limited(file, LARGEST_CONFIG))
    except ValueError as problem:
        raise BadInput(f"the verifier configuration is no JSON: {shown(problem)}", where) from None
    if not isinstance(content, dict):
        raise BadInput("the verifier configuration is no object, expected one keyed by verifiers", where)
    return [_read_entry(name, entry, where) for name, entry in content.items()]


def find_verifier(name: str) -> type[Verifier]:
    """The class of a name, in any case."""
    known = {kind.name.lower(): kind for kind in VERIFIERS}
    kind = known.get(name.lower())
    if kind is None:
        raise UsageError(
            f"verifier '{shown(name)}' is unknown, expected one of: {_list_names()}",
            do=did_you_mean(name, [kind.name for kind in VERIFIERS], "name one of those"),
        )
    return kind


def make_verifier(kind: type[Verifier], parameters: Mapping[str, Any]) -> Verifier:
    """A verifier with hyper-parameters; param1, param2 ... are those of the class in their order."""
    known = {field.name: field for field in fields(kind)}
    values: dict[str, Any] = {}
    for word, value in parameters.items():
        name = _find_parameter(kind, word, list(known))
        if name is not None:
            values[name] = _read_value(kind, name, value, known[name].default)
    return kind(**values)


def _find_parameter(kind: type[Verifier], word: str, known: Sequence[str]) -> str | None:
    plain = {name.replace("_", ""): name for name in known}
    name = plain.get(word.lower().replace("_", "").replace(" ", ""))
    if name is not None:
        return name
    number = word.lower().removeprefix("param")
    if number != word.lower() and number.isdigit() and int(number) > 0:
        if int(number) <= len(known):
            return known[int(number) - 1]
        log.warning("'%s' has no effect: verifier %s has %d hyper-parameters", word, kind.name, len(known))
        return None
    raise UsageError(
        f"verifier '{kind.name}' has no hyper-parameter '{shown(word)}'",
        do=f"it has: {', '.join(known)}" if known else "leave it out: it has none",
    )


def _read_value(kind: type[Verifier], name: str, value: Any, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
        number = type(default)(value)
    except (ValueError, TypeError, KeyError):
        number = None
    is_divisor = name in {"k", "scale"}
    if number is None or not (number > 0 if is_divisor else number >= 0):
        expected = "a number above 0" if is_divisor else "a number that is not negative"
        if isinstance(default, bool):
            expected = "true or false"
        raise UsageError(
            f"'{name}' of verifier '{kind.name}' is '{shown(value)}', expected {expected}",
            do=f"its default is {default}",
        )
    return number


def _read_entry(name: str, entry: Any, where: Where) -> VerifierChoice:
    kind = find_verifier(name)
    if not isinstance(entry, dict):
        raise BadInput(f"'{shown(name)}' is no object, expected 'parameters' and 'tensors'", where)
    parameters, tensors = entry.get("parameters") or {}, entry.get("tensors") or []
    is_fit = isinstance(parameters, dict) and isinstance(tensors, list)
    if not is_fit or not all(isinstance(item, list) and item for item in tensors):
        raise BadInput(
            f"'{shown(name)}' is not as expected: 'parameters' is an object, 'tensors' a list of lists",
            where,
            do='write {"TopK": {"parameters": {"k": 5}, "tensors": [["logits"]]}}',
        )
    wrong = [item for item in tensors if len(item) > kind.arity]
    if wrong:
        raise BadInput(
            f"'{shown(name)}' reads {kind.arity} tensor{'s' * (kind.arity > 1)} at a time, "
            f"an entry names {len(wrong[0])}",
            where,
        )
    listed = tuple(tuple(map(str, item)) for item in tensors)
    return VerifierChoice(make_verifier(kind, parameters), listed or None)


def _list_names() -> str:
    return ", ".join(kind.name for kind in VERIFIERS)
