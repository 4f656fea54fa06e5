"""What ew.convert is told about the datatypes of inputs."""

import numpy as np
import pytest

import edgewright as ew
from tests.cli import models
from tests.optional import NO_TORCH


def test_a_cast_leads_to_the_type_that_a_file_stores(tmp_path):
    file = models.image_net(tmp_path / "image.onnx")
    model = ew.convert(file, input_dtypes={"image": "uint8"})
    assert model.inputs[0].dtype == "uint8"
    image = np.arange(108, dtype=np.uint8).reshape(1, 3, 6, 6)
    (found,) = model.run({"image": image}).values()
    (expected,) = ew.convert(file).run({"image": image.astype(np.float32)}).values()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"imge": "int8"}, "names the input 'imge'"), ({"image": "words"}, "expected a type of numbers")],
)
def test_a_name_or_a_type_that_is_none_is_a_usage_error(tmp_path, given, message):
    with pytest.raises(ew.EdgewrightError, match=message) as caught:
        ew.convert(models.image_net(tmp_path / "image.onnx"), input_dtypes=given)
    assert caught.value.code == "usage"


@pytest.mark.torch
def test_truth_values_and_indices_of_a_program_are_what_is_said(tmp_path):
    torch = pytest.importorskip("torch", reason=NO_TORCH)

    class Picked(torch.nn.Module):
        def forward(self, x, mask, place):
            return x.masked_fill(~mask, 0)[place]

    x, mask, place = torch.randn(4, 3), torch.rand(4, 3) > 0.5, torch.tensor([2, 0], dtype=torch.int32)
    path = tmp_path / "picked.pt"
    torch.jit.trace(Picked(), (x, mask, place)).save(str(path))
    shapes = {"x": x.shape, "mask": mask.shape, "place": place.shape}
    model = ew.convert(path, input_shapes=shapes, input_dtypes={"mask": bool, "place": np.int32})
    assert [item.dtype for item in model.inputs] == ["float32", "bool", "int32"]
    (found,) = model.run({"x": x.numpy(), "mask": mask.numpy(), "place": place.numpy()}).values()
    np.testing.assert_array_equal(found, Picked()(x, mask, place).numpy())
