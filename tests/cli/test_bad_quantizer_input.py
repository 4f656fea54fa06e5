"""What is wrong with data, weights, encodings or options is one clear error, whoever is asked."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.tools.qairt_converter import main as qairt_converter
from edgewright.tools.qairt_quantizer import main as qairt_quantizer
from edgewright.tools.qnn_onnx_converter import main as onnx_converter
from tests.cli import models

NAN, INFINITY = float("nan"), float("inf")
GOOD = np.random.default_rng(1).normal(size=(1, 3, 6, 6)).astype(np.float32)


def network(path, weight=None):
    """A convolution and a Relu; the weight may be spoilt."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "b": rng.normal(size=4).astype(np.float32),
    }
    if weight is not None:
        constants["w"].flat[5] = weight
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Relu", ["c"], ["y"], name="relu"),
    ]
    io = [("x", models.FLOAT, [1, 3, 6, 6])], [("y", models.FLOAT, [1, 4, 6, 6])]
    return models.save(path, nodes, *io, constants)


@dataclass(frozen=True)
class Outcome:
    """How a call ended."""

    code: int
    text: str


@pytest.fixture
def ask(call, tmp_path):
    """Quantizes in one of three ways; says how that ended, and that nothing was written where it failed."""

    def run(way, model, data, overrides=None):
        for number, array in enumerate(data):
            array.tofile(tmp_path / f"{number}.raw")
        listed = tmp_path / "list.txt"
        listed.write_text("".join(f"{tmp_path}/{n}.raw\n" for n in range(len(data))))
        given = () if overrides is None else ("--quantization_overrides", overrides)
        if way == "api":
            return _called(model, data, overrides)
        if way == "qnn-onnx-converter":
            words = ("-o", tmp_path / "out.cpp", "--input_list", listed, *given)
            answer = call(onnx_converter, "-i", model, *words)
            assert (tmp_path / "out.cpp").exists() == (answer.code == 0)
            return Outcome(answer.code, answer.err)
        answer = call(qairt_converter, "-i", model, "-o", tmp_path / "net.dlc", *given)
        if answer.code == 0:
            answer = call(qairt_quantizer, "--input_dlc", tmp_path / "net.dlc", "--input_list", listed)
        assert (tmp_path / "net.quantized.dlc").exists() == (answer.code == 0)
        return Outcome(answer.code, answer.err)

    return run


def _called(model, data, overrides):
    try:
        ew.quantize(model, data, overrides=overrides)
    except ew.EdgewrightError as error:
        return Outcome(error.exit_code, str(error))
    return Outcome(0, "")


WAYS = pytest.mark.parametrize("way", ["api", "qnn-onnx-converter", "qairt"])


@WAYS
def test_what_is_right_passes(ask, way, tmp_path):
    assert ask(way, network(tmp_path / "m.onnx"), [GOOD]).code == 0


@WAYS
@pytest.mark.parametrize(("value", "word"), [(NAN, "NaN"), (INFINITY, "infinity"), (-INFINITY, "infinity")])
def test_data_that_is_not_finite(ask, way, tmp_path, value, word):
    bad = GOOD.copy()
    bad.flat[7] = value
    found = ask(way, network(tmp_path / "m.onnx"), [GOOD, bad])
    assert found.code == 3
    assert f"sample 1 has 1 times {word}, expected finite numbers" in found.text
    assert "tensor 'x'" in found.text


@WAYS
@pytest.mark.parametrize(("value", "word"), [(NAN, "NaN"), (INFINITY, "infinity"), (-INFINITY, "infinity")])
def test_weights_that_are_not_finite(ask, way, tmp_path, value, word):
    found = ask(way, network(tmp_path / "m.onnx", value), [GOOD])
    assert found.code == 3
    assert f"the weights have 1 times {word}, expected finite numbers" in found.text
    assert "tensor 'w'" in found.text


@WAYS
@pytest.mark.parametrize("shape", [(1, 3, 6, 5), (1, 3, 6, 7), (1,)])
def test_data_of_another_size(ask, way, tmp_path, shape):
    found = ask(way, network(tmp_path / "m.onnx"), [np.zeros(shape, np.float32)])
    assert (found.code, "error[shape-mismatch]" in found.text, "expected" in found.text) == (3, True, True)


