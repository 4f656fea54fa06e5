"""What a build is asked for, from options and from Python."""

import math
from pathlib import Path

import pytest

from edgewright.build.request import BuildRequest, parse_build_request
from edgewright.config.build import BuildData, BuildOutput, BuildTarget, Sound
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import ModelFile, Shapes
from edgewright.core.errors import UsageError
from edgewright.data.samples import DataRequest


def _request(**more):
    groups = {
        "data": BuildData(data="some/where/digits.npz"),
        "target": BuildTarget(target="Snapdragon 8 Gen 3", max_drop=0.5),
        "output": BuildOutput(),
        "images": Preprocessing(mean=(1.0, 2.0, 3.5)),
        "sound": Sound(),
        "shapes": Shapes(input_dims=(("x", (1, 3)), ("y", (2,)))),
    } | more
    return parse_build_request(ModelFile(model="else/where/net.onnx"), **groups)


def test_the_command_in_the_report_names_no_folder_and_can_be_given_again():
    assert _request().command == (
        "edgewright build net.onnx --data digits.npz --target 'Snapdragon 8 Gen 3' --max-drop 0.5 "
        "--mean 1 2 3.5 --input_dim x 1,3 --input_dim y 2"
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(600.0, ""), (90.0, "--time-limit 90s "), (math.inf, "--time-limit none ")]
)
def test_the_command_that_builds_again_has_the_time_that_it_had(seconds, words):
    rebuild = _request(output=BuildOutput(time_limit=seconds)).rebuild
    assert f"--input_dim y 2 {words}-o /" in rebuild


def test_the_folder_is_named_after_model_and_chip_where_nothing_is_said():
    assert _request().output == Path("net_Snapdragon_8_Gen_3")
    assert _request(output=BuildOutput(output="there")).output == Path("there")


def test_auto_aims_at_a_point_where_no_limit_is_given():
    assert _request().limit == 0.5
    assert _request(target=BuildTarget(target="v75")).limit == 1.0


@pytest.mark.parametrize(
    ("more", "text"),
    [({"precision": "w3a3"}, "precision is 'w3a3'"), ({"max_drop": 101.0}, "max_drop is 101.0")],
)
def test_python_is_answered_as_the_command_line_is(more, text):
    with pytest.raises(UsageError, match=text):
        BuildRequest(Path("m.onnx"), "v75", Path("out"), DataRequest(), **more)


@pytest.mark.parametrize("text", ["-1", "150", "much", "1 percent"])
def test_points_beyond_a_percentage_are_refused(text):
    with pytest.raises(ValueError, match="points of a percentage from 0 to 100"):
        BuildTarget.options()["max_drop"].parse[0](text)
