"""Fails when importing a tool loads a package that --help does not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["HEAVY", "check", "main"]

HEAVY = ("onnx", "onnxruntime", "torch", "tensorflow", "openvino", "plotly", "rich", "yaml", "jinja2")

# Runs in a fresh interpreter; each tool is charged with what it is the first to load.
_PROBE = """
import importlib, json, sys
heavy, modules = json.loads(sys.argv[1])
for module in modules:
    before = set(sys.modules)
    try:
        importlib.import_module(module)
    except Exception as error:
        print(f"{module} cannot be imported: {type(error).__name__}: {error}")
    loaded = [name for name in heavy if name in sys.modules and name not in before]
    if loaded:
        print(f"{module} loads {', '.join(loaded)}; import it inside run()")
"""


def check(source: Path, package: str = "edgewright") -> list[str]:
    """A sentence for each tool below a source folder that does not start lazily."""
    modules = sorted(
        f"{package}.tools.{'.'.join(path.relative_to(source / package / 'tools').with_suffix('').parts)}"
        for path in (source / package / "tools").rglob("*.py")
        if path.name != "__init__.py"
    )
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    command = [sys.executable, "-c", _PROBE, json.dumps([HEAVY, modules])]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    crash = [f"the probe stopped: {found.stderr.strip()}"] if found.returncode else []
    return found.stdout.splitlines() + crash


def main(arguments: list[str]) -> int:
    problems = check(Path(arguments[0]) if arguments else Path("src"))
    print("\n".join(problems) if problems else "lazy start: no tool loads a heavy package")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
