"""One request for every caller: what its fields do to a small network."""

from dataclasses import replace

import pytest

from edgewright.config.converter import GraphChanges, Source
from edgewright.config.io_config import IoConfig, TensorConfig
from edgewright.config.onnx import OnnxOnly
from edgewright.config.preserve_io import ALL_TENSORS
from edgewright.config.qairt_converter import QairtOnnx, QairtSource, QairtTflite
from edgewright.config.umbrella import Shapes
from edgewright.core.numbers import DType
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest, IoLayouts, convert_source
from tests.cli import models


@pytest.fixture
def image(tmp_path):
    return ConversionRequest(models.image_net(tmp_path / "image.onnx"))


@pytest.mark.parametrize(
    ("layouts", "shape", "label"),
    [
        (IoLayouts.AS_IMPORTED, (1, 3, 6, 6), None),
        (IoLayouts.SOURCE, (1, 3, 6, 6), "NCHW"),
        (IoLayouts.SPATIAL_FIRST, (1, 6, 6, 3), "NHWC"),
    ],
)
def test_layouts_are_those_asked_for(image, layouts, shape, label):
    converted = convert_source(replace(image, layouts=layouts))
    found = converted.graph.types["image"]
    assert (found.shape, found.layout) == (shape, label)
    assert converted.io_types["image"].shape == (1, 3, 6, 6)


def test_kept_tensors_keep_layouts_and_data_types(image):
    request = replace(
        image,
        layouts=IoLayouts.SPATIAL_FIRST,
        float_bits=16,
        kept_layouts=ALL_TENSORS,
        kept_dtypes=ALL_TENSORS,
    )
    types = convert_source(request).graph.types["image"]
    assert (types.shape, types.dtype) == ((1, 3, 6, 6), DType.FLOAT_32)


def test_a_layout_by_name_comes_before_the_rule(image):
    io = IoConfig(tensors={"image": TensorConfig("image", source_layout="NCHW", layout="NHWC")})
    converted = convert_source(replace(image, layouts=IoLayouts.SOURCE, io=io))
    assert converted.graph.types["image"].shape == (1, 6, 6, 3)


def test_an_open_batch_is_set_and_noted(image):
    assert "was set to 1" in convert_source(image).notes[0]
    request = replace(image, inputs=InputSpec(batch=2))
    assert convert_source(request).graph.types["image"].shape == (2, 3, 6, 6)


@pytest.mark.parametrize(
    "groups",
    [
        (
            Source(input_network="m", input_dims=(("x", (1, 2)),), out_names=("y",)),
            OnnxOnly(batch=3, define_symbols=(("n", 4),)),
        ),
        (
            QairtSource(input_network="m", input_dims=(("x", (1, 2)),), out_names=("y",)),
            QairtOnnx(batch=3, define_symbols=(("n", 4),)),
        ),
    ],
)
def test_options_of_every_tool_fill_the_same_fields(groups):
    assert InputSpec.from_options(*groups) == InputSpec(
        input_shapes={"x": (1, 2)}, batch=3, symbols={"n": 4}, outputs=("y",)
    )


def test_options_that_are_not_given_leave_the_defaults():
    assert InputSpec.from_options(Shapes(), GraphChanges(), QairtTflite()) == InputSpec()
