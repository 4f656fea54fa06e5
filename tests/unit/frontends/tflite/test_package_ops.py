"""Custom ops of TFLite models as ops of their package."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.ops.package import PackageOpDefinition, PackageParam, using_definitions
from tests.unit.frontends.tflite.cases import single, x
from tests.unit.frontends.tflite.writer import Tensor

X = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)


def saved(folder, custom):
    case = single("t", "Tremble", [x(2, 4)], results=[Tensor((2, 4))], custom=custom)
    (folder / "m.tflite").write_bytes(case.data)
    return folder / "m.tflite"


def test_a_custom_op_has_the_options_of_its_map(tmp_path):
    @ew.op_package("Strange", "Tremble")
    def tremble(values, *, factor, shifts):
        return values * np.float32(factor) + shifts[1]

    path = saved(tmp_path, flexbuffers.Dumps({"factor": 3.0, "shifts": [1, 2]}))
    (found,) = ew.convert(path).run({"x": X}).values()
    assert np.allclose(found, 3 * X + 2)


def test_a_described_op_takes_its_shape_from_the_file(tmp_path):
    definition = PackageOpDefinition(
        "Strange", "Tremble", ("in",), ("out",), (PackageParam("factor", DType.FLOAT_32),)
    )
    with using_definitions([definition]):
        model = ew.convert(saved(tmp_path, flexbuffers.Dumps({"factor": 3.0})))
        assert model.outputs[0].shape == (2, 4)
        with pytest.raises(EdgewrightError, match="has no attribute 'factor'"):
            ew.convert(saved(tmp_path, b""))


@pytest.mark.parametrize("custom", [b"\1\2\3", b"\xff" * 40, flexbuffers.Dumps([1, 2])])
def test_options_that_are_no_map_are_one_error(tmp_path, custom):
    with (
        using_definitions([PackageOpDefinition("Strange", "Tremble", is_open=True)]),
        pytest.raises(EdgewrightError, match="the custom op's options"),
    ):
        ew.convert(saved(tmp_path, custom))
