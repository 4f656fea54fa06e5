"""Plug-ins of the profile viewer: Python files that turn a log into the bytes of a file."""

import logging
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from edgewright.artifacts.profile_log.writer import ProfileLog
from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import measure_file

log = logging.getLogger(__name__)

_COMPILED = frozenset({".so", ".dll", ".dylib"})


def read_with_plugin(path: Path | str, measured: ProfileLog) -> Iterator[bytes]:
    """What the function ``read`` of a Python file returns for a log; the file is executed."""
    if Path(path).suffix.lower() in _COMPILED:
        raise UnsupportedFeature(
            f"reader '{shown(path)}' is a compiled library, whose interface is not public",
            Where(file=str(path)),
            do="use --reader csv, trace or html, or a Python file with a function read(log)",
        )
    if Path(path).suffix != ".py":
        raise UsageError(
            f"reader '{shown(path)}' is unknown, expected csv, trace, html or a Python file",
            do="use --reader csv, trace or html",
        )
    measure_file(path)
    log.warning("reader %s is code: it is run now", shown(path))
    yield _run_plugin(path, measured)


def _run_plugin(path: Path | str, measured: ProfileLog) -> bytes:
    where = Where(file=str(path))
    spec = spec_from_file_location("edgewright_profile_reader", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        made = module.read(measured)
    except Exception as problem:
        raise BadInput(
            f"the reader failed: {type(problem).__name__}: {problem}",
            where,
            do="define read(log) -> bytes there; --log_level debug shows where it failed",
        ) from problem
    if not isinstance(made, bytes | str):
        raise BadInput(
            f"read(log) of the reader returned {type(made).__name__}, expected bytes or text", where
        )
    return made.encode() if isinstance(made, str) else made
