"""Custom ops of PyTorch models as ops of their package."""

import numpy as np
import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.ops.package import PackageOpDefinition, PackageParam, using_definitions

pytestmark = pytest.mark.torch

X = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)


@torch.library.custom_op("strange_ops::Quiver", mutates_args=())
def quiver(x: torch.Tensor, factor: float, shifts: list[int]) -> torch.Tensor:
    return torch.sin(x * factor) + shifts[1]


quiver.register_fake(lambda x, factor, shifts: torch.empty_like(x))


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(quiver(x, 3.0, [1, 2])) * 2


@pytest.fixture
def exported(tmp_path):
    torch.export.save(torch.export.export(Net(), (torch.from_numpy(X),)), tmp_path / "m.pt2")
    return tmp_path / "m.pt2"


def test_a_custom_op_keeps_its_package_and_its_parameters(exported, tmp_path):
    @ew.op_package("Strange", "Quiver")
    def meaning(x, *, factor, shifts):
        return np.sin(x * np.float32(factor)) + np.float32(shifts[1])

    model = ew.convert(exported)
    (found,) = model.run({model.inputs[0].name: X}).values()
    assert np.allclose(found, (np.sin(3 * X) + 2) * 2, atol=1e-6)
    files = model.save(tmp_path / "m.cpp")
    assert '"Strange", "Quiver"' in " ".join(files.cpp.read_text().split())


def test_the_fake_kernel_tells_the_shape_where_the_package_does_not(exported):
    params = (PackageParam("factor", DType.FLOAT_32), PackageParam("shifts", DType.UINT_32, is_tensor=True))
    definition = PackageOpDefinition("Strange", "Quiver", ("in",), ("out",), params)
    with using_definitions([definition]):
        model = ew.convert(exported)
    assert model.outputs[0].shape == (2, 4)


def test_an_attribute_that_the_package_does_not_describe_is_refused(exported):
    with (
        using_definitions([PackageOpDefinition("Strange", "Quiver", ("in",), ("out",))]),
        pytest.raises(EdgewrightError, match="'factor' is not among the parameters"),
    ):
        ew.convert(exported)
