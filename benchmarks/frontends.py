"""Models of other frameworks: seconds to convert and to load each, and how far the results are apart.

python -m benchmarks.frontends [FOLDER]: every .tflite, .pb, .pt, .pt2 and SavedModel in it, or of those that
`make bench-models` brought; LiteRT and TensorFlow are used from .venv-peers, torch from the interpreter that
runs this.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import BESIDE, ROOT
from benchmarks.tables import Table, add_write_option

__all__ = ["Row", "choose_loader", "measure"]

KINDS = (".tflite", ".pb", ".pt", ".pt2")
PATIENCE = 600
ROUNDS = 3
FRAMES = 8
# What the files leave open, by the beginning of their names.
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "mobilenet_v2": {"x": (1, 3, 224, 224)},
    "crepe": {"x": (1, 1024)},
    "phi3": {"ids": (1, 16)},
    "tinyphi": {"ids": (1, 16)},
    "silero": {"x": (1, 512)},
    "melspectrogram": {"input": (1, 16000)},
    "retinaface": {"x:0": (1, 320, 256, 3)},
    "basic_pitch_savedmodel": {"input_2": (1, 43844, 1)},
    "mnist_dscnn_savedmodel": {"image": (1, 28, 28, 1)},
}
VALUES = {"silero": {"sr": 16000}}
INTEGERS = {"phi3": 500, "tinyphi": 500}
PICTURES = ("retinaface",)


@dataclass(frozen=True)
class Row:
    """One model: seconds, and the largest difference as a share of an output's range and in its steps."""

    model: str
    converted: float = 0.0
    loaded: float = 0.0
    share: float = 0.0
    steps: float = 0.0
    problem: str = ""

    @property
    def is_quick(self) -> bool:
        """Whether converting takes at most twice as long as loading, and a second."""
        return self.converted <= 2 * self.loaded + 1


def measure(model: Path) -> Row:
    """Converts, loads and runs a model, ours and its own framework in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ours = _child(Path(sys.executable), "ours", model, work)
        if "problem" in ours:
            return Row(model.name, problem=ours["problem"])
        python = Path(sys.executable) if model.suffix.startswith(".pt") else BESIDE
        peer = _child(python, "peer", model, work)
        if "problem" in peer:
            return Row(model.name, ours["seconds"], problem=f"its framework: {peer['problem']}")
        share, steps = _gap(work, ours["steps"])
    return Row(model.name, ours["seconds"], peer["seconds"], share, steps)


def _child(python: Path, side: str, model: Path, work: Path) -> dict[str, Any]:
    command = [str(python), "-m", "benchmarks.frontends", "--side", side, "--work", str(work), str(model)]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return {"problem": f"not done after {PATIENCE} s"}
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines() or ["failed"]
        return {"problem": next((line for line in lines if "error[" in line), lines[-1])[:160]}
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def _gap(work: Path, steps: Mapping[str, float]) -> tuple[float, float]:
    with np.load(work / "ours.npz") as ours, np.load(work / "peer.npz") as peer:
        pairs = [(name, ours[name].astype(np.float64), peer[name].astype(np.float64)) for name in ours]
    gaps = [(name, float(np.abs(a - b).max(initial=0)), b) for name, a, b in pairs]
    share = max(gap / (float(np.ptp(b)) or 1.0) for _, gap, b in gaps)
    return share, max((gap / steps[name] for name, gap, _ in gaps if steps.get(name)), default=0.0)


def _chosen(table: Mapping[str, Any], model: Path) -> Any:
    return next((value for start, value in table.items() if model.name.startswith(start)), None)


def _convert(model: Path) -> Any:
    import edgewright as ew

    shapes, values = _chosen(SHAPES, model), _chosen(VALUES, model)
    return ew.convert(model, input_shapes=shapes, input_values=values)


def _ours(model: Path, work: Path) -> dict[str, Any]:

    if model.suffix.startswith(".pt"):
        import torch  # noqa: F401
    seconds, converted = _best(lambda: _saved(model, work))
    frames = list(_frames(converted, model))
    np.savez(work / "feeds.npz", **{f"{i}|{n}": a for i, feed in enumerate(frames) for n, a in feed.items()})
    results, state = [], {item.input: item.first for item in converted.states}
    for feed in frames:
        found = converted.run({**feed, **state}, threads=1)
        state = {item.input: found.pop(item.output) for item in converted.states}
        results.append(found)
    np.savez(work / "ours.npz", **{n: np.stack([r[n] for r in results]) for n in results[0]})
    types = converted.fixed_graph().types
    scales = {n: t.encoding.scales[0] for n in results[0] if (t := types[n]).encoding is not None}
    return {"seconds": seconds, "steps": scales}


def _saved(model: Path, work: Path) -> Any:
    from edgewright.core.errors import Problems, UnsupportedOp

    converted = _convert(model)
    # What HTP has no op for runs on the CPU backend only.
    with suppress(UnsupportedOp, Problems):
        converted.save(work / "out.cpp")
    return converted


def _frames(converted: Any, model: Path) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(0)
    states = {item.input for item in converted.states}
    top = _chosen(INTEGERS, model)
    for _ in range(FRAMES if states else 1):
        feed = {}
        for item in converted.inputs:
            if item.name in states:
                continue
            values = _picture(item.shape) if item.shape[-1:] == (3,) else random.uniform(0, 1, item.shape)
            values = values * (255 if model.name.startswith(PICTURES) else 1)
            feed[item.name] = (random.integers(0, top, item.shape) if top else values).astype(
                item.dtype if item.dtype.startswith(("int", "uint")) else np.float32
            )
        yield feed


def _picture(shape: tuple[int, ...]) -> Any:
    """A photograph of the package scikit-image, in colours from 0 to 1; noise where that is not at hand."""
    found = find_spec("skimage")
    if found is None or found.origin is None:
        return np.random.default_rng(0).uniform(0, 1, shape)
    from PIL import Image

    photo = np.asarray(Image.open(Path(found.origin).with_name("data") / "astronaut.png").convert("RGB"))
    rows, columns = (
        np.arange(size) * side // size for size, side in zip(shape[1:3], photo.shape, strict=False)
    )
    return np.broadcast_to(photo[rows][:, columns] / 255.0, shape)


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The quickest of some rounds, and what it gave."""
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        result = work()
        found.append((time.perf_counter() - began, result))
    return min(seconds for seconds, _ in found), found[-1][1]


