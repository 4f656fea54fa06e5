"""The targets of model libraries by QNN's names, and the compilers of this machine that build for them."""

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean

# The SDK's own default (guide 4027).
DEFAULT_TARGETS = ("x86_64-linux-clang", "aarch64-android")
TARGETS: dict[str, str] = {
    "x86_64-linux-clang": "x86_64",
    "aarch64-ubuntu-gcc7.5": "aarch64",
    "aarch64-ubuntu-gcc9.4": "aarch64",
    "aarch64-oe-linux-gcc9.3": "aarch64",
    "aarch64-oe-linux-gcc11.2": "aarch64",
    "aarch64-android": "android",
    "x86_64-windows-msvc": "windows",
    "aarch64-windows-msvc": "windows",
    "arm64x-windows-msvc": "windows",
}
NDK_VARIABLES = ("ANDROID_NDK_ROOT", "ANDROID_NDK_HOME", "ANDROID_NDK")


@dataclass(frozen=True)
class Toolchain:
    """A compiler that makes libraries for a target."""

    target: str
    compiler: str


@dataclass(frozen=True)
class NoToolchain:
    """Why a target cannot be built on this machine, and what would change that."""

    target: str
    reason: str
    do: str


def find_toolchain(target: str, environment: Mapping[str, str] = os.environ) -> Toolchain | NoToolchain:
    """The compiler for a target; a target that QNN does not have is an error."""
    kind = TARGETS.get(target)
    if kind is None:
        raise UsageError(
            f"target '{shown(target)}' is unknown, expected one of {', '.join(TARGETS)}",
            do=did_you_mean(target, list(TARGETS), "name one of them"),
        )
    if kind == "windows":
        return NoToolchain(target, "a library for Windows needs MSVC", "build for it on a Windows machine")
    if sys.platform != "linux":
        return NoToolchain(target, f"this machine runs {sys.platform}, expected Linux", "use a Linux machine")
    if kind == "android":
        return _find_android(target, environment)
    return _find_linux(target, kind, environment.get("PATH"))


def _find_linux(target: str, machine: str, path: str | None) -> Toolchain | NoToolchain:
    names: tuple[str, ...] = (f"{machine}-linux-gnu-g++",)
    if platform.machine() == machine:
        names = ("clang++", "g++", *names)
    for name in names:
        found = shutil.which(name, path=path)
        if found is not None:
            return Toolchain(target, found)
    package = "g++" if platform.machine() == machine else f"g++-{machine.replace('_', '-')}-linux-gnu"
    return NoToolchain(target, f"none of {', '.join(names)} is installed", f"apt-get install {package}")


def _find_android(target: str, environment: Mapping[str, str]) -> Toolchain | NoToolchain:
    named = {name: environment[name] for name in NDK_VARIABLES if environment.get(name)}
    for name, root in named.items():
        tools = Path(root, "toolchains", "llvm", "prebuilt", f"linux-{platform.machine()}", "bin")
        found = sorted(tools.glob("aarch64-linux-android[0-9]*-clang++"))
        if found:
            return Toolchain(target, str(found[0]))
        return NoToolchain(
            target, f"{name} is '{shown(root)}', which has no {shown(tools)}", "set it to the NDK's folder"
        )
    return NoToolchain(target, "no Android NDK is set", f"set {NDK_VARIABLES[0]} to the NDK's folder")
