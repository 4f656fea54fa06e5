"""Networks of many kinds, traced, scripted and exported, against torch; control flow of scripts."""

import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

import edgewright as ew
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedOp
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.open_source import fix_shapes
from edgewright.frontends.torch_source import TorchSource
from edgewright.model.inspect import preview_conversion
from tests.unit.frontends.pytorch.nets import NETS
from tests.unit.frontends.pytorch.programs import assert_same, converted, exported, scripted, traced

nn = torch.nn
pytestmark = pytest.mark.torch
# What TorchScript's compiler does not take as it is written.
NOT_SCRIPTED = {"decoder", "rotary", "detector", "conv_mixer", "window_attention"}


@pytest.fixture(autouse=True)
def _quiet():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def made(name):
    build, inputs = NETS[name]
    return build().eval(), inputs


@pytest.mark.parametrize("name", NETS)
def test_a_traced_network_agrees_with_torch(name, tmp_path):
    module, inputs = made(name)
    assert_same(traced(tmp_path, module, *inputs), module, inputs)


@pytest.mark.parametrize("name", sorted(NETS.keys() - NOT_SCRIPTED))
def test_a_scripted_network_agrees_with_torch(name, tmp_path):
    module, inputs = made(name)
    assert_same(scripted(tmp_path, module), module, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_an_exported_network_agrees_with_torch(name, tmp_path):
    module, inputs = made(name)
    assert_same(exported(tmp_path, module, *inputs), module, inputs)


class Branches(nn.Module):
    """What it does depends on shapes, flags and numbers, all known when it is converted."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scales = [1.0, 0.5, 2.0]

    def forward(self, x, times: int = 2):
        found: list[torch.Tensor] = []
        for index, layer in enumerate(self.layers):
            x = layer(x) * self.scales[index]
            if x.shape[1] > 4:
                x = x[:, :4]
            elif self.training:
                x = x + 100
            found.append(x)
        kept = {"last": found[-1]}
        steps = 0
        while steps < times:
            kept["last"] = kept["last"] + found[steps]
            steps += 1
        names = list(kept.keys())
        return torch.cat(found[1:] + [kept[names[0]]], dim=-1)  # noqa: RUF005 - scripts have no stars


class ByData(nn.Module):
    """Chooses by the data itself; a check raises."""

    def forward(self, x):
        if bool(x.isnan().any()):
            raise ValueError("not a number")
        return (x * 2 if bool(x.sum() > 0) else -x) + float(x.shape[0])


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total = self.total + x
        return self.total * 2


class Endless(nn.Module):
    def forward(self, x):
        while bool(x.sum() < 10):
            x = x + 1
        return x


class Sized(nn.Module):
    def forward(self, x):
        if x.shape[-1] != 8:
            raise ValueError("eight numbers are expected")
        return x + 1


class Rated(nn.Module):
    def forward(self, x, rate: int, is_loud: bool):
        y = x[:, :: 2 if rate == 16000 else 1]
        return y * 3 if is_loud else y


def test_branches_and_loops_are_resolved_for_the_given_shapes(tmp_path):
    module = Branches().eval()
    assert_same(scripted(tmp_path, module), module, (torch.randn(2, 4),))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_on_data_is_decided_when_the_model_runs(sign, tmp_path):
    module = ByData().eval()
    assert_same(scripted(tmp_path, module), module, (sign * torch.rand(2, 3),))


def test_state_starts_from_what_the_file_stores_and_a_message_says_so(tmp_path):
    path = scripted(tmp_path, Counter())
    x = torch.ones(3)
    model = converted(path, x)
    for _ in range(2):
        np.testing.assert_array_equal(next(iter(model.run({"in0": x.numpy()}).values())), [2, 2, 2])
    source = TorchSource.open(path, InputSpec(input_shapes={"x": (3,)}))
    source.build({})
    assert source.notes == (
        "the model keeps 'total' between calls; converted, each run starts from the stored state",
    )


def test_a_loop_that_depends_on_data_is_refused_with_a_way_out(tmp_path):
    with pytest.raises(UnsupportedOp, match="how often a loop runs depends on the input's data"):
        converted(scripted(tmp_path, Endless()), torch.randn(3))


def test_shapes_that_the_program_refuses_are_its_own_words(tmp_path):
    with pytest.raises(BadInput, match="the model refuses these inputs: eight numbers are expected"):
        converted(scripted(tmp_path, Sized()), torch.randn(2, 7))


def test_numbers_are_inputs_that_a_run_or_a_conversion_fixes(tmp_path):
    path = scripted(tmp_path, Rated())
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    late = ew.convert(path, input_shapes={"x": (1, 8)})
    assert [item.name for item in late.inputs if item.is_bound] == ["rate", "is_loud"]
    numbers = {"rate": np.array(16000), "is_loud": np.array(True)}
    want = x[:, ::2] * 3
    np.testing.assert_array_equal(next(iter(late.run({"x": x, **numbers}).values())), want)
    early = ew.convert(path, input_shapes={"x": (1, 8)}, input_values={"rate": 16000, "is_loud": True})
    np.testing.assert_array_equal(next(iter(early.run({"x": x}).values())), want)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64"])
def test_an_input_gets_the_type_that_fits_where_the_file_tells_none(dtype, tmp_path):
    module = nn.Embedding(5, 3) if dtype == "int64" else nn.Linear(4, 3).to(getattr(torch, dtype))
    path = scripted(tmp_path, module)
    assert ew.convert(path, input_shapes={"x": (2, 4)}).inputs[0].dtype == dtype


class Checked(nn.Module):
    def forward(self, x, rate: int):
        if rate == 16000:
            size = 8
        elif rate == 8000:
            size = 4
        else:
            raise ValueError("unknown rate")
        if x.shape[-1] != size:
            raise ValueError("wrong size")
        return x * rate


def test_a_number_is_decided_for_artifacts_where_one_value_alone_fits(tmp_path):
    path = scripted(tmp_path, Checked())
    source = fix_shapes(path, InputSpec(input_shapes={"x": (1, 4)}))
    assert source.graph().inputs == ["x"]
    assert "input 'rate' is set to 8000, the only value that fits" in source.model.notes[0]


class Placed(nn.Module):
    """Puts things where the input is, as scripts do that run anywhere."""

    def forward(self, x):
        y = torch.zeros(x.shape[0], 3, device=x.device, dtype=x.dtype)
        if x.device.type == "cuda":
            y = y + 5
        return {"sum": x.to(y.device) + y, "size": (x * 2).to(x)}


def test_devices_have_no_meaning_and_dictionaries_name_outputs(tmp_path):
    module, x = Placed(), torch.randn(2, 3)
    path = scripted(tmp_path, module)
    assert_same(path, module, (x,))
    assert [item.name for item in converted(path, x).outputs] == ["sum", "size"]


class Doubling(nn.Module):
    def forward(self, x):
        items = [1]
        for _ in range(60):
            items = items + items
        return x * len(items)


def test_a_list_that_doubles_is_stopped(tmp_path):
    with pytest.raises(LimitExceeded, match="a list of 2097152 items is made"):
        converted(scripted(tmp_path, Doubling()), torch.randn(2))


def test_inputs_take_the_names_that_the_user_gives_in_their_order(tmp_path):
    module, inputs = made("decoder")
    path = traced(tmp_path, module, *inputs)
    shapes = {"target": (1, 5, 16), "source": (1, 7, 16)}
    assert [item.name for item in ew.convert(path, input_shapes=shapes).inputs] == ["target", "source"]


def test_values_carry_the_names_of_the_modules_that_make_them(tmp_path):
    module, inputs = made("unet")
    model = converted(traced(tmp_path, module, *inputs), *inputs)
    assert [item.name for item in model.outputs] == ["up.1.convolution"]
    cut = converted(traced(tmp_path, module, *inputs), *inputs, outputs=["down.0.convolution"])
    assert cut.outputs[0].shape == (1, 8, 8, 8)


def test_all_ops_that_are_not_supported_come_at_once(tmp_path):
    class Odd(nn.Module):
        def forward(self, x):
            y = torch.linalg.pinv(x).relu()
            return torch.linalg.pinv(y + 1) + torch.linalg.eigvalsh(x).sum()

    with pytest.raises(EdgewrightError) as found:
        converted(traced(tmp_path, Odd(), torch.eye(3)), torch.eye(3))
    assert found.value.exit_code == 4
    assert len(found.value.errors) == 3


class Settings(nn.Module):
    """Parts under settings of their own, and a choice by data."""

    def forward(self, x):
        with torch.no_grad():
            y = x.sin()
        y = torch.cond(x.sum() > 0, lambda a: (a + 1,), lambda a: (a * 3,), (y,))[0]
        with torch.autocast("cpu", enabled=False):
            return y * 2


@pytest.mark.parametrize("sign", [1, -1])
def test_graphs_inside_an_exported_program_are_part_of_it(sign, tmp_path):
    module, x = Settings(), sign * torch.rand(2, 3)
    assert_same(exported(tmp_path, module, x), module, (x,))


def test_all_ops_of_an_export_that_are_not_supported_come_at_once(tmp_path):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.pinv(torch.linalg.pinv(x).relu()) + torch.linalg.eigvalsh(x).sum()

    with pytest.raises(EdgewrightError) as found:
        ew.convert(exported(tmp_path, Odd(), torch.eye(3)))
    assert (found.value.exit_code, len(found.value.errors)) == (4, 3)


class Quantized(nn.Module):
    """What quantization of an exported program leaves: pairs of ops around every tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.tensor([0.01, 0.02, 0.03, 0.04]))
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))

    def forward(self, x):
        ops = torch.ops.quantized_decomposed
        x = ops.quantize_per_tensor(x, 0.02, -3, -128, 127, torch.int8)
        x = ops.dequantize_per_tensor(x, 0.02, -3, -128, 127, torch.int8)
        weight = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        y = ops.quantize_per_tensor(torch.conv2d(x, weight).relu(), 0.05, 10, 0, 255, torch.uint8)
        return ops.dequantize_per_tensor(y, 0.05, 10, 0, 255, torch.uint8)


