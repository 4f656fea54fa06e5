"""Runs the fast tests on every Python that is present, or with the lowest versions that are allowed."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
FAST = "not (slow or torch or browser or exhaustive)"
# uv finds the interpreters of the system, and knows lowest versions; it fetches no interpreter.
UV = [sys.executable, "-m", "uv", "--no-python-downloads"]


def main(arguments: list[str]) -> int:
    """Runs what is asked for and says for each environment how it went, also which could not be made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pythons", nargs="+", default=[], metavar="VERSION", help="such as 3.12; absent ones are named"
    )
    parser.add_argument(
        "--lowest", action="store_true", help="the lowest versions of all direct requirements, on Python 3.11"
    )
    parser.add_argument("tests", nargs="*", default=["tests"], help="what to run, behind --")
    options = parser.parse_args(arguments)
    results = {version: run_tests(version, "highest", options.tests) for version in options.pythons}
    if options.lowest:
        results["3.11 with the lowest versions"] = run_tests("3.11", "lowest-direct", options.tests)
    for name, result in results.items():
        print(f"Python {name}: {result}")
    return 1 if "failed" in results.values() else 0


def run_tests(version: str, resolution: str, tests: list[str]) -> str:
    """How the tests went in a new environment: 'passed', 'failed' or 'not present'."""
    if (interpreter := find_interpreter(version)) is None:
        return "not present"
    environment = ROOT / f".venv-{version}-{resolution}"
    python = environment / "bin" / "python"
    bounds = [] if resolution == "lowest-direct" else ["-c", "constraints.txt"]
    install = ["pip", "install", "--quiet", "--python", str(python), "--resolution", resolution, *bounds]
    make = ["venv", "--quiet", "--clear", "--python", interpreter, str(environment)]
    subprocess.run([*UV, *make], cwd=ROOT, check=True)
    subprocess.run([*UV, *install, "-e", ".[test,cluster]"], cwd=ROOT, check=True)
    pytest = [str(python), "-m", "pytest", "-q", "-n", "2", "-m", FAST, "-p", "no:cacheprovider", *tests]
    return "failed" if subprocess.run(pytest, cwd=ROOT, check=False).returncode else "passed"


def find_interpreter(version: str) -> str | None:
    """The interpreter of a version: what uv finds, or one of pyenv's that is not switched on."""
    found = subprocess.run([*UV, "python", "find", version], capture_output=True, text=True, check=False)
    if not found.returncode:
        return found.stdout.strip()
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next((str(path) for path in sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
