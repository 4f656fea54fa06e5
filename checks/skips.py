"""Lists what the test runs skipped, a line per reason; fails at a reason that is not known, or at too many.

Reads pytest's JUnit files in the order of the runs. What one run skips and a later one runs is not skipped.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from defusedxml import ElementTree

__all__ = ["KNOWN", "LIMIT", "list_skips", "main"]

# Reasons a machine may have to skip a test. What could be installed by 'make' is not among them.
KNOWN = (
    "file systems cannot be mounted here",
    r"root may write everywhere",
    r"the genuine library is here",
    r"the wheel onnxruntime-qnn",
    r"no Chromium was found",
    r"no GPU and no Vulkan driver in software was found",
    r"(sshd|adb) is not installed",
    r"none of aarch64-linux-gnu-g\+\+ is installed",
    r"aarch64-linux-gnu-g\+\+ and qemu-aarch64 are not both installed",
    r"aimet-onnx is not installed",
    r"tensorflow is not installed",
    r"\S+==\S+ (cannot be fetched here|was not fetched within)",
    r"node is not installed",
    r"gcc has no sanitizers",
    r"could not import '(keras|transformers|sacrebleu|scipy\S*|sentencepiece|tokenizers)'",
    r"the libraries refuse it",
    r"a runtime of language models is not installed",
)
LIMIT = 10


@dataclass(frozen=True)
class Run:
    """One run of pytest: the names of the tests that ran, and the reason of each skip by name."""

    names: frozenset[str]
    skips: dict[str, str]


def list_skips(runs: list[Run]) -> Counter[str]:
    """How many tests each reason keeps from running in every one of the runs."""
    reasons: Counter[str] = Counter()
    later: set[str] = set()
    for run in reversed(runs):
        reasons.update(reason for name, reason in run.skips.items() if name not in later)
        # A module that is skipped as a whole goes by its own name.
        later |= run.names | run.skips.keys() | {name.rpartition("::")[0] for name in run.names}
    return reasons


def read_run(path: Path) -> Run:
    """A JUnit file as pytest writes it."""
    names, skips = set(), {}
    for case in ElementTree.parse(path).iter("testcase"):
        name = "::".join(word for word in (case.get("classname"), case.get("name")) if word)
        skip = case.find("skipped")
        if skip is None:
            names.add(name)
        else:
            skips[name] = _reason(skip.get("message", ""), skip.text or "")
    return Run(frozenset(names), skips)


def _reason(message: str, text: str) -> str:
    # A skipped module has its reason in the text only: ('file', line, "Skipped: reason").
    in_text = re.search(r"Skipped: (.*)['\"]\)$", text)
    return in_text[1] if message == "collection skipped" and in_text else message


def main(arguments: list[str]) -> int:
    reasons = list_skips([read_run(Path(path)) for path in arguments])
    unknown = [reason for reason in reasons if not any(re.match(known, reason) for known in KNOWN)]
    for reason, count in reasons.most_common():
        print(f"{'error: not a known reason: ' if reason in unknown else ''}{count} skipped: {reason}")
    if len(reasons) > LIMIT:
        print(f"error: {len(reasons)} reasons, the limit is {LIMIT}")
    print(f"skips: {reasons.total()} tests for {len(reasons)} reasons")
    return 1 if unknown or len(reasons) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