def test_a_quantized_export_keeps_its_meaning_and_its_encodings(tmp_path):
    importlib.import_module("torch.ao.quantization.fx._decomposed")
    module, x = Quantized(), torch.randn(1, 3, 6, 6)
    path = exported(tmp_path, module, x)
    model = converted(path, x)
    with torch.no_grad():
        want = module(x).numpy()
    found = next(iter(model.run({"x": x.numpy()}).values()))
    # Sums are rounded to steps: at most a few elements fall on the other side.
    assert np.abs(found - want).max() <= 0.0501
    assert (found != want).mean() < 0.02
    assert any(type(node.op).__name__ == "Quantize" for node in model.graph.nodes)


def test_symbolic_sizes_of_an_exported_program_stay_open_until_a_run(tmp_path):
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(
        nn.Linear(4, 3).eval(), (torch.randn(2, 4),), dynamic_shapes={"input": {0: batch}}
    )
    torch.export.save(program, tmp_path / "m.pt2")
    model = ew.convert(tmp_path / "m.pt2")
    for size in (1, 5):
        assert model.run({"input": np.zeros((size, 4), np.float32)})["linear"].shape == (size, 3)


DETECTOR = """
import sys, torch
from edgewright.frontends.pytorch.detection import declare_torchvision

declare_torchvision(torch)


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 5, 3)

    def forward(self, x):
        found = self.layer(x).flatten(2)[0]
        boxes, scores = found[:4].t(), torch.sigmoid(found[4])
        kept = torch.ops.torchvision.nms(boxes, scores, 0.5)
        return boxes[kept], scores[kept]


class Regions(torch.nn.Module):
    def forward(self, x, rois):
        return torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 2, 2, True)


torch.jit.script(Detector()).save(sys.argv[1] + "/detector.pt")
torch.jit.script(Regions()).save(sys.argv[1] + "/regions.pt")
"""