def _peer(model: Path, work: Path) -> dict[str, Any]:
    with np.load(work / "feeds.npz") as stored:
        count = 1 + max(int(key.split("|")[0]) for key in stored)
        feeds = [
            {k.split("|", 1)[1]: stored[k] for k in stored if k.startswith(f"{i}|")} for i in range(count)
        ]
    with np.load(work / "ours.npz") as ours:
        names = list(ours)
    load = choose_loader(model)
    run: Callable[[dict[str, Any]], dict[str, Any]]
    seconds, run = load(model, names, feeds[0])
    results = [run(feed) for feed in feeds]
    np.savez(work / "peer.npz", **{name: np.stack([r[name] for r in results]) for name in names})
    return {"seconds": seconds}


def choose_loader(model: Path) -> Callable[..., tuple[float, Any]]:
    """What loads a model in its own framework: seconds, and a function from inputs to outputs."""
    if model.suffix == ".tflite":
        return _load_litert
    return _load_torch if model.suffix.startswith(".pt") else _load_tensorflow


def _load_litert(model: Path, names: list[str], feed: dict[str, Any]) -> tuple[float, Any]:
    from ai_edge_litert.interpreter import Interpreter

    def load() -> Any:
        runner = Interpreter(str(model))
        for item in runner.get_input_details():
            runner.resize_tensor_input(item["index"], feed[item["name"]].shape)
        runner.allocate_tensors()
        return runner

    seconds, runner = _best(load)

    def run(given: dict[str, Any]) -> dict[str, Any]:
        for item in runner.get_input_details():
            array, (scale, zero) = given[item["name"]], item["quantization"]
            if scale and array.dtype.kind == "f" and item["dtype"] != np.float32:
                ends = np.iinfo(item["dtype"])
                array = np.clip(np.round(array / scale) + zero, ends.min, ends.max)
            runner.set_tensor(item["index"], array.astype(item["dtype"]))
        runner.invoke()
        found = {}
        for item in runner.get_output_details():
            (scale, zero), array = item["quantization"], runner.get_tensor(item["index"])
            is_whole = scale and array.dtype.kind in "iu"
            found[item["name"]] = (array.astype(np.float64) - zero) * scale if is_whole else array
        return found

    return seconds, run


def _load_tensorflow(model: Path, names: list[str], _feed: dict[str, Any]) -> tuple[float, Any]:
    import tensorflow

    v1 = tensorflow.compat.v1

    def load() -> Any:
        graph = tensorflow.Graph()
        with graph.as_default():
            session = v1.Session(graph=graph)
            if model.is_dir():
                found = v1.saved_model.load(session, ["serve"], str(model)).signature_def["serving_default"]
                ends = {**found.inputs, **found.outputs}
                return session, {name: end.name for name, end in ends.items()}
            content = v1.GraphDef()
            content.ParseFromString(model.read_bytes())
            v1.import_graph_def(content, name="")
            return session, {}

    seconds, (session, tensors) = _best(load)

    def run(given: dict[str, Any]) -> dict[str, Any]:
        feed = {tensors.get(name, name): array for name, array in given.items()}
        return dict(zip(names, session.run([tensors.get(name, name) for name in names], feed), strict=True))

    return seconds, run


def _load_torch(model: Path, names: list[str], _feed: dict[str, Any]) -> tuple[float, Any]:
    import torch

    load = torch.jit.load if model.suffix == ".pt" else torch.export.load
    seconds, program = _best(lambda: load(str(model)))
    module = program.eval() if model.suffix == ".pt" else program.module()
    values = list((_chosen(VALUES, model) or {}).values())

    def run(given: dict[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            found = module(*map(torch.from_numpy, given.values()), *values)
        results = list(found) if isinstance(found, list | tuple) else [found]
        return dict(zip(names, (item.numpy() for item in results), strict=True))

    return seconds, run


def main() -> None:
    """A table of all models of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="a folder, if not the fetched ones and examples")
    parser.add_argument("--side", choices=("ours", "peer"))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    if options.side:
        print(json.dumps({"ours": _ours, "peer": _peer}[options.side](options.path, options.work)))
        return
    folders = [options.path] if options.path else [FETCHED, EXAMPLES]
    every = [path for folder in folders for path in folder.iterdir()]
    files = [path for path in every if path.suffix in KINDS or (path / "saved_model.pb").is_file()]
    packages = ("torch", "tensorflow", "ai-edge-litert")
    table, late = (
        Table("frontends", ("model", "convert s", "load s", "difference"), options, packages),
        list[str](),
    )
    for path in sorted((path for path in files if options.filter in path.name), key=lambda path: path.name):
        row = measure(path)
        figures = (f"{row.converted:.2f}", f"{row.loaded:.3f}", f"{row.share:.1e}" if row.share else "0")
        table.add(row.model, *(("-", "-", row.problem) if row.problem else figures))
        late += [] if row.problem or row.is_quick else [row.model]
    table.finish(f"Over twice the loading and 1 s: {', '.join(late) or 'none'}.")


if __name__ == "__main__":
    main()
