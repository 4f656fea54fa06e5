"""Our CPU backend against ONNX Runtime alone: python -m benchmarks.cpu_speed FOLDER --out FILE.

One thread on both sides, interleaved, times of the processor: other work on the machine does not count.
Models of the folders are measured as they are and dynamically quantized to 8 bits, where that can be done.
``--rows FILE`` keeps what was measured: a run with ``--seconds N`` ends early, and another one goes on.
"""

import argparse
import json
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from benchmarks.latency import interleaved
from benchmarks.models import LIGHT

__all__ = ["main"]

# Sizes that are tried for open dimensions, until ONNX Runtime runs the model.
SIZES = (32, 48, 1, 224, 320, 512, 576, 16000)
# What one number, such as a rate, is given, and how far inputs are moved to see what that changes.
NUMBERS = (1, 16000)
MOVE = 1e-7
# Elements of an input: larger ones fill the machine.
MOST_ELEMENTS = 1 << 24
PAIRS = 9
LIMIT = 1.1
# Larger ones take too long for fifteen pairs.
LARGEST = 64 << 20


@dataclass(frozen=True)
class Row:
    """One model: milliseconds of both."""

    model: str
    kind: str
    engine_ms: float
    ours_ms: float
    difference: float
    # How far ONNX Runtime's own result moves with its inputs.
    moved: float

    @property
    def ratio(self) -> float:
        """Ours over the engine's."""
        return self.ours_ms / self.engine_ms


def list_models(folders: list[Path], scratch: Path) -> Iterator[Path]:
    """The models, their quantized forms, and networks of the kinds that were slow once."""
    for folder in (*folders, LIGHT):
        for path in sorted(folder.glob("*.onnx")):
            if path.stat().st_size < LARGEST and ".dyn8" not in path.name:
                yield path
                yield from quantize(path, scratch)
    yield from write_special(scratch)


def quantize(path: Path, scratch: Path) -> Iterator[Path]:
    """The model with dynamically quantized products, where onnxruntime.quantization can make one."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    target = scratch / f"{path.stem}.dyn8.onnx"
    try:
        quantize_dynamic(path, target, weight_type=QuantType.QUInt8)
        kinds = Counter(node.op_type for node in onnx.load(target, load_external_data=False).graph.node)
    except Exception:
        return
    if kinds["DynamicQuantizeLinear"] + kinds["DynamicQuantizeLSTM"]:
        yield target


def write_special(folder: Path) -> Iterator[Path]:
    """A GRU with sequence lengths, and an If on an input."""
    random = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(random.normal(size=shape, scale=0.1).astype(np.float32), name)

    def info(name: str, shape: list[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    gru = helper.make_graph(
        [helper.make_node("GRU", ["x", "w", "r", "", "lengths"], ["y", "h"], hidden_size=64)],
        "gru",
        [info("x", [50, 4, 32]), info("lengths", [4], TensorProto.INT32)],
        [info("y", [50, 1, 4, 64]), info("h", [1, 4, 64])],
        [weights("w", 1, 192, 32), weights("r", 1, 192, 64)],
    )
    branches = {}
    for branch in ("then_branch", "else_branch"):
        nodes = [helper.make_node("MatMul", ["x", f"{branch}_w"], [f"{branch}_y"])]
        branches[branch] = helper.make_graph(
            nodes, branch, [], [info(f"{branch}_y", [64, 512])], [weights(f"{branch}_w", 512, 512)]
        )
    choice = helper.make_graph(
        [helper.make_node("If", ["flag"], ["y"], **branches)],
        "choice",
        [info("flag", [], TensorProto.BOOL), info("x", [64, 512])],
        [info("y", [64, 512])],
    )
    for graph in (gru, choice):
        path = folder / f"{graph.name}.onnx"
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        yield path


def list_inputs(session: onnxruntime.InferenceSession) -> Iterator[dict[str, np.ndarray]]:
    """Inputs that ONNX Runtime takes; of open dimensions all but the first have a size, or the last alone."""
    for size, number, is_inner in product(SIZES, NUMBERS, (True, False)):
        random, items = np.random.default_rng(7), session.get_inputs()
        shapes = {item.name: _choose_shape(item, size, is_inner) for item in items}
        if any(prod(shape) > MOST_ELEMENTS for shape in shapes.values()):
            continue
        feed = {item.name: _draw(random, item.type, shapes[item.name], number) for item in items}
        try:
            session.run(None, feed)
        except Exception:
            continue
        yield feed


def _choose_shape(item: onnxruntime.NodeArg, size: int, is_inner: bool) -> list[int]:
    last = len(item.shape) - 1
    return [
        dim if isinstance(dim, int) else size if place and (is_inner or place == last) else 1
        for place, dim in enumerate(item.shape)
    ]


def _draw(random: np.random.Generator, kind: str, shape: list[int], number: int) -> np.ndarray:
    if "float" in kind:
        return random.random(shape).astype(np.float16 if "16" in kind else np.float32)
    kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
    return np.full(shape, 1 if shape else number, kinds.get(kind, np.uint8))


def move_inputs(feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs with a part of them one step of float32 larger or smaller."""
    random = np.random.default_rng(3)
    return {
        name: (array * (1 + MOVE * random.integers(-1, 2, array.shape))).astype(array.dtype)
        if array.dtype.kind == "f"
        else array
        for name, array in feed.items()
    }