@WAYS
def test_no_data_at_all(ask, way, tmp_path):
    found = ask(way, network(tmp_path / "m.onnx"), [])
    assert (found.code, found.text.count("error[")) == (2 if way == "api" else 3, 1)


@dataclass(frozen=True)
class Wrong:
    """Encodings with something wrong in them, and what is said about that."""

    name: str
    says: str
    code: int
    activation: dict = field(default_factory=dict)
    weights: tuple = ()
    text: str = ""

    def document(self):
        if self.text:
            return self.text
        activations = {"c": [self.activation]} if self.activation else {}
        return json.dumps(
            {
                "activation_encodings": activations,
                "param_encodings": {"w": self.weights} if self.weights else {},
            }
        )


def ranged(bits, low=-1.0, high=1.0, **more):
    return {"bitwidth": bits, "min": low, "max": high, **more}


def stepped(scale, offset=-128, **more):
    return {"bitwidth": 8, "scale": scale, "offset": offset, **more}


SYMMETRIC = {"is_symmetric": "True"}
EMPTY = '{"activation_encodings": {}, "param_encodings": {}'
WRONG = [
    Wrong("zero scale", "a scale is 0.0, expected a finite number above 0", 3, stepped(0.0)),
    Wrong("negative scale", "a scale is -0.1, expected a finite number above 0", 3, stepped(-0.1)),
    Wrong("scale NaN", "a scale is nan, expected a finite number above 0", 3, stepped(NAN)),
    Wrong("scale infinity", "expected a finite number", 3, stepped(INFINITY)),
    Wrong("range in disorder", "the range is 2.0 to -1.0, expected it in order", 3, ranged(8, 2.0, -1.0)),
    Wrong("range NaN", "expected", 3, ranged(8, NAN, 1.0)),
    Wrong("offset outside", "an offset is -300, expected -255 to 0 in 8 bits", 3, stepped(0.1, -300)),
    Wrong("width 0", "'bitwidth' is 0, expected 1 to 32", 3, ranged(0)),
    Wrong("width 3", "a bit width of 3 is not possible", 2, ranged(3)),
    Wrong("width 64", "'bitwidth' is 64, expected 1 to 32", 3, ranged(64)),
    Wrong("width a fraction", "expected a whole number", 3, ranged(8.5)),
    Wrong("width of a float", "8 bits, expected one of [16, 32] for this float", 2, ranged(8, dtype="float")),
    Wrong("unknown type", "'dtype' is 'complex', expected 'int' or 'float'", 3, ranged(8, dtype="complex")),
    Wrong("weights of width 0", "'bitwidth' is 0, expected 1 to 32", 3, weights=(ranged(0),)),
    Wrong("weights of width 3", "a bit width of 3 is not possible", 2, weights=(ranged(3),)),
    Wrong("weights of width 64", "'bitwidth' is 64, expected 1 to 32", 3, weights=(ranged(64),)),
    Wrong("three channels", "3 encodings are given", 2, weights=(stepped(0.1, **SYMMETRIC),) * 3),
    Wrong("five channels", "one for each of 4 channels", 2, weights=(stepped(0.1, **SYMMETRIC),) * 5),
    Wrong("asymmetric channels", "expected -128: channels are symmetric", 2, weights=(stepped(0.1, -9),) * 4),
    Wrong("no JSON", "the file is not JSON", 3, text="{nope"),
    Wrong("a list", "the file is a list, expected an object", 3, text="[1]"),
    Wrong("one section", "the file has no 'param_encodings'", 3, text='{"activation_encodings": {}}'),
    Wrong("a version to come", "the encodings have version '9.9'", 4, text=EMPTY + ', "version": "9.9"}'),
    Wrong(
        "channels of an activation",
        "2 encodings are given for an activation, expected one",
        2,
        text=json.dumps({"activation_encodings": {"c": [ranged(8)] * 2}, "param_encodings": {}}),
    ),
    Wrong(
        "a name that nobody has",
        "'cc', which the model does not have",
        2,
        text=json.dumps({"activation_encodings": {"cc": [ranged(8)]}, "param_encodings": {}}),
    ),
]


