"""qnn-tflite-converter, and the other tools on TFLite models."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qairt_converter import main as qairt_converter
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert_onnx
from edgewright.tools.qnn_tflite_converter import main
from edgewright.tools.umbrella import main as umbrella
from tests.unit.frontends.tflite.cases import single, x
from tests.unit.frontends.tflite.flow_cases import total
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, model

INT8 = Path(__file__).parents[2] / "examples" / "models" / "mnist_dscnn_int8.tflite"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A float network with a tensor that nobody reads."""
    tensors = [x(1, 4, 4, 2), Tensor((1, 4, 4, 2), name="y"), Tensor((1, 4, 4, 2), name="loose")]
    operators = [Operator("RELU", [0], [1]), Operator("NEG", [0], [2])]
    path = tmp_path / "net.tflite"
    signatures = [("serving_default", 0, {"image": 0}, {"out": 1})]
    path.write_bytes(model(Subgraph(tensors, [0], [1], operators), signatures=signatures))
    return path


def test_a_model_is_written_in_its_three_files(call, network, tmp_path):
    answer = call(main, "-i", network, "-o", tmp_path / "out" / "m.cpp")
    assert (answer.code, "NHWC" in answer.out) == (0, False)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["m.bin", "m.cpp", "m_net.json"]
    tensors = json.loads((tmp_path / "out" / "m_net.json").read_text())["graph"]["tensors"]
    assert tensors["x"]["dims"] == [1, 4, 4, 2]


def test_the_converter_of_another_framework_says_whose_model_it_is(call, network, tmp_path):
    answer = call(convert_onnx, "-i", network, "-o", tmp_path / "m.cpp")
    assert (answer.code, "is a model of TFLite, which has qnn-tflite-converter" in answer.err) == (0, True)
    assert "which has" not in call(main, "-i", network, "-o", tmp_path / "m.cpp").err


def test_the_architecture_is_checked_where_that_is_asked_for(call, network, tmp_path):
    answer = call(main, "-i", network, "-o", tmp_path / "m.cpp", "--arch_checker")
    assert (answer.code, (tmp_path / "m_net.json").exists()) == (0, True)
    rows = (tmp_path / "m_architecture_checker.csv").read_text().splitlines()
    assert rows[0].startswith("Graph/Node_name,Issue,Recommendation,Type,Input_tensor_name:[dims]")
    assert f"architecture check: {len(rows) - 1} issues" in " ".join(answer.out.split())
    plain = call(main, "-i", network, "-o", tmp_path / "other.cpp")
    assert "architecture check" not in plain.out


def test_an_input_is_resized_by_its_own_name_or_the_signatures(call, network, tmp_path):
    for name in ("x", "image"):
        assert call(main, "-i", network, "-d", name, "3,4,4,2", "-o", tmp_path / "m.cpp").code == 0
        assert ew.load(tmp_path / "m_net.json").inputs[0].shape == (3, 4, 4, 2)


def test_a_quantized_model_stays_quantized_in_every_format(call, tmp_path):
    assert call(main, "-i", INT8, "-o", tmp_path / "m.cpp").code == 0
    assert call(qairt_converter, "-i", INT8, "-o", tmp_path / "m.dlc").code == 0
    image = np.random.default_rng(0).uniform(0, 1, (1, 28, 28, 1)).astype(np.float32)
    wanted = ew.convert(INT8).run({"serving_default_image:0": image})
    for name in ("m_net.json", "m.dlc"):
        stored = ew.load(tmp_path / name)
        assert stored.inputs[0].dtype == "sfixed_point_8"
        (found,) = stored.run({stored.inputs[0].name: image}).values()
        np.testing.assert_array_equal(found, *wanted.values())


def test_the_quantizer_of_qairt_finds_the_models_own_encodings(call, tmp_path):
    answer = call(qairt_converter, "-i", INT8, "-o", tmp_path / "m.dlc", "--float_fallback")
    assert (answer.code, "from the model" in answer.out) == (0, True)
    assert ew.load(tmp_path / "m.dlc").graph.types["serving_default_image:0"].encoding is not None


def test_a_float_model_is_quantized_with_samples(call, network, tmp_path):
    np.linspace(-1, 3, 32, dtype=np.float32).tofile(tmp_path / "a.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'a.raw'}\n")
    answer = call(main, "-i", network, "-o", tmp_path / "m.cpp", "--input_list", tmp_path / "list.txt")
    assert answer.code == 0
    assert ew.load(tmp_path / "m_net.json").inputs[0].dtype == "ufixed_point_8"