def measure(path: Path) -> Row | str:
    """Both side by side, or why not."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    reason = "no inputs were found that ONNX Runtime takes"
    try:
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        model = ew.convert(path)
    except ew.EdgewrightError as problem:
        return f"ours: {problem.what[:80]}"
    except Exception as problem:
        return f"ONNX Runtime: {str(problem)[:80]}"
    for feed in list_inputs(session):
        try:
            model.run(feed, threads=1)
        except ew.EdgewrightError as problem:
            reason = f"ours: {problem.what[:80]}"
            continue
        return _measure_pair(path, session, model, feed)
    return reason


def _measure_pair(
    path: Path, session: onnxruntime.InferenceSession, model: ew.Model, feed: dict[str, np.ndarray]
) -> Row:
    names = [item.name for item in session.get_outputs()]
    expected, moved = (
        dict(zip(names, session.run(None, inputs), strict=True)) for inputs in (feed, move_inputs(feed))
    )
    calls = [lambda: session.run(None, feed), lambda: model.run(feed, threads=1)]
    engine, ours = interleaved(calls, PAIRS)
    found = model.run(feed, threads=1)
    differences = _find_difference(expected, found), _find_difference(expected, moved)
    return Row(path.stem, _describe_kind(path), engine, ours, *differences)


def _find_difference(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    worst = 0.0
    for name, array in expected.items():
        if array.size and array.dtype.kind in "fiu":
            wide = array.astype(np.float64)
            # One number alone has no range.
            span = max(np.ptp(wide) or np.abs(wide).max(), 1e-9)
            worst = max(worst, float(np.abs(wide - found[name]).max() / span))
    return worst


def _describe_kind(path: Path) -> str:
    kinds = Counter(node.op_type for node in onnx.load(path, load_external_data=False).graph.node)
    shown = {"LSTM": "recurrent", "GRU": "recurrent", "DynamicQuantizeLSTM": "recurrent", "If": "If"}
    words = ["dynamic int8"] if ".dyn8" in path.name else ["QDQ"] if kinds["QuantizeLinear"] else []
    words += sorted({word for kind, word in shown.items() if kinds[kind]})
    if kinds["Conv"] + kinds["ConvInteger"] + kinds["QLinearConv"]:
        words.append("convolutions")
    elif kinds["MatMul"] + kinds["Gemm"] + kinds["MatMulInteger"]:
        words.append("products")
    return ", ".join(words) or "other"


def make_page(rows: list[Row], left_out: list[str]) -> str:
    """The table as Markdown, the slowest in relation first."""
    over = [row for row in rows if row.ratio > LIMIT]
    lines = [
        "# The CPU backend against ONNX Runtime",
        "",
        f"`python -m benchmarks.cpu_speed FOLDER --out docs/cpu-speed.md`: {len(rows)} models in one run,",
        f"one thread on both sides, medians of {PAIRS} interleaved pairs, times of the processor.",
        f"{len(over)} are over {LIMIT} times ONNX Runtime.",
        "",
        f"Moved: how far ONNX Runtime's own result goes when inputs move by {MOVE:.0e} of themselves.",
        "",
        "| model | kind | ONNX Runtime, ms | ours, ms | ratio | difference / range | moved / range |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: -row.ratio):
        numbers = f"{row.engine_ms:.3f} | {row.ours_ms:.3f} | {row.ratio:.2f} | "
        numbers += f"{row.difference:.0e} | {row.moved:.0e}"
        lines.append(f"| {row.model} | {row.kind} | {numbers} |")
    if left_out:
        lines += ["", "Left out:", "", *(f"- {line}" for line in left_out)]
    return "\n".join(lines) + "\n"


def keep_rows(path: Path | None, rows: list[Row], left_out: list[str]) -> None:
    """Writes what was measured so far."""
    if path is not None:
        path.write_text(json.dumps({"rows": [asdict(row) for row in rows], "left_out": left_out}, indent=1))


def read_rows(path: Path | None) -> tuple[list[Row], list[str]]:
    """What earlier runs measured."""
    if path is None or not path.exists():
        return [], []
    kept = json.loads(path.read_text())
    return [Row(**row) for row in kept["rows"]], kept["left_out"]


def measure_all(options: argparse.Namespace, rows: list[Row], left_out: list[str]) -> None:
    """Measures what was not measured before, until the time is over."""
    began = time.monotonic()
    known = {row.model for row in rows} | {line.split(": ")[0] for line in left_out}
    with tempfile.TemporaryDirectory() as scratch:
        for path in list_models(options.folders, Path(scratch)):
            if path.stem in known:
                continue
            if time.monotonic() - began > options.seconds:
                break
            result = measure(path)
            if isinstance(result, Row):
                rows.append(result)
                print(
                    f"{result.model}: {result.engine_ms:.3f} {result.ours_ms:.3f} {result.ratio:.2f}",
                    flush=True,
                )
            else:
                left_out.append(f"{path.stem}: {result}")
                print(left_out[-1], flush=True)
            keep_rows(options.rows, rows, left_out)


def main() -> None:
    """Measures all models and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows, left_out = read_rows(options.rows)
    measure_all(options, rows, left_out)
    page = make_page(rows, left_out)
    if options.out is not None:
        options.out.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
