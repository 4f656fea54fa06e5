"""The classes of the Edge AI course: its code runs as printed, and does what it leaves open."""

import math
import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from tests.cli.models import DIGITS_MODEL

OUTPUT = "Plus214_Output_0"


def digits(count, seed=4):
    generator = np.random.default_rng(seed)
    return [generator.random((1, 1, 28, 28), np.float32) * 255 for _ in range(count)]


@pytest.fixture(scope="module")
def quantized():
    return ew.quantize(DIGITS_MODEL, [{"Input3": image} for image in digits(4)])


@pytest.fixture
def two_inputs_and_outputs(tmp_path):
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("a", "b", "s", "d")]
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Sub", ["a", "b"], ["d"])]
    graph = helper.make_graph(nodes, "net", io[:2], io[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "two.onnx")
    return tmp_path / "two.onnx"


def test_inference_gives_what_the_model_gives(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim")
    (image,) = digits(1, seed=9)
    stored = quantized.run({"Input3": engine.preprocess_input(image)}, backend="htp-sim")[OUTPUT]
    np.testing.assert_allclose(engine.inference(image), stored, rtol=1e-3)


def test_preprocessing_quantizes_as_the_course_writes_it(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim")
    (image,) = digits(1, seed=10)
    wanted = np.clip(np.round(image / engine.input_scale + engine.input_offset), 0, 255).astype(np.uint8)
    found = engine.preprocess_input(image)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - wanted).max() <= 1
    assert (found == wanted).mean() > 0.99
    exact = quantized.graph.types["Input3"]
    np.testing.assert_array_equal(found, exact.encoding.encode(image, exact.dtype))


def test_postprocessing_brings_real_numbers_back(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim")
    stored = np.arange(10, dtype=np.uint8).reshape(1, 10)
    wanted = (stored.astype(np.float32) - engine.output_offset) * engine.output_scale
    np.testing.assert_allclose(engine.postprocess_output(stored), wanted, rtol=1e-6)


def test_prepared_inputs_are_kept_apart(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim")
    first, second = (engine.preprocess_input(image) for image in digits(2))
    assert not np.shares_memory(first, second)


def test_threads_do_not_write_into_the_buffers_of_each_other(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim", reuse_buffers=True)
    (image,) = digits(1)
    found = [engine.preprocess_input(image)]
    thread = threading.Thread(target=lambda: found.append(engine.preprocess_input(image)))
    thread.start()
    thread.join()
    assert not np.shares_memory(*found)


def test_buffers_are_reused_only_where_that_was_asked_for(quantized):
    first, second = digits(2, seed=11)
    safe, quick = (ew.QNNInference(quantized, "htp-sim", reuse_buffers=flag) for flag in (False, True))
    kept, wanted = safe.inference(first), safe.inference(first).copy()
    safe.inference(second)
    np.testing.assert_array_equal(kept, wanted)
    shared = quick.inference(first)
    assert quick.inference(second) is shared


def test_a_float_model_is_not_quantized():
    engine = ew.QNNInference(DIGITS_MODEL, backend="cpu")
    (image,) = digits(1)
    assert not engine.is_quantized
    assert (engine.input_scale, engine.input_offset) == (1.0, 0)
    np.testing.assert_array_equal(
        engine.inference(image), ew.convert(DIGITS_MODEL).run({"Input3": image})[OUTPUT]
    )


def test_several_inputs_and_outputs_are_named(two_inputs_and_outputs):
    engine = ew.QNNInference(two_inputs_and_outputs, backend="cpu")
    feed = {name: np.full((1, 4), value, np.float32) for name, value in (("a", 3), ("b", 1))}
    found = engine.inference(feed)
    assert (float(found["s"][0, 0]), float(found["d"][0, 0])) == (4, 2)
    with pytest.raises(ew.EdgewrightError, match="one array was given for 2 tensors"):
        engine.inference(feed["a"])
    with pytest.raises(ew.EdgewrightError, match="'b' is missing"):
        engine.inference({"a": feed["a"]})


def test_a_context_binary_runs_where_it_is_for(quantized, tmp_path):
    compiled = ew.compile(quantized, tmp_path / "digits.bin", backend="htp-sim")
    (image,) = digits(1, seed=12)
    engine = ew.QNNInference(tmp_path / "digits.bin")
    assert "simulation" in engine.backend
    (wanted,) = compiled.run({"Input3": image}).values()
    np.testing.assert_allclose(engine.inference(image), wanted, rtol=1e-5)


def test_a_wrong_shape_is_said_with_the_right_one(quantized):
    engine = ew.QNNInference(quantized, backend="htp-sim")
    with pytest.raises(ew.EdgewrightError, match=r"\[1, 28\], expected \[1, 1, 28, 28\]"):
        engine.inference(np.zeros((1, 28), np.float32))


def test_the_profiler_has_the_keys_of_the_course():
    calls = []
    profiler = ew.QNNProfiler()
    found = profiler.profile_inference(calls.append, 3, num_runs=20, name="appending")
    keys = ("avg_latency_ms", "p95_latency_ms", "p99_latency_ms", "throughput_fps", "avg_cpu_usage")
    assert {*keys, "avg_memory_delta_mb"} <= found.keys()
    assert len(calls) == 21
    assert found["throughput_fps"] == pytest.approx(1000 / found["avg_latency_ms"])
    assert all(math.isfinite(value) for value in found.values())
    assert profiler.metrics["appending"] == found
    with pytest.raises(ew.EdgewrightError, match="num_runs is 0"):
        profiler.profile_inference(calls.append, 3, num_runs=0)


def test_the_selector_chooses_as_in_the_course():
    info = {"operations": ["Conv2d", "ReLU", "Dense"], "max_tensor_size": 4 << 20, "precision": "int8"}
    requirements = {"power_critical": True, "performance_critical": True}
    assert ew.BackendSelector().select_optimal_backend(info, requirements) == "htp"


@pytest.mark.parametrize(
    ("info", "chosen"),
    [
        ({"operations": ["NoSuchOp"], "max_tensor_size": 1 << 20}, {"gpu", "cpu"}),
        ({"operations": ["Conv2d"], "max_tensor_size": 100 << 20}, {"cpu"}),
    ],
)
def test_the_selector_knows_limits(info, chosen):
    assert ew.BackendSelector().select_optimal_backend(info) in chosen


@pytest.mark.parametrize(
    ("info", "requirements"),
    [
        ({"operations": "Conv2d"}, {}),
        ({"operations": [], "max_tensor_size": "big"}, {}),
        ({"operations": []}, {"power_critcal": True}),
    ],
)
def test_odd_words_for_the_selector_are_errors(info, requirements):
    with pytest.raises(ew.EdgewrightError):
        ew.BackendSelector().select_optimal_backend(info, requirements)


def test_every_backend_says_whether_it_is_there():
    found = ew.check_backend_support()
    assert found["cpu"].is_available
    assert found["htp"].is_available
    assert found["lpai"].detail == "lpai (simulation)"
    assert found["gpu"].detail.startswith("gpu (") == found["gpu"].is_available
    assert not found["hta"].is_available


def test_statistics_of_live_inference_become_encodings():
    dynamic = ew.DynamicQuantization(DIGITS_MODEL)
    images = digits(5)
    plain = ew.convert(DIGITS_MODEL)
    for image in images:
        found = dynamic.inference(image)[OUTPUT]
        np.testing.assert_array_equal(found, plain.run({"Input3": image})[OUTPUT])
    params = dynamic.compute_quantization_params()
    highest = max(float(image.max()) for image in images)
    assert params["Input3"]["max"] == pytest.approx(highest, rel=1e-5)
    assert params["Input3"]["scale"] == pytest.approx(highest / 255, rel=1e-5)
    config = dynamic.apply_quantization(params)
    assert config["activation_encodings"]["Input3"]["bitwidth"] == 8
    assert config["param_encodings"]


def test_what_was_collected_makes_a_model_in_fixed_point():
    dynamic = ew.DynamicQuantization(DIGITS_MODEL)
    dynamic.collect_statistics(digits(6))
    quantized = dynamic.quantize()
    kinds = {type(n.op).__name__: quantized.graph.types[n.outputs[0]].dtype for n in quantized.graph.nodes}
    assert kinds["Conv2d"].is_fixed_point
    (image,) = digits(1, seed=21)
    wanted = ew.convert(DIGITS_MODEL).run({"Input3": image})[OUTPUT]
    error = quantized.run({"Input3": image})[OUTPUT] - wanted
    assert np.abs(error).max() < 0.1 * np.abs(wanted).max()
    again = ew.quantize(
        DIGITS_MODEL, overrides=dynamic.apply_quantization(dynamic.compute_quantization_params())
    )
    np.testing.assert_array_equal(
        again.run({"Input3": image})[OUTPUT], quantized.run({"Input3": image})[OUTPUT]
    )


def test_encodings_without_statistics_are_refused():
    with pytest.raises(ew.EdgewrightError, match="no statistics were collected"):
        ew.DynamicQuantization(DIGITS_MODEL).compute_quantization_params()


def test_infinite_activations_are_refused_with_their_tensor():
    with pytest.raises(ew.EdgewrightError, match="Input3"):
        ew.DynamicQuantization(DIGITS_MODEL).inference(np.full((1, 1, 28, 28), np.inf, np.float32))


def test_the_debugger_names_the_slowest_layers_and_what_helps():
    debugger = ew.QNNDebugger(DIGITS_MODEL)
    layers = debugger.profile_layers(digits(1)[0], num_runs=5)
    assert [layer.time for layer in layers] == sorted((layer.time for layer in layers), reverse=True)
    assert debugger.layer_timings["Times212"] > 0
    assert len(debugger.analyze_bottlenecks(top=2)) == 2
    said = " ".join(debugger.suggest_optimizations())
    assert "quantization" in said
    assert "Convolution" in said


def test_the_debugger_asks_for_a_run_first():
    with pytest.raises(ew.EdgewrightError, match="no layer was timed yet"):
        ew.QNNDebugger(DIGITS_MODEL).analyze_bottlenecks()


def test_the_check_of_a_range_is_at_hand():
    data = np.linspace(-1, 1, 100, dtype=np.float32)
    assert ew.validate_quantization_range(data, 2 / 255, 128, threshold=1e-4).is_valid
    assert not ew.validate_quantization_range(data, 0.5 / 255, 128).is_valid


def test_the_debugger_names_the_layers_in_the_order_in_which_they_run(quantized):
    debugger = ew.QNNDebugger(quantized, backend="cpu")
    names = debugger.get_layer_names()
    debugger.profile_layers({"Input3": digits(1)[0]}, num_runs=1)
    assert len(names) > 4
    assert set(debugger.layer_timings) <= set(names)
