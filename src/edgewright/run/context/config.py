"""Reads backend configuration files, and turns them and a named target into backend options."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.artifacts.encodings.comments import without_comments
from edgewright.artifacts.net_json.fields import without_duplicates
from edgewright.backends.qnn.options import GraphOptions, HtpOptions, Priority, ProfilingLevel
from edgewright.config.backend_config import BackendConfig, GraphSettings, read_settings
from edgewright.core.errors import BadInput, LimitExceeded, UsageError, Where, shown
from edgewright.core.files import is_there, read_limited
from edgewright.targets.soc import Soc, find_htp_soc, find_soc, find_soc_by_number

DEFAULT_TARGET = "SM8650"
_LARGEST_FILE = 1 << 20
_LEVELS = {
    "client": ProfilingLevel.OFF,
    "basic": ProfilingLevel.BASIC,
    "detailed": ProfilingLevel.DETAILED,
    "backend": ProfilingLevel.LINTING,
}


def read_backend_config(file: str | None, backend: str) -> BackendConfig:
    """The settings of a ``--config_file`` and of the backend extensions file that it names."""
    if file is None:
        return BackendConfig()
    outer = read_settings(read_json(Path(file)), file, backend)
    if outer.extensions_file is None:
        return outer
    # Beside the outer file first: that is where people keep it, wherever they start the tool.
    beside = Path(file).parent / outer.extensions_file
    path = beside if is_there(beside) else Path(outer.extensions_file)
    inner = read_settings(read_json(path), str(path), backend)
    if inner.extensions_file is not None:
        raise BadInput(
            "a backend extensions file names another one", Where(file=str(path)), do="leave that out"
        )
    return outer.with_extensions(inner)


def find_target(named: str | None, config: BackendConfig) -> Soc | None:
    """The chip that an option or the configuration names; None where neither does."""
    configured = _find_configured_chip(config)
    if named is None:
        return configured
    chosen = find_htp_soc(named)
    if configured is not None and configured.soc_model != chosen.soc_model:
        raise UsageError(
            f"--target names {chosen}, the configuration {configured}", do="name the chip in one place"
        )
    return chosen


def make_htp_options(
    target: Soc, config: BackendConfig, graphs: dict[str, GraphSettings], profiling: str | None = None
) -> HtpOptions:
    """The options for the HTP library."""
    level = _LEVELS[profiling or "client"]
    return HtpOptions(
        soc_model=target.soc_model,
        graphs={name: _make_graph_options(settings) for name, settings in graphs.items()},
        is_weight_sharing=config.is_weight_sharing,
        priority=Priority[(config.priority or "normal").upper()],
        profiling=ProfilingLevel.LINTING if config.is_linting and level else level,
    )


def _make_graph_options(settings: GraphSettings) -> GraphOptions:
    return GraphOptions(
        optimization_level=settings.optimization_level,
        vtcm_mb=settings.vtcm_mb,
        is_fp16_relaxed=settings.fp16_relaxed_precision,
        hvx_threads=settings.hvx_threads,
        is_dlbc=settings.dlbc,
    )


def _find_configured_chip(config: BackendConfig) -> Soc | None:
    chip = None if not config.soc_model else find_soc_by_number(config.soc_model)
    arch = None if config.dsp_arch is None else find_soc(config.dsp_arch)
    if chip is None or arch is None:
        return chip or arch
    if not chip.arch:  # a chip whose architecture is not public: the user knows it
        return replace(chip, arch=arch.arch)
    if chip.arch != arch.arch:
        raise UsageError(
            f"the configuration names {chip} and 'dsp_arch' v{arch.arch}, expected v{chip.arch}",
            do="leave 'dsp_arch' out, or name the other chip",
        )
    return chip


def read_json(path: Path) -> Any:
    """The content of a JSON file, which may have // comments."""
    where = Where(file=str(path))
    try:
        content = without_comments(read_limited(path, _LARGEST_FILE))
        return json.loads(content, object_pairs_hook=without_duplicates)
    except RecursionError:
        raise LimitExceeded("the JSON is nested too deeply", where) from None
    except ValueError as problem:
        raise BadInput(f"the file is not JSON: {shown(problem)}", where) from None
