"""Names that suit file names, C++ identifiers and tar members, and the way back to the source's names."""

import hashlib
import re
from collections.abc import Iterable

# Tar members over 96 bytes are not read by every consumer: 80 and a hash leave room for the suffix.
LONGEST = 80
_UNFIT = re.compile(r"[^A-Za-z0-9_]")


def sanitize_name(name: str, longest: int = LONGEST) -> str:
    """Letters, digits and underscores, no leading digit; beyond the limit a hash replaces the rest."""
    fit = _UNFIT.sub("_", name[: longest + 1])
    if not fit or fit[0].isdigit():
        fit = f"_{fit}"
    if len(fit) > longest:
        fit = f"{fit[:longest]}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return fit


def spell_io_names(inputs: Iterable[str], outputs: Iterable[str]) -> dict[str, str]:
    """The inputs and outputs of a graph, each with its name in everything that is written."""
    names = (*inputs, *outputs)
    table = NameTable(names)
    return {name: table(name) for name in names}


class NameTable:
    """Gives every name one sanitized form; two names never share one.

    With ``is_counted`` tensors are named by a counter instead, except those that must keep their names.
    """

    def __init__(self, keep: Iterable[str] = (), *, is_counted: bool = False, longest: int = LONGEST) -> None:
        self._longest = longest
        self._is_counted = is_counted
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()
        # Inputs and outputs first: they are the names a user sees.
        for name in keep:
            self._given[name] = self._free(sanitize_name(name, longest))

    def __call__(self, name: str) -> str:
        """The sanitized form of a name, the same each time."""
        if name not in self._given:
            self._given[name] = self._free(
                f"tensor_{len(self._given)}" if self._is_counted else sanitize_name(name, self._longest)
            )
        return self._given[name]

    def reserve(self, form: str) -> str:
        """A unique form close to the given one."""
        return self._free(form)

    def source_names(self) -> dict[str, str]:
        """Sanitized form -> name, where they differ."""
        return {form: name for name, form in self._given.items() if form != name}

    def _free(self, form: str) -> str:
        candidate, number = form, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{form}_{number}"
        self._taken.add(candidate)
        return candidate
