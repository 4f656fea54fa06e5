"""What the quantizer can make, every artifact can hold, and it comes back with the same outputs."""

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.algorithms import ALGORITHMS
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.ir.op import REGISTRY
from edgewright.ir.types import TensorType
from edgewright.lower.names import sanitize_name
from edgewright.model.model import Model
from edgewright.model.quantize import quantize_model
from edgewright.ops.activation import HardSwish
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.schemes import SCHEMES
from edgewright.quantize.weights.even_channels import measure_channel_reach
from edgewright.quantize.weights.gates import list_values_before_gates, split_gates
from tests.unit.ops.test_samples import IDS, SAMPLES, graph_of
from tests.unit.quantize.nets import Engine, Net, samples

PRECISIONS = {
    "w8a8": {},
    "w8a16": {"act_bw": 16},
    "w4a8": {"weight_bw": 4},
    "w4a16": {"weight_bw": 4, "act_bw": 16},
    "w16a16": {"weight_bw": 16, "act_bw": 16},
    "fp16": {"float_bw": 16},
    "a matrix": {"per_channel": False},
    "blocks": {"weight_bw": 4, "act_bw": 16, "block_size": 3},
    "bias 8": {"bias_bw": 8},
    "symmetric": {"act_schema": "symmetric", "param_schema": "symmetric"},
    "all fixed": {"is_fragile_float": False},
    "before Relu": {"disable_relu_squashing": True},
    "wide products": {"use_dynamic_16_bit_weights": True},
}
WAYS = {
    **PRECISIONS,
    **{f"activations {name}": {"act_quantizer": name} for name in (*SCHEMES, "auto")},
    **{f"weights {name}": {"param_quantizer": name} for name in SCHEMES},
    **{name: {"algorithms": (name,)} for name in ALGORITHMS},
    "all": {"algorithms": tuple(ALGORITHMS)[:-1], "act_quantizer": "auto"},
    "4 bits": {"weight_bw": 4, "act_quantizer": "auto", "algorithms": ("auto",)},
}
# One sample an op in the fast run; none for ops whose inputs are no real numbers.
FIRST = {sample.op.qnn_name(): name for sample, name in reversed(list(zip(SAMPLES, IDS, strict=True)))}


def cnn(op) -> Model:
    """Convolutions with an activation between them, a sum and a head."""
    net = Net(1, 6, 6, 4)
    x = net.unary(op, net.depthwise(net.unary(op, net.conv(net.x, 6))))
    pooled = net.emit(ReduceMean(axes=(1, 2)), net.emit(ElementWiseAdd(), x, net.conv(x, 6, size=1)))
    return Model.of(net.done(net.emit(Softmax(axis=1), net.dense(pooled, 5))))


def rows(op) -> Model:
    """Rows of numbers through two products with an activation between them."""
    net = Net(2, 5, 6)
    hidden = net.unary(op, net.dense_rows(net.x, 12))
    return Model.of(net.done(net.emit(ElementWiseAdd(), net.dense_rows(hidden, 6), net.x)))


def list_activations():
    """Every sample of an op that gives an array of numbers for one of the same shape."""
    for kind in REGISTRY.values():
        for sample in kind.samples():
            given = sample.inputs[0] if len(sample.inputs) == 1 else None
            is_computed = sample.op.has_reference() and sample.op.is_pure
            if isinstance(given, TensorType) and is_computed and _keeps_shapes(sample.op):
                yield f"{kind.qnn_name()}-{sample.label}", sample.op.canonical()


def _keeps_shapes(op) -> bool:
    try:
        types = [op.infer(TensorType(shape)) for shape in ((1, 6, 6, 6), (2, 5, 12))]
    except (EdgewrightError, ArithmeticError, LookupError, ValueError, TypeError):
        return False
    return types == [(TensorType((1, 6, 6, 6)),), (TensorType((2, 5, 12)),)]


