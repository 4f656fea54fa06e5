"""The release checklist: builds sdist and wheel, looks inside, installs each in a clean place, tries it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["find_problems_of_sdist", "find_problems_of_wheel", "main"]

ROOT = Path(__file__).resolve().parents[1]
WHEEL_NEEDS = (
    "py.typed",
    "__init__.pyi",
    "_data/ops.json",
    "abi/csrc/QnnTypes.h",
    "reports/html/report.html.jinja",
)
SDIST_NEEDS = (
    "tests/test_docs.py",
    "docs/guide/build.md",
    "examples/demo.py",
    "checks/layers.py",
    "constraints.txt",
)
FEW_BYTES = 100
MODEL = "examples/models/mnist_cntk.onnx"
# A few of the README's commands, in an environment that has the wheel and nothing for development.
TRIALS = (
    ["edgewright", "--version"],
    ["edgewright", "doctor"],
    ["edgewright", "build", MODEL, "--data", "examples/data/digits.npz", "--target", "SM8650", "-o"],
    ["qnn-onnx-converter", "-i", MODEL, "-o"],
)


def main(arguments: list[str]) -> int:
    """Goes through the list; ends with the first step that fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", default="3.11", metavar="VERSION", help="the interpreter of the clean environments"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return _check(Path(folder), options.python)


def _check(folder: Path, version: str) -> int:
    _step(
        "build sdist and wheel",
        lambda: _run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]),
    )
    wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    _step(
        "metadata", lambda: _run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    )
    _step("contents of the wheel", lambda: _refuse(find_problems_of_wheel(wheel)))
    _step("contents of the sdist", lambda: _refuse(find_problems_of_sdist(sdist)))
    _step("the wheel alone", lambda: _try_wheel(folder, wheel, version))
    _step(
        "README's commands and the tests' own documents, from the sdist",
        lambda: _try_sdist(folder, wheel, sdist, version),
    )
    print(f"{wheel.name} and {sdist.name} are fit to be published")
    return 0


def find_problems_of_wheel(wheel: Path) -> Iterator[str]:
    """What a wheel holds twice, what it lacks, and what does not belong there."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        twins = _find_twins(archive)
    yield from (f"'{name}' is there {count} times" for name, count in Counter(names).items() if count > 1)
    yield from (f"{' and '.join(map(repr, group))} are one file" for group in twins)
    yield from (f"'{name}' is missing" for name in WHEEL_NEEDS if f"edgewright/{name}" not in names)
    strangers = {name.split("/")[0] for name in names} - {"edgewright"}
    yield from (f"'{name}' does not belong there" for name in strangers if not name.startswith("edgewright-"))


def _find_twins(archive: zipfile.ZipFile) -> list[list[str]]:
    """Names of files of the same content; a few words may well be the same in two."""
    groups: dict[tuple[int, int], set[str]] = {}
    for entry in archive.infolist():
        if entry.file_size > FEW_BYTES:
            groups.setdefault((entry.file_size, entry.CRC), set()).add(entry.filename)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def find_problems_of_sdist(sdist: Path) -> Iterator[str]:
    """What the tests need and an sdist lacks, and what was left in it by accident."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    yield from (f"'{name}' is missing" for name in SDIST_NEEDS if name not in names)
    yield from (
        f"'{name}' does not belong there"
        for name in names
        if "__pycache__" in name or name.startswith(".venv")
    )


def _try_wheel(folder: Path, wheel: Path, version: str) -> None:
    bin_folder = _make_environment(folder / "wheel", f"{wheel}", version)
    for number, command in enumerate(TRIALS):
        target = [str(folder / f"trial{number}" / "model.cpp")] if command[-1] == "-o" else []
        _run([str(bin_folder / command[0]), *command[1:], *target])


def _try_sdist(folder: Path, wheel: Path, sdist: Path, version: str) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    (source / "src").rename(source / "not-src")  # the installed wheel is what is tried
    bin_folder = _make_environment(folder / "sdist", f"{wheel}[test]", version)
    fast = ["-m", "not (slow or torch or browser)", "-n", "2", "-q", "-p", "no:cacheprovider"]
    _run(
        [str(bin_folder / "python"), "-m", "pytest", *fast, "tests/test_docs.py", "tests/unit/ops"],
        cwd=source,
    )


def _make_environment(place: Path, requirement: str, version: str) -> Path:
    uv = [sys.executable, "-m", "uv", "--no-python-downloads"]
    _run([*uv, "venv", "--quiet", "--python", version, str(place)])
    _run([*uv, "pip", "install", "--quiet", "--python", str(place / "bin" / "python"), requirement])
    return place / "bin"


def _refuse(problems: Iterator[str]) -> None:
    if found := list(problems):
        raise SystemExit("\n".join(found))


def _step(name: str, do: Callable[[], object]) -> None:
    print(f"- {name}", flush=True)
    do()


def _run(command: list[str], cwd: Path = ROOT) -> None:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if result.returncode:
        said = result.stdout[-4000:] + result.stderr[-4000:]
        raise SystemExit(f"{' '.join(command)} ended with {result.returncode}\n{said}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
