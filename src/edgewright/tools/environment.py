"""Which of the things that Edgewright can use this machine has, found by trying them."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata

from edgewright.core.optional import PACKAGES, Package, install_command

LONGEST_IMPORT = 300  # seconds for all packages together; tensorflow alone may take half a minute

# Announces each package before importing it: if the process dies, the parent knows at which one.
# Packages print while they are imported: their output goes to stderr, only our own lines to stdout.
_TRY_IMPORTS = """
import importlib, os, sys
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for name in sys.argv[1:]:
    print("trying", name, file=told, flush=True)
    try:
        importlib.import_module(name)
    except BaseException as problem:
        print("failed", " ".join(f"{type(problem).__name__}: {problem}".split()), file=told, flush=True)
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: what it is for, whether it works, what to do if it does not."""

    name: str
    gives: str
    state: str  # works, absent, broken, or too old
    version: str = ""
    is_needed: bool = True
    trouble: str = ""
    do: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether something must be done: needed and not working, or optional and broken."""
        return self.state != "works" and (self.is_needed or self.state != "absent")


def check_packages(selected: Sequence[Package] = PACKAGES) -> list[Finding]:
    """The state of each package; those that are installed are imported in a separate process."""
    versions = {package.module: _find_version(package) for package in selected}
    troubles = _find_troubles([module for module, version in versions.items() if version is not None])
    return [
        _make_finding(package, versions[package.module], troubles.get(package.module, ""))
        for package in selected
    ]


def find_compiler() -> Finding:
    """The C++ compiler that turns a converted model into a library."""
    gives = "compiling converted models"
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            said = subprocess.run(
                [name, "--version"], capture_output=True, text=True, check=False, timeout=60
            )
            version = re.search(r"\d+\.\d+(\.\d+)?", said.stdout)
            return Finding(
                f"C++ ({name})", gives, "works", version.group() if version else "", is_needed=False
            )
    return Finding("C++ compiler", gives, "absent", is_needed=False, do="install g++ or clang++")


def _find_version(package: Package) -> str | None:
    try:
        return metadata.version(package.distribution)
    except metadata.PackageNotFoundError:
        return None


def _make_finding(package: Package, version: str | None, trouble: str) -> Finding:
    advice = install_command(package.module)
    state = "works"
    if version is None:
        state = "absent"
    elif trouble:
        state, advice = "broken", f"pip install --force-reinstall {package.distribution}"
    elif package.minimum and _parse_version(version) < _parse_version(package.minimum):
        state = "too old"
        trouble = f"version {version} found, {package.minimum} or newer expected"
        advice = f"pip install --upgrade '{package.distribution}>={package.minimum}'"
    return Finding(
        package.distribution,
        package.gives,
        state,
        version or "",
        is_needed=package.extra is None,
        trouble=trouble,
        do="" if state == "works" else advice,
    )


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+", maxsplit=1)[0]))


def _find_troubles(modules: Iterable[str]) -> dict[str, str]:
    """The modules that cannot be imported, and why; one that kills the process is found too."""
    left = list(modules)
    troubles: dict[str, str] = {}
    while left:
        lines, ending = _import_all(left)
        trying = ""
        for word, _, text in (line.partition(" ") for line in lines):
            if word == "trying":
                trying = text
                left.remove(text)
            elif word == "failed":
                troubles[trying] = text
        if ending:
            # Without a name nothing could be tried: the interpreter itself is broken.
            troubles.update({trying: ending} if trying else dict.fromkeys(left, ending))
        if not trying:
            break
    return troubles


def _import_all(modules: Sequence[str]) -> tuple[list[str], str]:
    # -P: a file in the current folder that is named like a package is not that package.
    command = [sys.executable, "-P", "-c", _TRY_IMPORTS, *modules]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=LONGEST_IMPORT
        )
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
        return said.splitlines(), f"importing it takes longer than {LONGEST_IMPORT} seconds"
    ending = f"importing it stops the process with code {process.returncode}" if process.returncode else ""
    return process.stdout.splitlines(), ending
