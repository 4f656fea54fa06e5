"""How the running tool spells a field of a request, so that errors name options their reader can use.

Code that cannot know which tool runs names a field by its Python keyword: ``spell_option("symbols")``. A tool
spells it by its own flag, ``--define_symbol`` or ``--onnx_define_symbol``; in Python it is ``symbols=...``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

# A value as a user would write it, or such values by name.
Value = str | Sequence[str]

_flags: ContextVar[Mapping[str, str] | None] = ContextVar("flags of the running tool", default=None)


@contextmanager
def spell_options(flags: Mapping[str, str]) -> Iterator[None]:
    """Spells fields by these flags inside the block."""
    before = _flags.set(flags)
    try:
        yield
    finally:
        _flags.reset(before)


def has_option(field: str) -> bool:
    """Whether the running tool has an option for the field; Python has a keyword for each."""
    flags = _flags.get()
    return flags is None or field in flags


def spell_option(field: str, value: Value | Mapping[str, Value] = "") -> str:
    """The option for a field as the user of the running tool writes it, with a value where one is given.

    Args:
        field: its keyword in Python, such as ``symbols``.
        value: what follows it; a mapping for options that are given once for each name.
    """
    flags = _flags.get()
    if flags is None:
        return f"{field}={_spell_in_python(value)}"
    if field not in flags:
        return f"{field}={_spell_in_python(value)} in Python"
    if isinstance(value, Mapping):
        return " ".join(f"{flags[field]} '{name}' {_spell_in_shell(item)}" for name, item in value.items())
    return f"{flags[field]} {_spell_in_shell(value)}".rstrip()


def advise_cut(otherwise: str = "replace the op in the source model") -> str:
    """What helps where an op cannot be converted."""
    return f"cut the graph before it with {spell_option('outputs')}, or {otherwise}"


def _spell_in_python(value: Value | Mapping[str, Value]) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"'{name}': {_spell_in_python(item)}" for name, item in value.items()) + "}"
    return (value or "...") if isinstance(value, str) else f"[{', '.join(value)}]"


def _spell_in_shell(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)
