"""Which compilers this machine has, as lines of text."""

import shutil
from collections.abc import Sequence

from edgewright.artifacts.model_library.toolchains import Toolchain, find_toolchain

_QUESTIONS = {"-c": ("C++ compiler", "x86_64-linux-clang"), "-n": ("Android NDK", "aarch64-android")}


def describe_toolchains(asked: Sequence[str]) -> tuple[list[str], bool]:
    """A line for each of -n (NDK), -c (C++) and -m (Visual Studio), and whether all are there."""
    answers = [_answer(flag) for flag in asked]
    return [line for line, _ in answers], all(is_there for _, is_there in answers)


def _answer(flag: str) -> tuple[str, bool]:
    if flag == "-m":
        compiler = shutil.which("cl")
        missing = "[WARNING] Visual Studio: 'cl' is not found; open its Developer PowerShell on Windows"
        return (f"[INFO] Visual Studio: {compiler}", True) if compiler else (missing, False)
    word, target = _QUESTIONS[flag]
    toolchain = find_toolchain(target)
    if isinstance(toolchain, Toolchain):
        return f"[INFO] {word}: {toolchain.compiler}", True
    return f"[WARNING] {word}: {toolchain.reason}; {toolchain.do}", False
