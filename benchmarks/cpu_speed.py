"""Our CPU backend against ONNX Runtime alone: python -m benchmarks.cpu_speed FOLDER --out FILE.

One thread on both sides, interleaved, times of the processor: other work on the machine does not count.
Models of the folders are measured as they are and dynamically quantized to 8 bits, where that can be done.
"""

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
SIZES = (32, 1, 224, 320, 512, 16000)
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


def find_inputs(session: onnxruntime.InferenceSession) -> dict[str, np.ndarray] | None:
    """Inputs that ONNX Runtime takes; open dimensions have one of the sizes, batches are of one."""
    for size in SIZES:
        random = np.random.default_rng(7)
        feed = {item.name: _draw(random, item, size) for item in session.get_inputs()}
        try:
            session.run(None, feed)
        except Exception:
            continue
        return feed
    return None


def _draw(random: np.random.Generator, item: onnxruntime.NodeArg, size: int) -> np.ndarray:
    shape = [
        dim if isinstance(dim, int) else (1 if place == 0 else size) for place, dim in enumerate(item.shape)
    ]
    if "float" in item.type:
        return random.random(shape).astype(np.float16 if "16" in item.type else np.float32)
    kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
    return np.ones(shape, kinds.get(item.type, np.uint8))


def measure(path: Path) -> Row | str:
    """Both side by side, or why not."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        feed = find_inputs(session)
    except Exception as problem:
        return f"ONNX Runtime: {str(problem)[:80]}"
    if feed is None:
        return "no inputs were found that ONNX Runtime takes"
    try:
        model = ew.convert(path)
        found = model.run(feed, threads=1)
    except ew.EdgewrightError as problem:
        return f"ours: {problem.what[:80]}"
    names = [item.name for item in session.get_outputs()]
    expected = dict(zip(names, session.run(None, feed), strict=True))
    calls = [lambda: session.run(None, feed), lambda: model.run(feed, threads=1)]
    engine, ours = interleaved(calls, PAIRS)  # type: ignore[arg-type]
    return Row(path.stem, _describe_kind(path), engine, ours, _find_difference(expected, found))


def _find_difference(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    worst = 0.0
    for name, array in expected.items():
        if array.size and array.dtype.kind in "fiu":
            wide = array.astype(np.float64)
            worst = max(worst, float(np.abs(wide - found[name]).max() / max(np.ptp(wide), 1e-9)))
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
        "| model | kind | ONNX Runtime, ms | ours, ms | ratio | difference / range |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: -row.ratio):
        numbers = f"{row.engine_ms:.3f} | {row.ours_ms:.3f} | {row.ratio:.2f} | {row.difference:.0e}"
        lines.append(f"| {row.model} | {row.kind} | {numbers} |")
    if left_out:
        lines += ["", "Left out:", "", *(f"- {line}" for line in left_out)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures all models and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows: list[Row] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in list_models(options.folders, Path(scratch)):
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
    page = make_page(rows, left_out)
    if options.out is not None:
        options.out.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
