"""Formats that our own jobs write and read again, and what clients of the backend library send."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from edgewright.backends.saver.recording import CALLS
from tests.fuzz import job_seeds, mutate
from tests.fuzz.format import Format, lay_beside


def _change_lines(random: Random, data: bytes) -> bytes:
    """One line of JSON changed as a tree, or lines as text."""
    lines = data.splitlines()
    if not lines or random.random() < 0.2:
        return mutate.change_text(random, data)
    place = random.randrange(len(lines))
    lines[place] = mutate.change_json(random, lines[place])
    return b"\n".join(lines)


def _read_recording(path: Path) -> None:
    """Its graph, and the inputs of every run."""
    from edgewright.backends.saver.replay import open_recording

    for name, content in job_seeds.record_run().items():
        lay_beside(path, name, content)
    _, runs = open_recording(path.parent)
    for _ in runs:
        pass


def _read_build_record(path: Path) -> None:
    """Read, compared with itself and shown."""
    from edgewright.build.compare_builds import compare_builds
    from edgewright.reports.compared_builds import make_page, render_comparison

    comparison = compare_builds(path, path)
    make_page(comparison)
    for _ in render_comparison(comparison):
        pass


def _read_language_build(path: Path) -> None:
    from edgewright.llm.npu.manifest import read_manifest

    read_manifest(path.parent).list_parts()


@cache
def _make_host() -> Any:
    from edgewright.run.backend_library.host import Host

    return Host("cpu")


def _read_description(path: Path) -> None:
    """As the process behind the library does it for `graphFinalize`, but for the engine."""
    _make_host().validate(path.read_bytes(), memoryview(job_seeds.split_context()[1]))


def _read_stored_graph(path: Path) -> None:
    from edgewright.model.stored_graphs import load_stored_graph

    for name, content in job_seeds.store_small_graph().items():
        lay_beside(path, name, content)
    load_stored_graph(path)


def _read_log(path: Path) -> None:
    from edgewright.artifacts.profile_log.reader import read_log

    read_log(path)


def _read_sweep(path: Path) -> None:
    from edgewright.config.zoo import read_zoo
    from edgewright.core.errors import Problems

    for name in ("m.onnx", "x.npy"):
        lay_beside(path, name, b"")
    _, problems = read_zoo(path)
    if problems:
        raise Problems(problems)


def _read_check_config(path: Path) -> None:
    from edgewright.config.quantization_checker import QuantizationCheckOptions
    from edgewright.sdk.quantization_checker.config_file import read_config

    read_config(QuantizationCheckOptions(config_file=str(path), model="m.onnx"))


FORMATS: dict[str, Format] = {
    "recording": Format(
        CALLS, lambda: {"run": job_seeds.record_run()[CALLS]}, _change_lines, _read_recording
    ),
    "build_record": Format(
        "report.json", job_seeds.list_build_records, mutate.change_json, _read_build_record
    ),
    "llm_build": Format(
        "edgewright_llm.json", job_seeds.list_language_builds, mutate.change_json, _read_language_build
    ),
    "backend_library": Format(
        "graph.json", lambda: {"graph": job_seeds.split_context()[0]}, mutate.change_json, _read_description
    ),
    "stored_graph": Format(
        "m.graph",
        lambda: {"graph": job_seeds.store_small_graph()["m.graph"]},
        mutate.change_text,
        _read_stored_graph,
    ),
    "stored_index": Format(
        "m.json",
        lambda: {"index": job_seeds.store_small_graph()["m.json"]},
        mutate.change_json,
        _read_stored_graph,
    ),
    "profile_log": Format("p.log", job_seeds.list_logs, mutate.change_json, _read_log),
    "sweep": Format("c.yaml", job_seeds.list_sweeps, mutate.change_text, _read_sweep),
    "check_config": Format("c.json", job_seeds.list_check_configs, mutate.change_json, _read_check_config),
}
