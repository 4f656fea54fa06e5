"""The language of TorchScript as files hold it: what it has besides ops, and what older files meant."""

import enum
import struct
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.torch_source import TorchSource
from tests.unit.frontends.pytorch import hostile
from tests.unit.frontends.pytorch.programs import assert_same, converted, scripted

nn = torch.nn
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _quiet():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Both(NamedTuple):
    first: torch.Tensor
    count: int


class Pair:
    def __init__(self, x: torch.Tensor, n: int):
        self.x = x
        self.n = n

    def total(self) -> torch.Tensor:
        return self.x + self.n


class Objects(nn.Module):
    def __init__(self):
        super().__init__()
        self.colour = Colour.BLUE
        self.table = {"a": 2.0}
        self.layers = nn.ModuleDict({"p": nn.Linear(4, 4), "q": nn.ReLU()})
        self.lowest = float("-inf")

    def forward(self, x):
        both = Both(x, 3)
        pair = Pair(both.first, both.count)
        y = pair.total()
        if self.colour == Colour.BLUE:
            y = y * self.table["a"]
        for layer in self.layers.values():
            y = layer(y)
        with torch.no_grad():
            y = y + 1
        if isinstance(y, torch.Tensor):
            y = y.masked_fill(y > 5, self.lowest)
        return torch.softmax(y, -1), [item * 2 for item in y.unbind(0)]


def test_objects_enumerations_tuples_with_names_and_contexts_are_followed(tmp_path):
    Objects.forward.__globals__["Pair"] = torch.jit.script(Pair)
    module = Objects()
    assert_same(scripted(tmp_path, module), module, (torch.randn(2, 4),))


class Kept(nn.Module):
    """Keeps what it multiplies with in a form of its own, as quantized layers do."""

    def __init__(self):
        super().__init__()
        self.weight = torch.randn(4)

    @torch.jit.export
    def __getstate__(self):
        return (self.weight / 2, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]):
        self.weight = torch.cat([state[0][:2] * 2, state[0][2:] + state[0][2:]])
        self.training = state[1]

    def forward(self, x):
        return x * self.weight


def test_a_setstate_is_followed_and_not_run(tmp_path):
    module = Kept()
    assert_same(scripted(tmp_path, module), module, (torch.randn(2, 4),))


class WritesInBranch(nn.Module):
    def forward(self, x):
        y = x * 1
        if x.sum() > 0:
            y[0] = 5.0
        return y


class AppendsInBranch(nn.Module):
    def forward(self, x):
        parts = [x]
        if x.sum() > 0:
            parts.append(x * 2)
        return parts[0]


class WritesBehindBranch(nn.Module):
    def forward(self, x):
        y = x * 1
        z = y[0] if x.sum() > 0 else y[1] * 2
        y.mul_(3.0)
        return z


class WritesIntoChoice(nn.Module):
    def forward(self, x):
        y = x * 1
        z = y if x.sum() > 0 else x * 2
        z.mul_(3.0)
        return y


@pytest.mark.parametrize("module", [WritesInBranch, AppendsInBranch, WritesBehindBranch, WritesIntoChoice])
def test_a_branch_on_data_and_a_change_in_place_are_refused(module, tmp_path):
    with pytest.raises(EdgewrightError, match=r"depends on the input's data|input's data decides") as problem:
        converted(scripted(tmp_path, module()), torch.randn(2, 4))
    assert problem.value.exit_code == 4


class ChangesAfterChoice(nn.Module):
    def forward(self, x):
        y = x * 1
        z = y + 1 if x.sum() > 0 else y * 2
        z.mul_(3.0)
        return z + y


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_change_of_what_nothing_else_holds_is_followed(sign, tmp_path):
    module = ChangesAfterChoice()
    assert_same(scripted(tmp_path, module), module, (sign * torch.rand(2, 4),))


def test_values_carry_the_whole_path_of_their_module(tmp_path):
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU())])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            doubled = x * 2
            return doubled.tanh()

    torch.jit.trace(Deep().eval(), torch.ones(1, 4)).save(str(tmp_path / "m.pt"))
    source = TorchSource.open(tmp_path / "m.pt", InputSpec(input_shapes={"x": (1, 4)}))
    source.build({})
    labels = ["blocks.0.0.linear", "blocks.0.1.relu", "doubled", "tanh"]
    assert [node.label for node in source.nodes()] == labels


WHOLE = {"data": hostile.module({"w": hostile.tensor((4,), (1,), kind="IntStorage")})}
INTEGERS = {"data/0": struct.pack("<4i", 7, -7, 9, 2)}


@pytest.mark.parametrize(("version", "values"), [(b"3", [3, -3, 4, 1]), (b"4", [3.5, -3.5, 4.5, 1])])
def test_division_means_what_it_meant_when_the_file_was_written(version, values, tmp_path):
    code = hostile.make_code("return torch.add(x, torch.div(self.w, 2))")
    path = hostile.write(tmp_path / "m.pt", code=code, **WHOLE, **INTEGERS, version=version)
    (sums,) = ew.convert(path, input_shapes={"x": (4,)}).run({"x": np.zeros(4, np.float32)}).values()
    assert sums.tolist() == values


@pytest.mark.parametrize("order", [b"big", b"strange"])
def test_another_order_of_bytes_is_refused(order, tmp_path):
    path = hostile.write(tmp_path / "m.pt", byteorder=order)
    with pytest.raises(EdgewrightError, match="byte order"):
        ew.convert(path, input_shapes={"x": (4,)})


def test_a_program_is_compared_with_itself_op_by_op(tmp_path):
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(144, 2)).eval()
    path = scripted(tmp_path, module)
    x = torch.randn(1, 3, 8, 8)
    source = TorchSource.open(path, InputSpec(input_shapes={"x": (1, 3, 8, 8)}))
    source.build({})
    (values,) = source.execute({next(iter(source.inputs)): x.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(values, module(x).numpy(), atol=1e-5)


def test_a_quantized_program_is_computed_by_torchs_own_kernels(tmp_path):
    module = nn.Sequential(
        torch.ao.quantization.QuantStub(), nn.Conv2d(3, 4, 3), nn.ReLU(), torch.ao.quantization.DeQuantStub()
    ).eval()
    module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(module)
    x = torch.randn(1, 3, 8, 8)
    prepared(x)
    stored = torch.ao.quantization.convert(prepared)
    path = scripted(tmp_path, stored)
    source = TorchSource.open(path, InputSpec(input_shapes={"input": (1, 3, 8, 8)}))
    source.build({})
    (values,) = source.execute({next(iter(source.inputs)): x.numpy()})
    np.testing.assert_array_equal(values, stored(x).numpy())