def test_a_quantized_model_goes_through_the_quantizer_with_its_own_encodings(call, tmp_path):
    np.zeros((1, 28, 28, 1), np.float32).tofile(tmp_path / "a.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'a.raw'}\n")
    answer = call(main, "-i", INT8, "-o", tmp_path / "m.cpp", "--input_list", tmp_path / "list.txt")
    assert answer.code == 0
    graph = ew.load(tmp_path / "m_net.json").graph
    assert graph is not None
    assert graph.types[graph.inputs[0]].encoding.scales == pytest.approx((1 / 255,), rel=1e-4)


def test_unread_tensors_are_listed_and_the_graph_is_dumped(call, network, tmp_path):
    words = ("--show_unconsumed_nodes", "--dump_relay", tmp_path / "graph.txt")
    answer = call(main, "-i", network, "-o", tmp_path / "m.cpp", *words)
    assert "nothing reads 'loose'" in answer.out
    assert (tmp_path / "graph.txt").read_text().startswith("graph main {")


def test_variables_are_explained(call, tmp_path):
    (tmp_path / "m.tflite").write_bytes(total().data)
    answer = call(main, "-i", tmp_path / "m.tflite", "-o", tmp_path / "m.cpp")
    assert "give it 'sum_out' of the run before, and 5 at first" in " ".join(answer.out.split())


def test_an_unknown_signature_is_a_usage_error(call, network, tmp_path):
    answer = call(main, "-i", network, "-o", tmp_path / "m.cpp", "--signature_name", "serving")
    assert (answer.code, "serving_default" in answer.err) == (2, True)
    answer = call(qairt_converter, "-i", network, "-o", tmp_path / "m.dlc", "--tflite_signature_name", "n")
    assert answer.code == 2


def test_unsupported_ops_end_with_4_and_write_nothing(call, tmp_path):
    (tmp_path / "m.tflite").write_bytes(single("a", "Magic", [x(2)]).data)
    answer = call(main, "-i", tmp_path / "m.tflite", "-o", tmp_path / "out" / "m.cpp")
    assert (answer.code, "custom op 'Magic'" in answer.err) == (4, True)
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_ends_with_3(call, tmp_path):
    (tmp_path / "m.tflite").write_bytes(INT8.read_bytes()[:5000])
    answer = call(main, "-i", tmp_path / "m.tflite", "-o", tmp_path / "m.cpp")
    assert (answer.code, "the TFLite model is damaged" in answer.err) == (3, True)


def test_inspect_and_run_take_the_model(call):
    answer = call(umbrella, "inspect", INT8)
    assert (answer.code, "DEPTHWISE_CONV_2D" in answer.out) == (0, True)
    answer = call(umbrella, "run", INT8, "--random")
    assert (answer.code, "StatefulPartitionedCall_1:0" in answer.out) == (0, True)


def test_net_run_runs_what_was_converted(call, tmp_path):
    call(main, "-i", INT8, "-o", tmp_path / "m.cpp")
    np.zeros((1, 28, 28, 1), np.float32).tofile(tmp_path / "a.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'a.raw'}\n")
    words = ("--input_list", tmp_path / "list.txt", "--output_dir", tmp_path / "found")
    answer = call(net_run, "--model", tmp_path / "m_net.json", "--backend", "libQnnCpu.so", *words)
    assert answer.code == 0
    (raw,) = (tmp_path / "found").rglob("*.raw")
    assert np.fromfile(raw, np.float32).sum() == pytest.approx(1, abs=0.05)


def test_a_comparison_is_made_with_litert_or_says_what_it_needs(call):
    answer = call(umbrella, "run", INT8, "--random", "--compare")
    if find_spec("ai_edge_litert") is None:
        assert (answer.code, "edgewright[tflite]" in answer.err) == (6, True)
    else:
        assert (answer.code, "in LiteRT" in answer.out) == (0, True)


def test_a_comparison_of_variables_points_to_python(call, tmp_path):
    (tmp_path / "m.tflite").write_bytes(total().data)
    answer = call(umbrella, "run", tmp_path / "m.tflite", "--random", "--compare")
    assert (answer.code, "model.states" in answer.err) == (2, True)