@pytest.fixture(scope="module")
def detectors(tmp_path_factory):
    """Programs with ops of torchvision, written by another process."""
    folder = tmp_path_factory.mktemp("detectors")
    (folder / "write.py").write_text(DETECTOR)
    subprocess.run([sys.executable, "-W", "ignore", folder / "write.py", folder], check=True)
    return folder


def test_suppression_of_boxes_is_listed_and_the_graph_can_be_cut_before_it(detectors):
    shapes = {"x": (1, 3, 8, 8)}
    report = preview_conversion(detectors / "detector.pt", InputSpec(input_shapes=shapes))
    assert [problem.op for problem in report.report.problems] == ["torchvision::nms"]
    assert "depends on the input's data" in report.report.problems[0].reason
    assert (report.convertible_macs, 0.8 < report.convertible_nodes < 1) == (1.0, True)
    model = ew.convert(detectors / "detector.pt", input_shapes=shapes, outputs=["boxes", "scores"])
    assert [item.shape for item in model.outputs] == [(36, 4), (36,)]


def test_regions_are_aligned_as_torchvision_does(detectors):
    # A constant slope: the mean of each cell of the region from (1, 1) to (5, 5) is the place of its middle.
    x = np.broadcast_to(np.arange(8, dtype=np.float32), (1, 1, 8, 8)).copy()
    rois = np.asarray([[0, 1, 1, 5, 5]], np.float32)
    model = ew.convert(detectors / "regions.pt", input_shapes={"x": x.shape, "rois": rois.shape})
    (found,) = model.run({"x": x, "rois": rois}).values()
    np.testing.assert_allclose(found, [[[[1.5, 3.5], [1.5, 3.5]]]], atol=1e-6)


def test_what_is_not_supported_may_lie_behind_the_outputs(tmp_path):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.pinv(torch.relu(x))

    path = traced(tmp_path, Odd(), torch.eye(3))
    with pytest.raises(EdgewrightError, match="linalg_pinv"):
        ew.convert(path, input_shapes={"x": (3, 3)})
    model = ew.convert(path, input_shapes={"x": (3, 3)}, outputs=["relu"])
    assert model.run({"x": -np.eye(3, dtype=np.float32)})["relu"].max() == 0
