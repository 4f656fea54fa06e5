"""Holds what is installed against constraints.txt, and asks pip-audit for known vulnerabilities of it.

Without --audit: every package that the project declares is pinned to one version, and what is installed here
of the pinned ones has that version. With it: pip-audit must find nothing; what no database of vulnerabilities
answers for is said to be not audited.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

__all__ = ["find_problems", "main"]

ROOT = Path(__file__).parents[1]
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")
# Peers and packages for machines of others, which no target of the Makefile installs.
NOT_INSTALLED = frozenset(
    {
        *("aimet-onnx", "ai-edge-litert", "llama-cpp-python", "mlx", "mlx-lm", "tensorflow", "transformers"),
        *("pip-audit", "edgewright"),
    }
)


def spell(name: str) -> str:
    """A name as packages are compared by."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins() -> dict[str, str]:
    """The pinned versions; a line that pins nothing is an error."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.strip()]
    pins = {}
    for line in lines:
        match = _PIN.fullmatch(line)
        if match is None and not line.startswith("#"):
            raise SystemExit(f"constraints.txt: '{line}' pins no version")
        if match is not None:
            pins[spell(match[1])] = match[2]
    return pins


def list_declared() -> set[str]:
    """The packages that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {spell(re.split(r"[^A-Za-z0-9._-]", item, maxsplit=1)[0]) for group in groups for item in group}


def find_problems() -> list[str]:
    """What is declared and not pinned, or installed in another version than the pinned one."""
    pins = read_pins()
    problems = [
        f"{name} is declared and not pinned" for name in sorted(list_declared() - pins.keys() - NOT_INSTALLED)
    ]
    for item in distributions():
        name = spell(item.metadata["Name"] or "")
        # Builds for one kind of processor add a word of their own (2.13.0+cpu).
        if name in pins and item.version.partition("+")[0] != pins[name].partition("+")[0]:
            problems.append(f"{name} is installed as {item.version}, pinned as {pins[name]}")
    return problems


def audit() -> int:
    """What pip-audit finds; what it could not ask about is not called safe."""
    words = [
        "--disable-pip",
        "--no-deps",
        "--progress-spinner",
        "off",
        "-f",
        "json",
        "-r",
        str(ROOT / "constraints.txt"),
    ]
    command = [sys.executable, "-m", "pip_audit", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        sys.stdout.write(f"dependencies: NOT audited, pip-audit did not run: {done.stderr.strip()[-200:]}\n")
        return 0
    skipped = [item["name"] for item in packages if "skip_reason" in item]
    found = [item for item in packages if item.get("vulns")]
    for item in found:
        names = ", ".join(each["id"] for each in item["vulns"])
        sys.stdout.write(f"{item['name']} {item['version']}: {names}\n")
    asked = len(packages) - len(skipped)
    sys.stdout.write(
        f"dependencies: {asked} of {len(packages)} audited, {len(found)} with known vulnerabilities\n"
    )
    if skipped:
        sys.stdout.write(f"dependencies: NOT audited, no database answers for {len(skipped)} of them\n")
    return int(bool(found))


def main() -> int:
    """Prints what is wrong; 1 where something is."""
    if "--audit" in sys.argv:
        return audit()
    problems = find_problems()
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