def check_artifacts(quantized: Model, feed, folder) -> None:
    """Each file gives the outputs of the model in memory, on each engine that runs it."""
    with np.errstate(all="ignore"):
        wanted = {engine: quantized.run(feed, backend=engine, threads=1) for engine in engines(quantized)}
        loaded = {
            "net.json": ew.load(quantized.save(folder / "m.cpp").net_json),
            "dlc": ew.load(quantized.save(folder / "m.dlc").dlc),
        }
        for file, model in loaded.items():
            stored = {name: array.reshape(model.graph.types[name].shape) for name, array in feed.items()}
            for engine, outputs in wanted.items():
                check_same(model.run(stored, backend=engine, threads=1), outputs, f"{file} on {engine}")
        if "htp-sim" in wanted:
            compiled = ew.compile(quantized, folder / "context.bin", backend="htp-sim")
            outputs = {sanitize_name(name): array for name, array in wanted["htp-sim"].items()}
            check_same(compiled.run(feed), outputs, "context")


def check_native(quantized: Model, feed, folder) -> bool:
    """The same on the genuine libraries; False where they refuse the model, which is an answer, too."""
    try:
        wanted = quantized.run(feed, backend="htp-native")
    except EdgewrightError as refusal:
        if refusal.exit_code not in {3, 4}:
            raise
        return False
    for file, path in (("net.json", quantized.save(folder / "n.cpp").net_json), ("dlc", folder / "m.dlc")):
        model = ew.load(path)
        stored = {name: array.reshape(model.graph.types[name].shape) for name, array in feed.items()}
        check_same(model.run(stored, backend="htp-native"), wanted, f"{file} on htp-native")
    compiled = ew.compile(quantized, folder / "native.bin", backend="htp-native")
    outputs = {sanitize_name(name): array for name, array in wanted.items()}
    check_same(compiled.run(feed), outputs, "native context")
    return True


def engines(model: Model) -> list[str]:
    """HTP has no single precision."""
    types = {t.dtype for node in model.graph.nodes for t in model.graph.output_types(node)}
    return ["cpu"] if DType.FLOAT_32 in types else ["cpu", "htp-sim"]


def check_same(found, wanted, where: str) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name].reshape(array.shape), array, f"{where}, output {name}")


def check_onnx(quantized: Model, feed, folder) -> None:
    """ONNX Runtime rounds some sums otherwise: a few steps."""
    options = onnxruntime.SessionOptions()
    # Its later rewrites take signed rows of numbers for unsigned ones, and then refuse them.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    path = str(quantized.save(folder / "m.onnx").onnx)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    halves = {item.name: "float16" in item.type for item in session.get_inputs()}
    given = {name: array.astype(np.float16) if halves[name] else array for name, array in feed.items()}
    with np.errstate(all="ignore"):
        wanted = quantized.run(feed, threads=1)
    names = [item.name for item in session.get_outputs()]
    for name, array in zip(names, session.run(names, given), strict=True):
        reach = float(np.nanmax(np.abs(wanted[name]))) or 1.0
        np.testing.assert_allclose(array, wanted[name], rtol=0, atol=0.05 * reach)


def has_onnx_form(model: Model, folder) -> bool:
    """Whether ONNX has the ops of the float model."""
    try:
        return bool(model.save(folder / "float.onnx"))
    except EdgewrightError:
        return False


def check_encodings(model: Model, quantized: Model, request, data, folder) -> None:
    """The encodings as overrides make the same model, where no weight was changed before it was rounded."""
    again = quantize(model, {**request, "overrides": load_encodings(quantized.encodings())}, data)
    with np.errstate(all="ignore"):
        check_same(again.run(data[0], threads=1), quantized.run(data[0], threads=1), "encodings")


def quantize(model: Model, request, data):
    with np.errstate(all="ignore"):
        return quantize_model(model, QuantizationRequest(**request), data, CpuExecutor(1))


def list_op_cases():
    """The first sample of each op in 8 bits, fast; every sample in a third of the precisions."""
    for row, (sample, name) in enumerate(zip(SAMPLES, IDS, strict=True)):
        if sample.op.begin_session() is not sample.op:
            continue  # what remembers earlier runs gives other results in another run
        for column, precision in enumerate(PRECISIONS):
            is_fast = precision == "w8a8" and FIRST[sample.op.qnn_name()] == name
            if is_fast or (row + column) % 3 == 0:
                marks = () if is_fast else choose_mark(row + column, 24)
                yield pytest.param(sample, precision, id=f"{name}-{precision}", marks=marks)


