"""Writes op_programs.json: how many of the small programs and networks call each op that has a translation.

Run it with torch after a change of op_cases.py or nets.py: python -m tests.unit.frontends.pytorch.record_ops
"""

import json
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from edgewright.core.errors import EdgewrightError
from edgewright.frontends.pytorch import registry, tracer

RECORD = Path(__file__).with_name("op_programs.json")


def main() -> None:
    """Converts every program that the tests compare, and counts."""
    from tests.unit.frontends.pytorch import programs as forms
    from tests.unit.frontends.pytorch.nets import NETS
    from tests.unit.frontends.pytorch.op_cases import CASES, CORE

    programs = [(case.name, forms.wrapped(case.function, len(case.inputs)), case.inputs) for case in CASES]
    programs += [(name, build().eval(), inputs) for name, (build, inputs) in NETS.items()]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, module, inputs in programs:
            used: set[str] = set()
            tracer.find = _noting(used)
            makers = [forms.traced, forms.exported, lambda f, m, *_: forms.scripted(f, m)]
            for make in [*makers, *([forms.decomposed] if name in CORE else [])]:
                try:
                    forms.converted(make(Path(folder), module, *inputs), *inputs)
                except (RuntimeError, OSError, TypeError, AssertionError, ValueError, EdgewrightError):
                    # Not every program can be written in every form.
                    continue
            counts.update(used)
    RECORD.write_text(json.dumps(dict(sorted(counts.items())), indent=0) + "\n")


def _noting(used: set[str]):
    def find(name: str, *, is_complex: bool = False):
        handler = registry.find(name, is_complex=is_complex)
        if handler is not None and not is_complex:
            known = set(registry.translated_ops())
            used.add(name if name in known else name.split(".", maxsplit=1)[0])
        return handler

    return find


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
