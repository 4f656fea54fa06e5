"""Every op in every datatype that QNN lists for it: on the CPU backend, the simulation and the emulator.

`python -m tests.backend.op_types [BACKEND ...] [OP ...]` records what comes of it; the page
`docs/reference/op-datatypes.md` shows it.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from tests.unit.ops.definitions import DEFINITIONS
from tests.unit.ops.test_samples import filled

LISTED: dict[str, dict[str, list[dict[str, str]]]] = json.loads(
    (Path(__file__).parent / "op_dtypes.json").read_text()
)
# Newer than the lists, or made of others in QNN: what the CPU backend must compute all the same.
FLOAT_ONLY = [{"in[0]": "FLOAT_32"}]
_ROUNDING = {DType.FLOAT_16: 2e-3}
# Which of QNN's lists a backend is held to.
COLUMNS = {"cpu": "CPU", "htp-sim": "HTP", "htp-native": "HTP"}
RECORD = Path(__file__).parent / "op_outcomes.json"
# Of the range, for real numbers; half precision and sums of other orders are within it.
SHARE = 0.004
# On the CPU: of the largest number.
CPU_SHARE = 1e-5


@dataclass(frozen=True)
class Outcome:
    """What came of an op in a set of datatypes: equal, differs (by how much) or refused (why)."""

    word: str
    note: str = ""


Row = Mapping[str, str]


def list_rows(name: str, backend: str) -> list[Row]:
    """Sets of datatypes of an op's tensors; a cell with several becomes one set for each of them."""
    listed = LISTED.get(name, {}).get(backend, [])
    if backend == "CPU" and not listed:
        return [*FLOAT_ONLY]
    found: list[Row] = []
    for row in listed:
        choices = {port: cell.split(", ") for port, cell in row.items()}
        for dtype in dict.fromkeys(word for words in choices.values() for word in words):
            chosen = {port: dtype if dtype in words else words[0] for port, words in choices.items()}
            if chosen not in found:
                found.append(chosen)
    return found


def try_row(name: str, row: Row, backend: str) -> Outcome:
    """The outcome of the first sample that fits the datatypes, one with all their tensors before others."""
    found: list[Outcome] = []
    for sample in sorted(REGISTRY[name].samples(), key=lambda sample: _count_absent(sample, row)):
        found.append(_try_sample(sample, row, backend))
        if found[-1].word != "refused":
            return found[-1]
    return found[0]


def _count_absent(sample: Sample, row: Row) -> int:
    """How many inputs of the row a sample does not have: their datatypes are not tried with it."""
    given = {f"in[{place}]" for place, array in enumerate(sample.inputs) if array is not None}
    return len({port for port in row if port.startswith("in[") and ".." not in port} - given)


def _try_sample(sample: Sample, row: Row, backend: str) -> Outcome:
    try:
        graph, feed = make_graph(sample, row)
    except EdgewrightError as problem:
        return Outcome("refused", problem.what)
    except (TypeError, ValueError, OverflowError) as problem:
        return Outcome("refused", str(problem))
    try:
        found = find_backend(backend).prepare(graph, RunOptions(threads=1)).run(feed)
        expected = _define(graph, sample, feed) if backend == "cpu" else _simulate(graph, feed, backend)
    except EdgewrightError as problem:
        return Outcome("refused", problem.what)
    return compare(graph, found, expected, is_exact=backend == "cpu")


