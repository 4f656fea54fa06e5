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
    import torch

    from tests.unit.frontends.pytorch import programs as forms
    from tests.unit.frontends.pytorch.direct_cases import DIRECT
    from tests.unit.frontends.pytorch.nets import NETS
    from tests.unit.frontends.pytorch.op_cases import CASES, CORE
    from tests.unit.frontends.pytorch.test_quantized import (
        CONVOLUTIONS,
        FUNCTIONS,
        ROWS,
        Rounded,
        stored_layer,
    )

    programs = [(case.name, forms.wrapped(case.function, len(case.inputs)), case.inputs) for case in CASES]
    programs += [(name, build().eval(), inputs) for name, (build, inputs) in NETS.items()]
    only_traced = [(case.name, forms.wrapped(case.function, 1), case.inputs) for case in DIRECT]
    only_traced += [
        (name, Rounded(function), (torch.randn(ROWS),)) for name, (function, _) in FUNCTIONS.items()
    ]
    for name in CONVOLUTIONS:
        layer, x = stored_layer(name)
        only_traced.append((name, Rounded(layer), (x,)))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, module, inputs in [*programs, *only_traced]:
            used: set[str] = set()
            tracer.find, tracer.find_whole = _noting(used), _noting_whole(used)
            more = [forms.exported, lambda f, m, *_: forms.scripted(f, m)]
            makers = [] if any(module is item[1] for item in only_traced) else more
            for make in [forms.traced, *makers, *([forms.decomposed] if name in CORE else [])]:
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


def _noting_whole(used: set[str]):
    def find(name: str):
        handler = registry.find_whole(name)
        if handler is not None:
            used.add(name)
        return handler

    return find


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
