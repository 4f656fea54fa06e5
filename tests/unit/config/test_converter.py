import pytest

from edgewright.config.converter import (
    LAYOUTS,
    ConverterLog,
    OpPackage,
    Output,
    Source,
)
from edgewright.config.onnx import ONNX_CONVERTER_RULES
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.quantizer import Quantizer
from edgewright.core.errors import UsageError


def test_ignored_encodings_and_overrides_exclude_each_other():
    with pytest.raises(UsageError) as caught:
        Quantizer(ignore_encodings=True, quantization_overrides="o.json")
    assert str(caught.value) == (
        "error[usage]: options '--ignore_encodings' and '--quantization_overrides' were given together, "
        "expected at most one of them\n  do:    leave one of them out"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"float_fallback": True, "input_list": "l"}, "'--float_fallback' and '--input_list'"),
        ({"float_fallback": True, "ignore_encodings": True}, "'--ignore_encodings' and '--float_fallback'"),
    ],
)
def test_a_float_fallback_goes_with_encodings_alone(options, words):
    with pytest.raises(UsageError, match=f"options {words} were given together"):
        Quantizer(**options)


@pytest.mark.parametrize("option", ["act_bw", "weight_bw", "bias_bw"])
@pytest.mark.parametrize("bits", [0, 3, 64])
def test_a_width_that_nobody_has_is_refused(option, bits):
    with pytest.raises(UsageError, match=f"'--{option}' has the value '{bits}', expected one of"):
        Quantizer(**{option: bits})


def test_a_package_name_and_a_package_configuration_exclude_each_other():
    with pytest.raises(UsageError, match="'--package_name' and '--op_package_config' were given together"):
        OpPackage(package_name="p", op_package_config=("a.xml",))


def test_quantizer_options_without_data_have_no_effect_and_say_so():
    assert Quantizer(act_bw=16, algorithms=("cle",)).warnings() == [
        (
            "without --input_list or --float_fallback or --quantization_overrides "
            "these options have no effect: --algorithms, --act_bw"
        )
    ]


def test_a_quantizer_left_alone_says_nothing():
    assert Quantizer().warnings() == []


def test_custom_io_comes_before_preserve_io():
    (beats,) = ONNX_CONVERTER_RULES
    assert beats.warning({"--custom_io": "a.yaml", "--preserve_io": ((),)}) == (
        "--custom_io comes before --preserve_io for the tensors that it names"
    )
    assert beats.warning({"--preserve_io": ((),)}) is None


@pytest.mark.parametrize(
    ("usages", "layout", "datatype"),
    [
        ((), (False, False), (False, False)),
        (((),), (True, True), (True, True)),
        ((("layout",),), (True, True), (False, False)),
        ((("datatype",),), (False, False), (True, True)),
        ((("layout",), ("datatype",)), (True, True), (True, True)),
        (((), ("layout",)), (True, True), (True, True)),
        ((("layout", "a"),), (True, False), (False, False)),
        ((("layout", "a"), ("datatype", "b")), (True, False), (False, True)),
        ((("layout", "a"), ("layout", "b")), (True, True), (False, False)),
    ],
)
def test_preserve_io_in_all_its_usages(usages, layout, datatype):
    group = PreserveIo(preserve_io=usages)
    assert ("a" in group.layouts(), "b" in group.layouts()) == layout
    assert ("a" in group.dtypes(), "b" in group.dtypes()) == datatype


@pytest.mark.parametrize(
    "usages",
    [((), ("layout", "a")), (("layout",), ("datatype", "a")), (("layout", "a"), ("layout",))],
)
def test_preserve_io_with_and_without_names_together_is_refused(usages):
    with pytest.raises(UsageError, match="both with and without names"):
        PreserveIo(preserve_io=usages)


def test_preserve_io_with_a_name_in_place_of_what_to_keep_shows_how():
    with pytest.raises(UsageError) as caught:
        PreserveIo(preserve_io=(("input1",),))
    assert str(caught.value) == (
        "error[usage]: --preserve_io begins with 'input1', expected 'layout', 'datatype' or nothing\n"
        "  do:    for example: --preserve_io layout input1"
    )


def test_preserve_io_knows_the_names_it_was_given():
    assert PreserveIo(preserve_io=(("layout", "a", "b"), ("datatype", "b"))).named() == ("a", "b")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_the_guide_is_accepted(layout):
    assert Source(input_network="m", input_layouts=(("x", layout),)).input_layouts == (("x", layout),)


def test_an_unknown_layout_lists_the_known_ones():
    with pytest.raises(UsageError, match="'HWC', expected one of: NCDHW"):
        Source(input_network="m", input_layouts=(("x", "HWC"),))


def test_float_widths_other_than_32_and_16_are_refused():
    assert Output(float_bw=16).float_bw == 16
    with pytest.raises(UsageError, match="expected one of: 32, 16"):
        Output(float_bw=8)


@pytest.mark.parametrize(
    ("group", "loudness"),
    [
        (ConverterLog(), None),
        (ConverterLog(debug="debug"), "debug"),
        (ConverterLog(debug="debug", log_level="verbose"), "verbose"),
        (ConverterLog(log_level="warn"), "warn"),
    ],
)
def test_the_converter_is_as_loud_as_asked(group, loudness):
    assert group.loudness == loudness
