"""Names of results that a module returns in dictionaries, from the tree that an exported program keeps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgewright.core.errors import shown
from edgewright.core.json_text import parse_json

_DICTIONARIES = ("builtins.dict", "collections.OrderedDict")
# What a tree of that many levels is made of is not looked at.
_DEEPEST = 20


def read_result_keys(module: Mapping[str, Any]) -> list[str]:
    """The keys that lead to each result, joined; empty where it stands in no dictionary or keys repeat."""
    calls = module.get("module_call_graph") or []
    signatures = [call.get("signature") for call in calls if call.get("fqn") == ""]
    text = (signatures[0] or {}).get("out_spec") if signatures else None
    if not text:
        return []
    _, tree = parse_json(text)
    keys = ["_".join(path) for path in _iterate_leaves(tree, ())]
    return [key if keys.count(key) == 1 else "" for key in keys]


def name_results(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Each result's key, or its own name where it has none or the trees do not fit."""
    if len(names) != len(keys):
        return list(names)
    return [key if key and shown(key) == key else name for name, key in zip(names, keys, strict=True)]


def _iterate_leaves(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys above each leaf, in order; places in lists have none."""
    kind, children = tree["type"], tree["children_spec"]
    if kind is None or len(path) > _DEEPEST:
        yield path
        return
    keys = parse_json(tree["context"]) if kind in _DICTIONARIES else []
    for place, child in enumerate(children):
        key = keys[place] if place < len(keys) else None
        yield from _iterate_leaves(child, (*path, key) if isinstance(key, str) else path)
