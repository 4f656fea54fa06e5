"""Makes a folder like QNN_SDK_ROOT, so that scripts written for the SDK run with our tools."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from edgewright.abi.libraries import find_libraries
from edgewright.backends.registry import BACKENDS
from edgewright.core.errors import UsageError, shown
from edgewright.core.files import Chunks, write_all

HOST_TARGET, WINDOWS_TARGET = "x86_64-linux-clang", "x86_64-windows-msvc"
MARK, PRODUCT = "sdk.yaml", "edgewright"
# Tools of the SDK without the usual prefix.
_MORE_TOOLS = ("envcheck", "check_python_dependency")
_PREFIXES = ("qnn_", "qairt_")
# Libraries that are only placeholders here, unless the wheel has them.
_NAMED = (*(f"libQnn{word}.so" for word in BACKENDS), "libQnnModelDlc.so", "libQnnSystem.so")
# Where the guide has the sample configurations of the accuracy evaluator.
_SAMPLES = "lib/python/qti/aisw/accuracy_evaluator/configs/samples/model_configs"
# The SDK's examples, by where the guide has them, and our files.
_EXAMPLES = {
    "examples/QNN/NetRun/net-run.sh": "net-run.sh.txt",
    "examples/QNN/NetRun/android/android-qnn-net-run.sh": "android-qnn-net-run.sh.txt",
    "examples/QNN/ThroughputNetRun/sample_config.json": "throughput_example.json",
    "lib/python/qti/aisw/accuracy_evaluator/plugins/brighten.py": "plugin_example.py.txt",
    "benchmarks/QNN/bench_example.json": "bench_example.json",
}
# The course names one library for all backends: it is the HTP's.
_COURSE_LIBRARY, _COURSE_TARGET = "libQnn.so", "libQnnHtp.so"
_PLACEHOLDER = """{name}: a name that Edgewright's tools understand, as in --backend {name}.
The code is in the Python package edgewright; no program can load this file.
"""


@dataclass(frozen=True)
class SdkRoot:
    """The tree that was made."""

    folder: str
    version: str
    tools: tuple[str, ...]
    headers: tuple[str, ...]
    # Libraries of the installed wheel that are linked, and those that are placeholders.
    linked: tuple[str, ...]
    named: tuple[str, ...]


def make_sdk_root(folder: Path | str, version: str) -> SdkRoot:
    """Makes the tree, or makes it again; a folder with other content is an error."""
    root = Path(folder).absolute()
    _check_free(root)
    tools = _list_tools()
    scripts = {**_write_tool_scripts(root, tools), **_read_shell_scripts(root), **_read_examples(root)}
    headers = _read_headers(root)
    linked = _find_genuine_libraries()
    named = [name for name in _NAMED if name not in linked]
    library = root / "lib" / HOST_TARGET
    for name in (*linked, *named):
        (library / name).unlink(missing_ok=True)
    written: dict[Path, Chunks] = {**scripts, **headers}
    written |= {library / name: [_PLACEHOLDER.format(name=name).encode()] for name in named}
    written |= {root / MARK: [_mark(version)], root / "README.md": [_read_data("README.md")]}
    written |= _read_samples(root)
    written[root / "lib" / "python" / "README"] = [b"PYTHONPATH of envsetup.sh; put your own modules here.\n"]
    # Where the guide's sample command has it.
    config = root / "lib" / "python" / "qti" / "aisw" / "quantization_checker" / "config"
    written[config] = [_read_data("quantization_checker_config.json")]
    write_all(written)
    for script in scripts:
        script.chmod(0o755)
    for name, target in linked.items():
        (library / name).symlink_to(target)
    _link(root / "lib" / _COURSE_LIBRARY, Path(HOST_TARGET) / _COURSE_TARGET)
    for file in _find_runtime_libraries():
        # The loader looks for them beside the link that it opens, not beside what the link leads to.
        _link(library / file.name, file)
        _link(root / "lib" / file.name, file)
    _link_tools(root, tools)
    names = tuple(sorted(path.name for path in headers))
    return SdkRoot(str(root), version, tuple(tools), names, tuple(linked), tuple(named))


def _check_free(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise UsageError(f"'{shown(root)}' is a file, expected a folder", do="name another place")
    mark = root / MARK
    if any(root.iterdir()) and not (mark.is_file() and PRODUCT in mark.read_text(errors="replace")[:200]):
        raise UsageError(
            f"folder '{shown(root)}' has other content, expected an empty folder or an older tree",
            do="name another place, or remove it first",
        )


def _list_tools() -> dict[str, str]:
    """Tools by the SDK's names, and the modules that implement them."""
    stems = sorted(
        path.name.removesuffix(".py")
        for path in (files("edgewright") / "tools").iterdir()
        if path.name.endswith(".py") and path.name.startswith((*_PREFIXES, *_MORE_TOOLS))
    )
    return {stem.replace("_", "-"): f"edgewright.tools.{stem}" for stem in stems}