@WAYS
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_wrong_encodings(ask, way, tmp_path, wrong):
    (tmp_path / "o.json").write_text(wrong.document())
    found = ask(way, network(tmp_path / "m.onnx"), [GOOD], str(tmp_path / "o.json"))
    assert found.code == wrong.code, found.text
    assert wrong.says in found.text
    assert found.text.count("error[") == 1


@WAYS
def test_a_convolution_that_is_float_in_part_is_float_as_a_whole(ask, way, tmp_path):
    encodings = {
        "activation_encodings": {"c": [ranged(8)]},
        "param_encodings": {"w": [ranged(16, dtype="float")]},
    }
    (tmp_path / "o.json").write_text(json.dumps(encodings))
    assert ask(way, network(tmp_path / "m.onnx"), [GOOD], str(tmp_path / "o.json")).code == 0


DATA = ("--input_list", "list.txt")
# Guide lines are in the names: what excludes or needs what.
LEGACY = {
    "2068 ignored and overridden": (("--ignore_encodings", "--quantization_overrides", "o.json"), "together"),
    "2176 two kinds of packages": (("-p", "mine", "--op_package_config", "a.xml"), "together"),
    "11744 fallback and data": (("--float_fallback", *DATA), "together"),
    "11744 fallback ignored": (("--float_fallback", "--ignore_encodings"), "together"),
    **{
        f"{flag} {value}": ((*DATA, flag, value), f"has the value '{value}', expected one of")
        for flag in ("--act_bw", "--weight_bw", "--bias_bw", "--float_bw")
        for value in (0, 3, 64)
    },
    "unknown scheme": ((*DATA, "--act_quantizer", "max"), "has the value 'max', expected one of"),
    "unknown algorithm": ((*DATA, "--algorithms", "magic"), "has the value 'magic', expected one of"),
    "steps in disorder": ((*DATA, "--restrict_quantization_steps", "0x7F -0x80"), "the smaller one first"),
    "steps of no width": ((*DATA, "--restrict_quantization_steps", "0x10 0x20"), "steps from 16 to 32"),
}
AIMET = {
    "--float_bw": ("--float_bw", "16"),
    "--float_bitwidth": ("--float_bitwidth", "16"),
    "--float_bias_bitwidth": ("--float_bias_bitwidth", "16"),
    "--disable_relu_squashing": ("--disable_relu_squashing",),
    "--restrict_quantization_steps": ("--restrict_quantization_steps", "-0x80 0x7F"),
    "--use_dynamic_16_bit_weights": ("--use_dynamic_16_bit_weights",),
    "--pack_4_bit_weights": ("--pack_4_bit_weights",),
    "--op_package_lib": ("--op_package_lib", "a.so:p"),
}
QAIRT = {
    "3861 fallback and data": (("--floatFallback", *DATA), "together"),
    "3861 neither": ((), "none of the options '--input_list' or '--float_fallback'"),
    "3861 fallback ignored": (("--float_fallback", "--ignore_encodings"), "together"),
    "3963 aimet and fallback": (("--float_fallback", "--use_aimet_quantizer"), "together"),
    **{
        f"3963 aimet and {name}": ((*DATA, "--use_aimet_quantizer", *words), "together")
        for name, words in AIMET.items()
    },
    **{
        f"3958 percentile {value}": (
            (*DATA, "--percentile_calibration_value", value),
            "a number from 90 to 100",
        )
        for value in ("89.9", "100.1", "nan", "many")
    },
    **{
        f"{flag} {value}": ((*DATA, flag, value), f"has the value '{value}', expected one of")
        for flag in ("--act_bitwidth", "--weights_bitwidth", "--bias_bitwidth", "--float_bitwidth")
        for value in (0, 3, 64)
    },
    "unknown algorithm": ((*DATA, "--algorithms", "magic"), "has the value 'magic', expected one of: cle"),
    "steps in disorder": ((*DATA, "--restrict_quantization_steps", "0x7F -0x80"), "the smaller one first"),
}


