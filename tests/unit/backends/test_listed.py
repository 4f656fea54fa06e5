"""DSP and LPAI: what QNN lists for them is computed, everything else is refused with its reason."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.listed import DSP, LPAI, _say_that_it_is_simulated, make_dsp, make_lpai
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError, UnsupportedFeature
from edgewright.ir.op import REGISTRY
from edgewright.targets.processor_ops import find_datatypes, read_processor_ops
from edgewright.tools.qnn_net_run import main as net_run
from tests.cli.models import DIGITS_MODEL

IMAGES = np.random.default_rng(4).random((8, 1, 1, 28, 28), np.float32)
FEED = {"Input3": IMAGES[0]}


@pytest.fixture(scope="module")
def model():
    return ew.convert(DIGITS_MODEL)


def quantize(model, **more):
    return ew.quantize(model, [{"Input3": image} for image in IMAGES], **more)


@pytest.mark.parametrize("name", [*DSP.libraries[:3], "dsp", "/opt/lib/libQnnDspV66Stub.so", "QnnDsp.dll"])
def test_every_name_of_the_dsp_runs_a_model_of_8_bits_and_one_scale(model, name):
    quantized = quantize(model, per_channel=False)
    wanted = quantized.run(FEED, backend="cpu")
    found = quantized.run(FEED, backend=name)
    for key, array in wanted.items():
        assert np.array_equal(found[key], array)


def test_a_float_model_is_refused_by_the_guide(model):
    with pytest.raises(EdgewrightError, match=r"not quantized.*reference guide of QNN"):
        model.run(FEED, backend="dsp")


def test_scales_of_channels_and_16_bits_are_refused_with_every_place(model):
    with pytest.raises(EdgewrightError, match=r"3 problems(.|\n)*8 scales along(.|\n)*reference guide"):
        quantize(model).run(FEED, backend="dsp")
    with pytest.raises(EdgewrightError, match=r"UFIXED_POINT_16, QNN's op tables list"):
        quantize(model, per_channel=False, act_bw=16).run(FEED, backend="dsp")


def test_the_low_power_processor_takes_what_its_own_tables_list(model):
    with pytest.raises(EdgewrightError, match=r"in\[2\] is SFIXED_POINT_32.*low-power"):
        quantize(model, per_channel=False).run(FEED, backend="libQnnLpai.so")
    quantized = quantize(model, per_channel=False, bias_bw=8)
    found = quantized.run(FEED, backend="lpai")
    assert np.array_equal(found["Plus214_Output_0"], quantized.run(FEED, backend="cpu")["Plus214_Output_0"])


def test_an_op_without_a_table_is_refused(model):
    """Gelu is in no table of the DSP's; a network that has it names the node."""
    assert "Gelu" not in read_processor_ops("DSP")
    quantized = quantize(model, per_channel=False).graph.copy()
    node = next(node for node in quantized.nodes if node.op.qnn_name() == "Relu")
    node.op = REGISTRY["Gelu"]()
    with pytest.raises(EdgewrightError, match=f"list no Gelu for the Hexagon DSP(.|\n)*node '{node.name}'"):
        find_backend("dsp").prepare(quantized, RunOptions())
    placed = find_backend("dsp+cpu").prepare(quantized, RunOptions()).placement()
    assert placed[node.name].startswith("cpu")
    assert sum(not where.startswith("cpu") for where in placed.values()) > 3


def test_the_accelerator_without_op_tables_is_refused():
    with pytest.raises(UnsupportedFeature, match="Tensor Accelerator"):
        find_backend("libQnnHta.so")


def test_that_it_is_simulated_is_said_once(model, caplog):
    _say_that_it_is_simulated.cache_clear()
    quantized = quantize(model, per_channel=False)
    for _ in range(2):
        find_backend("libQnnDsp.so").prepare(quantized.graph, RunOptions())
    said = [line for line in caplog.messages if "is simulated" in line]
    assert len(said) == 1
    assert said[0].startswith("no libQnnDsp.so for this machine exists: the Hexagon DSP (v65, v66)")


@pytest.mark.parametrize("backend", [make_dsp(), make_lpai()])
def test_every_library_of_a_processor_leads_to_it(backend):
    assert {find_backend(name).name for name in backend.library_names} == {backend.name}


@pytest.mark.parametrize("processor", [DSP, LPAI])
def test_every_listed_op_is_one_of_ours(processor):
    tables = read_processor_ops(processor.table)
    assert set(tables) <= set(REGISTRY)
    assert all(find_datatypes(table, "out", 0) for table in tables.values())


def test_net_run_takes_the_library_of_the_dsp(model, tmp_path, capsys):
    quantize(model, per_channel=False).save(tmp_path / "m.cpp")
    IMAGES[0].transpose(0, 2, 3, 1).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    words = ["--model", str(tmp_path / "m_net.json"), "--input_list", str(tmp_path / "list.txt")]
    backends = ("cpu", "libQnnDspV65Stub.so")
    for backend in backends:
        assert net_run([*words, "--backend", backend, "--output_dir", str(tmp_path / backend)]) == 0
    assert "dsp (simulation)" in capsys.readouterr().out
    files = [tmp_path / backend / "Result_0/Plus214_Output_0.raw" for backend in backends]
    assert files[0].read_bytes() == files[1].read_bytes()
