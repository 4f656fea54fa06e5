"""Sound files that our own jobs write and read again: recordings, records of builds, logs, stored graphs."""

import json
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from tests.fuzz.seeds import SDK, Seeds
from tests.hostile.artifacts import SMALL, convert_small


@cache
def record_run() -> Seeds:
    """What the Saver writes of a run of a small model."""
    from edgewright.backends.base import RunOptions
    from edgewright.backends.saver.recording import SaverSession
    from edgewright.frontends.open_source import open_source

    graph = open_source(SMALL).build({}).graph
    with tempfile.TemporaryDirectory() as name:
        session = SaverSession(graph, RunOptions(), Path(name))
        session.run({"x": np.zeros((1, 1, 4, 4), np.float32)})
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


@cache
def list_build_records() -> Seeds:
    """The record of a small build."""
    from edgewright.core.plain import to_json
    from tests.browser.sample_build import record

    return {"build": to_json(record())}


def list_language_builds() -> Seeds:
    """What a language model built for the NPU says of itself: whole, in parts, embeddings outside."""
    from edgewright.llm.npu.manifest import OUTSIDE, Manifest

    whole = Manifest("SM8650", "w8a16", 4, 16, (2,))
    apart = Manifest("SM8650", "w4a16", 8, 16, (1, 1), OUTSIDE, 8)
    return {"whole": whole.write({}), "apart": apart.write({"decode_1_of_2": {"inputs": [], "outputs": []}})}


@cache
def split_context() -> tuple[bytes, bytes]:
    """The description of a graph as a client of the backend library sends it, and the data beside it."""
    content = convert_small()["context.bin"]
    size, stored = struct.unpack_from("<QQ", content, 16)
    start = -(-(32 + size) // 64) * 64
    graph = json.loads(content[32 : 32 + size])["graphs"][0]
    return json.dumps(graph).encode(), content[start : start + stored]


@cache
def store_small_graph() -> Seeds:
    """A graph between two stages of a build."""
    from edgewright.frontends.open_source import open_source
    from edgewright.model.stored_graphs import store_graph

    with tempfile.TemporaryDirectory() as name:
        store_graph(open_source(SMALL).build({}).graph, Path(name) / "m")
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def list_logs() -> Seeds:
    """Profiles as JSON and as a table."""
    from edgewright.artifacts.profile_log.csv_log import HEADER
    from edgewright.artifacts.profile_log.writer import FORMAT, VERSION

    event = {"message": "EXECUTE", "time": 5, "unit": "US", "source": "BACKEND", "level": "ROOT", "id": "x"}
    tree = {"format": FORMAT, "version": VERSION, "level": "basic", "backend": "cpu", "graph": "g"}
    tree |= {"inferences": 1, "wall": 9, "dropped": 0, "events": [event]}
    row = ",".join(["1", "EXECUTE", "5", "US", "BACKEND", "ROOT", "x"])
    table = ",".join(HEADER) + f"\n{row}\n"
    return {"own": json.dumps(tree).encode(), "table": table.encode()}


def list_sweeps() -> Seeds:
    """Models, chips and precisions of a sweep."""
    text = (
        "models:\n  - model: m.onnx\n    data: x.npy\n    metric: top-1\n    max_drop: 1.5\n"
        "targets: [SM8650, SM8550]\nprecisions: [w8a8, fp16]\ntime_limit: 10m\n"
    )
    return {"sweep": text.encode(), "short": b"models: [m.onnx]\ntargets: SM8650\n"}


def list_check_configs() -> Seeds:
    """The example of the SDK's quantization checker."""
    return {"example": (SDK / "quantization_checker_config.json").read_bytes()}