def _write_tool_scripts(root: Path, tools: dict[str, str]) -> dict[Path, Chunks]:
    scripts: dict[Path, Chunks] = {}
    for name, module in tools.items():
        # -P: a file in the current folder that is named like a package is not that package.
        code = f"import sys; from {module} import main; sys.exit(main())"
        scripts[root / "bin" / HOST_TARGET / name] = [_write_script(code).encode()]
        batch = f'@"{sys.executable}" -P -c "{code}" %*\r\n'
        scripts[root / "bin" / WINDOWS_TARGET / f"{name}.cmd"] = [batch.encode()]
    return scripts


def _write_script(code: str) -> str:
    """A script for a shell and for any Python: the guide calls tools in both ways.

    A shell runs the third line; to Python, lines two to four are a text that nothing uses.
    """
    words = [sys.executable, "-P", "-c", code]
    python = f"import os, sys\n\nos.execv({words[0]!r}, {words!r} + sys.argv[1:])"
    quotes = "'''"
    return f'#!/bin/sh\n{quotes}:\'\nexec {shlex.join(words)} "$@"\n{quotes}\n{python}\n'


def _read_shell_scripts(root: Path) -> dict[Path, Chunks]:
    held = (files("edgewright") / "_data" / "sdk").iterdir()
    names = [item.name for item in held if item.name.endswith((".sh", ".ps1"))]
    return {root / "bin" / name: [_read_data(name)] for name in sorted(names)}


def _read_examples(root: Path) -> dict[Path, Chunks]:
    held: dict[Path, Chunks] = {root / place: [_read_data(name)] for place, name in _EXAMPLES.items()}
    bench = "import sys\n\nfrom edgewright.tools.qnn_bench import main\n\nsys.exit(main())\n"
    held[root / "benchmarks" / "QNN" / "qnn_bench.py"] = [f"#!{sys.executable} -P\n{bench}".encode()]
    return held


def _read_samples(root: Path) -> dict[Path, Chunks]:
    """Model configurations of qnn-accuracy-evaluator to start from."""
    held = (files("edgewright") / "_data" / "sdk").iterdir()
    names = sorted(item.name for item in held if item.name.endswith("_config.yaml"))
    return {root / _SAMPLES / name: [_read_data(name)] for name in names}


def _read_headers(root: Path) -> dict[Path, Chunks]:
    held = [item for item in (files("edgewright") / "abi" / "csrc").iterdir() if item.is_file()]
    return {root / "include" / "QNN" / item.name: [item.read_bytes()] for item in held}


def _find_genuine_libraries() -> dict[str, Path]:
    libraries = find_libraries()
    if libraries is None:
        return {}
    return {
        path.name: path for path in sorted(libraries.folder.glob("lib*.so")) if "onnxruntime" not in path.name
    }


def _find_runtime_libraries() -> list[Path]:
    """The C++ runtime that the wheel brings for its libraries."""
    libraries = find_libraries()
    if libraries is None:
        return []
    return sorted(libraries.folder.with_name(f"{libraries.folder.name}.libs").glob("lib*"))


def _link_tools(root: Path, tools: Sequence[str] | dict[str, str]) -> None:
    """Links the tools into bin itself, where the course calls them."""
    for name in tools:
        _link(root / "bin" / name, Path(HOST_TARGET) / name)


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _mark(version: str) -> bytes:
    return f"product: {PRODUCT}\nversion: {json.dumps(version)}\n".encode()


def _read_data(name: str) -> bytes:
    return (files("edgewright") / "_data" / "sdk" / name).read_bytes()