def make_graph(sample: Sample, row: Row) -> tuple[Graph, dict[str, Array]]:
    """The one op with tensors of the row's datatypes; real numbers get encodings of their own range."""
    graph, feed, names = Graph("sample"), {}, []
    arrays = [_avoid_zeros(array, index) for index, array in enumerate(filled(sample))]
    for index, (given, array) in enumerate(zip(sample.inputs, arrays, strict=True)):
        names.append("" if array is None else f"x{index}")
        if array is None:
            continue
        kind, stored = _store(array, _find_dtype(row, "in", index))
        if isinstance(given, TensorType) and not _is_weight(sample, index):
            feed[graph.add_input(f"x{index}", kind)] = stored
        else:
            graph.add_constant(f"x{index}", stored, kind)
    inputs = [graph.types[name] if name else None for name in names]
    real = sample.op.values_for(arrays)
    kinds = [_type_output(array, _find_dtype(row, "out", index)) for index, array in enumerate(real)]
    # What an artifact tells by its tensors alone, as a reader of one restores it.
    op = replace(sample.op, **type(sample.op).read_structure(inputs, kinds))
    ruled = op.types_for(inputs)
    for index, (kind, rule) in enumerate(zip(kinds, ruled, strict=True)):
        if f"out[{index}]" not in row and not kind.dtype.is_fixed_point and not rule.dtype.is_fixed_point:
            kinds[index] = rule
        elif rule.dtype != kind.dtype and not kind.dtype.is_fixed_point:
            raise ValueError(f"its result is {rule.dtype.name}, not {kind.dtype.name}")
    outputs = [f"y{index}" for index in range(len(kinds))]
    graph.add(Node("n", op, names, outputs), kinds)
    graph.outputs = outputs
    return graph, feed


def compare(
    graph: Graph, found: Mapping[str, Array], expected: Mapping[str, Array], *, is_exact: bool
) -> Outcome:
    """Narrow integers may be one step apart, real numbers a share of their range.

    Where it must be exact, so may wide ones in fixed point, and other integers are the same.
    """
    for name, array in found.items():
        kind = graph.types[name]
        first, second = array.astype(np.float64), expected[name].astype(np.float64)
        if first.shape != second.shape:
            return Outcome("differs", f"shape {list(first.shape)}, expected {list(second.shape)}")
        gap = np.abs(np.nan_to_num(first) - np.nan_to_num(second)).max(initial=0)
        if kind.dtype.is_fixed_point and (is_exact or kind.dtype.bits <= 8):
            if gap > 1:
                return Outcome("differs", f"up to {gap:.0f} steps")
        elif is_exact:
            share = 0.0 if not kind.dtype.is_float else _ROUNDING.get(kind.dtype, CPU_SHARE)
            if gap > share * np.abs(np.nan_to_num(second)).max(initial=0):
                return Outcome("differs", f"up to {gap:.3g}")
        elif gap > SHARE * max(2 * np.abs(np.nan_to_num(second)).max(initial=0), 1e-6):
            return Outcome("differs", f"up to {gap:.3g}")
    return Outcome("equal")


def _define(graph: Graph, sample: Sample, feed: Mapping[str, Array]) -> Mapping[str, Array]:
    """The op's meaning: by a definition that was written apart where the engine has no kernel."""
    name = sample.op.qnn_name()
    if name not in DEFINITIONS:
        # The backend computes with ONNX Runtime's kernels, the reference with numpy.
        return reference.run(graph, dict(feed))
    node = graph.nodes[0]
    inputs = [_decode(graph, value, feed) for value in node.inputs]
    results = DEFINITIONS[name](sample.op, *inputs)
    kinds = graph.output_types(node)
    return {
        value: np.asarray(array)
        if kind.encoding is None
        else kind.encoding.encode(np.asarray(array), kind.dtype)
        for value, array, kind in zip(node.outputs, results, kinds, strict=True)
    }


def _simulate(graph: Graph, feed: Mapping[str, Array], backend: str) -> Mapping[str, Array]:
    """The definition, or for the emulator the simulation where it computes."""
    if backend == "htp-native":
        try:
            return find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run(feed)
        except EdgewrightError:
            pass
    return reference.run(graph, dict(feed))


def _find_dtype(row: Row, side: str, index: int) -> DType | None:
    word = row.get(f"{side}[{index}]")
    for port, other in row.items():
        span = re.fullmatch(rf"{side}\[(\d+)\.\.\w+\]", port)
        if span and index >= int(span[1]):
            word = other
    return DType[word] if word else None


def _is_weight(sample: Sample, index: int) -> bool:
    """Weights are constants in every network."""
    words = ("Conv", "FullyConnected", "MatMul", "Norm", "norm", "Prelu", "Lstm", "Gru")
    return index > 0 and any(word in sample.op.qnn_name() for word in words)


