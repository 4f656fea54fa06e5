"""Parts of an evaluation as tasks: what travels, what is shared, how long lists are split."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.config.params import Params
from edgewright.sdk.converter import prepare_conversion, write_conversion
from edgewright.sdk.evaluator import schema_runs
from edgewright.sdk.evaluator.converter_options import EvaluatedModel, make_converter_options
from edgewright.sdk.evaluator.execution import replace_output
from edgewright.sdk.evaluator.schemas import InferenceSchema
from edgewright.sdk.evaluator.shared_inputs import read_options, share_options, share_rows, write_list
from edgewright.sdk.evaluator.stored_conversions import load_conversion, store_conversion
from edgewright.tasks.engine import open_engine
from tests.cli.models import image_net
from tests.optional import NO_CLUSTER

INPUTS = 5


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image_net(tmp_path / "m.onnx")
    generator = np.random.default_rng(3)
    np.save(tmp_path / "x.npy", generator.standard_normal((INPUTS, 1, 3, 6, 6)).astype(np.float32))
    return tmp_path


def read_samples(folder: Path) -> list[np.ndarray]:
    return list(np.load(folder / "x.npy"))


def read_results(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("Result_*/*.raw"))
    }


def make_options(params: Params, precision: str = "quant"):
    schema = InferenceSchema(precision=precision, converter_params=params)
    model = EvaluatedModel("m.onnx", shapes={"image": (1, 3, 6, 6)})
    return make_converter_options(model, schema, "inputs.txt")


@pytest.mark.parametrize(
    ("params", "precision"),
    [
        ({}, "fp32"),
        ({}, "fp16"),
        ({"param_quantizer": ("enhanced",), "algorithms": ("cle",), "act_bw": ("16",)}, "quant"),
        (
            {"use_per_channel_quantization": ("True",), "preserve_io": ("layout",), "weight_bw": ("4",)},
            "quant",
        ),
        ({"input_dtype": ("image float32",), "out_node": ("features",), "dry_run": ("info",)}, "quant"),
        ({"quantization_overrides": ("o.json",)}, "quant"),
    ],
)
def test_options_reach_a_task_as_they_are_and_files_by_content(here, params, precision):
    (here / "o.json").write_text(json.dumps({"activation_encodings": {}, "param_encodings": {}}))
    options = make_options(params, precision)
    with open_engine(here / "store", workers=0) as engine:
        shared = json.loads(json.dumps(share_options(options, engine.share_files)))
        read = read_options(shared, engine.fetch_files)
    assert replace(read, quantizer=options.quantizer) == options
    overrides = read.quantizer.quantization_overrides
    assert replace(read.quantizer, quantization_overrides=None) == replace(
        options.quantizer, quantization_overrides=None
    )
    assert (overrides is None) == ("quantization_overrides" not in params)
    assert overrides is None or Path(overrides).read_bytes() == (here / "o.json").read_bytes()


def test_what_a_file_of_an_option_holds_is_part_of_the_task(here):
    options = make_options({"quantization_overrides": ("o.json",)})
    shares = []
    with open_engine(here / "store", workers=0) as engine:
        for text in ('{"a": 1}', '{"a": 2}', '{"a": 1}'):
            (here / "o.json").write_text(text)
            shares.append(share_options(options, engine.share_files))
    assert shares[0] == shares[2] != shares[1]


def add_quantizers(file: Path) -> None:
    """Gives the network encodings of its own, so that a conversion has some to carry."""
    model = onnx.load(file)
    first = model.graph.node[0]
    source = first.input[0]
    constants = {"qdq_scale": np.float32(0.05), "qdq_zero": np.uint8(128)}
    for name, value in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    pair = [
        onnx.helper.make_node("QuantizeLinear", [source, *constants], ["qdq_q"]),
        onnx.helper.make_node("DequantizeLinear", ["qdq_q", *constants], ["qdq_x"]),
    ]
    first.input[0] = "qdq_x"
    for node in reversed(pair):
        model.graph.node.insert(0, node)
    onnx.save(model, file)


@pytest.mark.parametrize("has_encodings", [False, True])
def test_a_conversion_that_was_stored_is_written_as_the_one_it_was(here, has_encodings):
    if has_encodings:
        add_quantizers(here / "m.onnx")
    samples = share_list(here)
    options = make_options({"preserve_io": ("layout",), "use_per_channel_quantization": ("True",)})
    options = replace(options, quantizer=replace(options.quantizer, input_list=str(samples)))
    prepared = prepare_conversion(options)
    assert bool(prepared.encodings) == has_encodings
    store_conversion(prepared, here / "stored")
    for name, conversion in (("a", prepared), ("b", load_conversion(here / "stored"))):
        (here / name).mkdir()
        write_conversion(conversion, replace_output(options, here / name / "model.cpp"))
    for path in (here / "a").iterdir():
        assert path.read_bytes() == (here / "b" / path.name).read_bytes(), path.name


def share_list(here: Path) -> Path:
    """An input list that went through a store; the folder has a space in its name."""
    folder = here / "my samples"
    folder.mkdir()
    for number, sample in enumerate(read_samples(here)):
        sample.tofile(folder / f"{number}.raw")
    rows = [{"image": folder / f"{number}.raw"} for number in range(INPUTS)]
    with open_engine(here / "store", workers=0) as engine:
        shared = json.loads(json.dumps(share_rows(rows, engine.share_files)))
        return write_list(shared, engine.fetch_files, here / "list.txt")


def test_long_lists_are_run_in_parts_with_the_same_results(here, monkeypatch):
    whole = ew.evaluate("m.onnx", read_samples(here), folder="whole", workers=0)
    monkeypatch.setattr(schema_runs, "PART", 2)
    parts = ew.evaluate("m.onnx", read_samples(here), folder="parts", workers=0)
    assert [(item.name, item.match) for item in parts.ranked] == [
        (item.name, item.match) for item in whole.ranked
    ]
    assert read_results(here / "parts") == read_results(here / "whole")
    assert parts.work == whole.work
    # A part that is lost is computed again, and nothing else.
    outcomes = [
        (path, json.loads(path.read_bytes())) for path in (here / "parts/.tasks/results").rglob("*.json")
    ]
    runs = [path for path, outcome in outcomes if outcome.get("value", {}).keys() == {"files", "notes"}]
    assert len(runs) == 3 * (whole.work.quantized_runs + whole.work.float_runs)
    runs[0].unlink()
    again = ew.evaluate("m.onnx", read_samples(here), folder="parts", workers=0)
    assert (again.work.conversions, again.work.quantizations) == (0, 0)
    assert again.work.quantized_runs + again.work.float_runs == 1
    assert read_results(here / "parts") == read_results(here / "whole")


def test_another_comparator_computes_nothing_again_and_other_inputs_do(here):
    samples = read_samples(here)
    first = ew.evaluate("m.onnx", samples, folder="out", workers=0)
    again = ew.evaluate("m.onnx", samples, comparator="cos", folder="out", workers=0)
    assert (first.work.quantizations, again.work) == (32, replace(again.work, **dict.fromkeys(WORK, 0)))
    assert {item.name for item in again.ranked} == {item.name for item in first.ranked}
    assert read_results(here / "out")
    other = ew.evaluate("m.onnx", samples[:-1], folder="out", workers=0)
    assert (other.work.conversions, other.work.quantizations, other.work.float_runs) == (0, 32, 1)
    assert not (here / "out/infer/schema0_qnn_cpu_fp32/Result_4").exists()


WORK = ("conversions", "quantizations", "float_runs", "quantized_runs", "source_runs")


@pytest.mark.slow
@pytest.mark.parametrize("place", [{"workers": 2}, {"cluster": "local:2"}])
def test_processes_and_a_cluster_give_the_same_bytes(here, place):
    if "cluster" in place:
        pytest.importorskip("distributed", reason=NO_CLUSTER)
    samples = read_samples(here)
    here_alone = ew.evaluate("m.onnx", samples, folder="alone", workers=0)
    elsewhere = ew.evaluate("m.onnx", samples, folder="elsewhere", **place)
    assert elsewhere.work == here_alone.work
    assert read_results(here / "elsewhere") == read_results(here / "alone")
    csv = [(here / name / "metrics-info.csv").read_bytes() for name in ("alone", "elsewhere")]
    assert csv[0] == csv[1]
