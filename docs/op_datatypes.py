"""The page of what each op does in each datatype, from what `tests/backend/op_types.py` recorded."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from edgewright.backends.cpu.registry import LOWERINGS
from edgewright.ir.op import REGISTRY
from tests.backend.op_types import COLUMNS, RECORD

Rows = Sequence[Sequence[str | int]]
TITLES = {"cpu": "CPU backend", "htp-sim": "HTP simulation", "htp-native": "HTP emulator"}
ABOUT = """# Every op in every datatype

What comes of each op on each backend, for each set of datatypes that QNN lists for it on CPU and HTP. Sets
are shown by the datatype of the first input, with their number where there are several.

- **equal**: it computes. On the CPU backend the result is that of a definition written apart from the
  implementation: ONNX Runtime's kernels against numpy where the engine has the op, else
  `tests/unit/ops/definitions.py` (column *held against*). On the simulation it is the op's meaning; on the
  emulator it is the simulation's result, or the op's meaning where the simulation refuses: what is equal on
  both has the op's meaning on both, and where only the simulation differs, both do what the library does. On
  the CPU backend fixed point may be one step apart, whole numbers must be the same, and real numbers may
  differ by 0.001 % of the largest one (0.2 % in half precision). On HTP integers of 8 bits may be one step
  apart, everything else 0.8 % of the largest number. Where a set names a bias, the sample has one.
  `tests/backend/test_op_cells.py` holds every set of 27 ops against definitions in plain Python once more.
- **differs**: it computes something else; the note says by how much, and a list below the notes why.
- **refused**: the note says why.

`If` is the 158th op of QNN's catalogue. No backend of QNN runs it, and none of ours: converters choose a
branch that is known, and compute both and select where it is not.
"""


# Why a backend is not equal, as far as its results for the samples show.
REASONS: dict[str, str] = json.loads((RECORD.parent / "op_reasons.json").read_text())


def datatypes_page() -> str:
    """A row for each op, then the notes."""
    recorded: dict[str, dict[str, dict[str, Rows]]] = json.loads(RECORD.read_text())
    notes: dict[str, int] = {}
    lines = [
        ABOUT,
        *_count_words(recorded),
        f"| op | {' | '.join(TITLES.values())} | held against |",
        "|---|---|---|---|---|",
    ]
    for name, own in recorded.items():
        cells = [_describe(own.get(backend, {}), notes) for backend in COLUMNS]
        judge = "ONNX Runtime" if REGISTRY[name] in LOWERINGS else "a definition of its own"
        lines.append(f"| {name} | {' | '.join(cells)} | {judge} |")
    lines += ["", "Notes:\n", *(f"{number}. {text}" for text, number in notes.items())]
    lines += ["\nWhy some differ:\n", *(f"- `{name}`: {text}" for name, text in REASONS.items())]
    return "\n".join(lines) + "\n"


def list_differing(recorded: Mapping[str, Mapping[str, Mapping[str, Rows]]]) -> set[str]:
    """The ops that differ on some backend in some set."""
    return {
        name
        for name, own in recorded.items()
        for rows in own.values()
        for found in rows.values()
        if any(row[0] == "differs" for row in found)
    }


def _count_words(recorded: Mapping[str, Mapping[str, Mapping[str, Rows]]]) -> list[str]:
    lines = ["| backend | sets | equal | differs | refused |", "|---|---|---|---|---|"]
    for backend, title in TITLES.items():
        words: Counter[str] = Counter()
        for own in recorded.values():
            for rows in own.get(backend, {}).values():
                for word, _, number in rows:
                    words[str(word)] += int(number)
        counts = " | ".join(str(words[word]) for word in ("equal", "differs", "refused"))
        lines.append(f"| {title} | {words.total()} | {counts} |")
    return [*lines, ""]


def _describe(own: Mapping[str, Rows], notes: dict[str, int]) -> str:
    """Such as "FLOAT_32 equal 4, refused 1 [2]"."""
    parts = []
    for dtype, rows in own.items():
        is_one = sum(int(row[2]) for row in rows) == 1
        words = []
        for word, note, number in rows:
            mark = f" [{notes.setdefault(str(note), len(notes) + 1)}]" if note else ""
            words.append(f"{word}{'' if is_one else f' {number}'}{mark}")
        parts.append(f"{dtype} {', '.join(words)}")
    return "<br>".join(parts) or "not in QNN's list"