def choose_mark(number: int, share: int):
    """Some cases are run with what is slow, all of them where everything is."""
    return pytest.mark.slow if number % share == 0 else pytest.mark.exhaustive


def list_network_cases():
    """Every activation with a sixth of the ways, every way with a sixth of the activations."""
    for row, (name, op) in enumerate(list_activations()):
        for column, way in enumerate(WAYS):
            if (row + column) % 6 == 0:
                yield pytest.param(op, way, id=f"{name}-{way}", marks=choose_mark(row + column, 48))


@pytest.mark.parametrize(("sample", "precision"), list(list_op_cases()))
def test_every_op_in_every_precision(sample, precision, tmp_path):
    graph, feed = graph_of(sample)
    if not sample.op.has_reference() or not any(array.dtype.kind == "f" for array in feed.values()):
        return
    model = Model.of(graph)
    try:
        model.save(tmp_path / "float.dlc")
    except EdgewrightError:
        return  # as a float model, too
    quantized = quantize(model, PRECISIONS[precision], [feed])
    check_artifacts(quantized, feed, tmp_path)
    if precision != "fp16":
        check_encodings(model, quantized, PRECISIONS[precision], [feed], tmp_path)


@pytest.mark.parametrize(("op", "way"), list(list_network_cases()))
def test_every_algorithm_beside_every_activation(op, way, tmp_path):
    request = WAYS[way]
    for model in (cnn(op), rows(op)):
        data = samples(model.graph)
        if not all(np.isfinite(array).all() for feed in data for array in model.run(feed).values()):
            continue
        quantized = quantize(model, request, data)
        check_artifacts(quantized, data[0], tmp_path)
        if has_onnx_form(model, tmp_path):
            check_onnx(quantized, data[0], tmp_path)
        if "algorithms" not in request and request.get("act_quantizer") != "auto" and way != "fp16":
            check_encodings(model, quantized, request, data, tmp_path)


def list_native_cases():
    """The first sample of every fourth op, in one precision after the other."""
    precisions = ("w8a8", "w8a16", "fp16")
    for row, name in enumerate(sorted(FIRST.values())[::4]):
        precision = precisions[row % len(precisions)]
        yield pytest.param(SAMPLES[IDS.index(name)], precision, id=f"{name}-{precision}")


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "precision"), list(list_native_cases()))
def test_what_the_libraries_compile_gives_what_the_model_gives_on_them(sample, precision, tmp_path):
    pytest.importorskip("onnxruntime_qnn")
    graph, feed = graph_of(sample)
    if not sample.op.has_reference() or not any(array.dtype.kind == "f" for array in feed.values()):
        return
    model = Model.of(graph)
    try:
        model.save(tmp_path / "float.dlc")
    except EdgewrightError:
        return
    quantized = quantize(model, PRECISIONS[precision], [feed])
    quantized.save(tmp_path / "m.dlc")
    if "htp-sim" in engines(quantized) and not check_native(quantized, feed, tmp_path):
        pytest.skip("the libraries refuse it")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["w8a8", "w8a16", "w4a16", "fp16", "all"])
def test_networks_come_back_from_native_contexts(way, tmp_path):
    pytest.importorskip("onnxruntime_qnn")
    for model in (cnn(HardSwish()), rows(HardSwish())):
        data = samples(model.graph)
        quantized = quantize(model, WAYS[way], data)
        quantized.save(tmp_path / "m.dlc")
        assert check_native(quantized, data[0], tmp_path)


@pytest.mark.parametrize("way", ["blocks", "all", "w4a16"])
def test_networks_come_back_from_every_artifact(way, tmp_path):
    request = WAYS[way]
    for model in (cnn(HardSwish()), rows(HardSwish())):
        data = samples(model.graph)
        quantized = quantize(model, request, data)
        check_artifacts(quantized, data[0], tmp_path)
        check_onnx(quantized, data[0], tmp_path)


def test_a_hard_swish_that_the_search_took_apart_comes_back(tmp_path):
    model = cnn(HardSwish())
    data = samples(model.graph)
    reach = measure_channel_reach(model.graph, list_values_before_gates(model.graph), data, Engine())
    apart, count = split_gates(model.graph, reach)
    assert count == 1
    check_artifacts(quantize(Model.of(apart), {}, data), data[0], tmp_path)