@pytest.mark.parametrize("case", LEGACY)
def test_options_of_the_legacy_converter(call, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    GOOD.tofile("0.raw")
    (tmp_path / "list.txt").write_text("0.raw\n")
    words, says = LEGACY[case]
    answer = call(onnx_converter, "-i", network(tmp_path / "m.onnx"), "-o", tmp_path / "out.cpp", *words)
    assert (answer.code, says in answer.err) == (2, True), answer.err
    assert not (tmp_path / "out.cpp").exists()


@pytest.mark.parametrize("case", QAIRT)
def test_options_of_the_quantizer(call, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    GOOD.tofile("0.raw")
    (tmp_path / "list.txt").write_text("0.raw\n")
    assert call(qairt_converter, "-i", network(tmp_path / "m.onnx")).code == 0
    words, says = QAIRT[case]
    answer = call(qairt_quantizer, "--input_dlc", tmp_path / "m.dlc", *words)
    assert (answer.code, says in answer.err) == (2, True), answer.err
    assert not (tmp_path / "m.quantized.dlc").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        *(
            ({width: value}, f"{width}={value} is not possible, expected one of")
            for width in ("act_bw", "weight_bw")
            for value in (0, 3, 64)
        ),
        *(
            ({width: value}, f"{width}={value} is not possible, expected one of")
            for width in ("bias_bw", "float_bw")
            for value in (0, 3, 64)
        ),
        ({"act_quantizer": "max"}, "there is no scheme 'max'"),
        ({"param_quantizer": "auto"}, "there is no scheme 'auto'"),
        ({"act_quantizer": "percentile", "percentile": 50}, "the percentile is 50, expected 90 to 100"),
        ({"algorithms": ["magic"]}, "there is no algorithm 'magic'"),
        ({"block_size": 16}, "weights of 8 bits, expected 4 bits"),
        ({"steps": (127, -128)}, "steps from 127 to -128"),
        ({"steps": "wide"}, "steps=wide is not possible, expected two whole numbers"),
        ({"steps": (1, 2, 3)}, "expected two whole numbers"),
        ({"threads": -1}, "threads is '-1', expected a whole number from 0 to 1024"),
        ({"threads": 10**7}, "threads is '10000000', expected a whole number from 0 to 1024"),
        ({"act_bw": 8.0}, "act_bw=8.0 is not possible, expected one of [8, 16]"),
        ({"weight_bw": "8"}, "weight_bw='8' is not possible, expected one of [4, 8, 16]"),
        ({"act_quantizer": "percentile", "percentile": "99"}, "the percentile is '99', expected 90 to 100"),
        ({"weight_bw": 4, "block_size": -1}, "blocks of -1 are asked for, expected 1 or more"),
        ({"overrides": {"activation_encodings": {1, 2}}}, "cannot be written as JSON"),
    ],
    ids=str,
)
def test_arguments_of_the_function(tmp_path, arguments, says):
    with pytest.raises(ew.EdgewrightError, match="error") as caught:
        ew.quantize(network(tmp_path / "m.onnx"), [GOOD], **arguments)
    assert (caught.value.exit_code, says in str(caught.value)) == (2, True), str(caught.value)


def test_one_algorithm_may_be_given_by_its_name_alone(tmp_path):
    found = ew.quantize(network(tmp_path / "m.onnx"), [GOOD], algorithms="cle", act_quantizer="tf")
    assert found.report.notes[0].startswith("cle: ")


@pytest.mark.parametrize(
    ("data", "code"),
    [(5, 2), ("gone.txt", 3), (["text"], 3), ([None], 3), ({"z": GOOD}, 2), ([{"x": GOOD, "z": GOOD}], 2)],
    ids=["number", "file", "text", "nothing", "name", "one name too many"],
)
def test_data_of_another_kind(tmp_path, data, code):
    with pytest.raises(ew.EdgewrightError, match="error") as caught:
        ew.quantize(network(tmp_path / "m.onnx"), data)
    assert caught.value.exit_code == code