def _store(array: Array, dtype: DType | None) -> tuple[TensorType, Array]:
    """The array in a datatype, with an encoding where it needs one."""
    if dtype is None:
        dtype = _name_dtype(array)
    if dtype == DType.BOOL_8:
        return TensorType(array.shape, dtype), array > 0
    if dtype.is_fixed_point:
        encoding = _encode(array.astype(np.float32), dtype)
        return TensorType(array.shape, dtype, None, encoding), encoding.encode(
            array.astype(np.float32), dtype
        )
    whole = np.rint(array) if array.dtype.kind == "f" and not dtype.is_float else array
    if not dtype.is_float and not dtype.is_signed and array.dtype != np.bool_:
        whole = np.abs(whole)
    return TensorType(array.shape, dtype), whole.astype(dtype.numpy)


def _avoid_zeros(array: Array | None, index: int) -> Array | None:
    """Second operands that are not zero as integers either: something may be divided by them."""
    if array is None or not index or array.dtype.kind != "f" or array.size < 2:
        return array
    return np.where(np.abs(array) < 0.5, np.float32(1), array).astype(array.dtype)


def _encode(array: Array, dtype: DType) -> Encoding:
    low, high = min(float(array.min(initial=0)), 0.0), max(float(array.max(initial=0)), 0.0)
    bits = dtype.bits
    if dtype.is_signed:
        reach = max(-low, high) or 1.0
        return Encoding((reach / ((1 << (bits - 1)) - 1),), (0,), bitwidth=bits)
    scale = (high - low or 1.0) / ((1 << bits) - 1)
    return Encoding((scale,), (round(low / scale),), bitwidth=bits)


def _decode(graph: Graph, name: str, feed: Mapping[str, Array]) -> Array | None:
    if not name:
        return None
    stored, encoding = feed.get(name, graph.constants.get(name)), graph.types[name].encoding
    return stored if encoding is None or stored is None else encoding.decode(stored)


def _type_output(array: Array, dtype: DType | None) -> TensorType:
    """The type of a result in the row's datatype; its encoding has the range of the numbers."""
    wanted = dtype or _name_dtype(array)
    if wanted.is_fixed_point:
        return TensorType(array.shape, wanted, None, _encode(array.astype(np.float32), wanted))
    return TensorType(array.shape, wanted)


def _name_dtype(array: Array) -> DType:
    return next(kind for kind in DType if kind.numpy == array.dtype and not kind.is_fixed_point)


def check_op(name: str, backend: str) -> dict[str, list[tuple[str, str, int]]]:
    """Datatype of the first input -> what came of all sets that have it: word, reason, how many."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    with np.errstate(all="ignore"):
        for row in list_rows(name, COLUMNS[backend]):
            outcome = try_row(name, row, backend)
            own = counts.setdefault(next(iter(row.values())), Counter())
            own[outcome.word, shorten(outcome.note)] += 1
    return {dtype: [(*key, number) for key, number in sorted(own.items())] for dtype, own in counts.items()}


def shorten(text: str) -> str:
    """A reason without what is special to one case."""
    text = re.sub(r"\s+", " ", text).partition("; Please refer")[0]
    text = re.sub(r"Requested I/O datatype set:.*", "", text)
    text = re.sub(r"HTP refuses \w+ with [\w, ]+ \((\d+)\)", r"the library refuses it (\1)", text)
    text = re.sub(r" in the node '\w+'| for the HTP Op '\w+'|graph 'sample' ", " ", text)
    return text[:160].strip(" ;.")


def list_names() -> list[str]:
    """The ops of QNN."""
    return sorted(set(REGISTRY) - {"SourceOp"})


def record(backends: Sequence[str], names: Sequence[str]) -> None:
    """Writes what comes of ops on some backends into the file beside this one."""
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        for backend in backends:
            found.setdefault(name, {})[backend] = check_op(name, backend)
    lines = [f" {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = [word for word in words if word in COLUMNS] or [*COLUMNS]
    record(chosen, [word for word in words if word not in COLUMNS] or list_names())
