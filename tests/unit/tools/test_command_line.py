import pytest

from edgewright.config.context_generator import CONTEXT_GENERATOR
from edgewright.config.net_run import NET_RUN, NET_RUN_RULES
from edgewright.config.onnx import ONNX_CONVERTER, ONNX_CONVERTER_RULES
from edgewright.config.pytorch import PYTORCH_CONVERTER
from edgewright.config.qairt_converter import QAIRT_CONVERTER
from edgewright.config.qairt_quantizer import QAIRT_QUANTIZER
from edgewright.config.tensorflow import TENSORFLOW_CONVERTER
from edgewright.config.tflite import TFLITE_CONVERTER
from edgewright.core.errors import Problems, UsageError
from edgewright.tools.command_line import read_words, write_help
from tests.unit.tools.sample_groups import Positional


def convert(*words):
    groups = read_words(["-i", "m.onnx", *words], ONNX_CONVERTER, ONNX_CONVERTER_RULES)
    return {name: getattr(group, name) for group in groups for name in group.options()}


def net_run(*words):
    return read_words(words, NET_RUN, NET_RUN_RULES)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["-d", "x", "1,3,8,8", "--input_dim", "y", "2"], "input_dims", (("x", (1, 3, 8, 8)), ("y", (2,)))),
        (["--out_node", "a", "--out_name", "b"], "out_names", ("a", "b")),
        (["--dry_run"], "dry_run", "info"),
        (["--dry_run", "debug"], "dry_run", "debug"),
        ([], "dry_run", None),
        (["--use_per_channel_quantization"], "use_per_channel_quantization", True),
        (["--use_per_channel_quantization", "false"], "use_per_channel_quantization", False),
        (["--preserve_io"], "preserve_io", ((),)),
        (
            ["--preserve_io", "layout", "--preserve_io", "datatype"],
            "preserve_io",
            (("layout",), ("datatype",)),
        ),
        (["--preserve_io", "layout", "a", "b", "-n"], "preserve_io", (("layout", "a", "b"),)),
        (["--restrict_quantization_steps", "-0x80 0x7F"], "restrict_quantization_steps", (-128, 127)),
        (["-s", "height", "224"], "define_symbols", (("height", 224),)),
        (["--batch=6"], "batch", 6),
        (["-n"], "no_simplification", True),
        (["-o", "out/m.cpp"], "output_path", "out/m.cpp"),
        (["-p", "my.package"], "package_name", "my.package"),
        (["--debug"], "debug", "debug"),
        (["--debug", "3"], "debug", "3"),
        (["--use_native_dtype"], "use_native_input_files", True),
        (["-t", "x", "opaque"], "input_types", (("x", "opaque"),)),
        (["-l", "a name", "NCHW"], "input_layouts", (("a name", "NCHW"),)),
        (["--float_bw", "16", "--float_bw", "32"], "float_bw", 32),
    ],
)
def test_words_reach_their_field(words, field, value):
    assert convert(*words)[field] == value


def test_net_run_reads_its_words():
    model, inputs, outputs, execution, _, log = net_run(
        *("--model", "m_net.json", "--backend", "libQnnCpu.so", "--input_list", "a.txt,__"),
        *(
            "--set_output_tensors",
            "g:a,b",
            "--num_inferences",
            "3",
            "--duration",
            "0.5",
            "--log_level",
            "warn",
        ),
    )
    assert (model.models, model.backend, inputs.input_list) == (
        ("m_net.json",),
        "libQnnCpu.so",
        ("a.txt", "__"),
    )
    assert outputs.set_output_tensors == (("g", ("a", "b")),)
    assert (execution.num_inferences, execution.duration, log.loudness) == (3, 0.5, "warn")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--input_lst", "a"],
            "error[usage]: option '--input_lst' is unknown\n  do:    did you mean '--input_list'?",
        ),
        (
            ["--something_else=1"],
            "error[usage]: option '--something_else' is unknown\n  do:    --help lists the options",
        ),
        (
            ["extra"],
            "error[usage]: argument 'extra' was not expected\n  do:    --help lists what is expected",
        ),
        (
            ["-d", "x"],
            (
                "error[usage]: option '--input_dim': expected 2 arguments\n"
                "  do:    write --input_dim NAME DIMS, for example: -d data 1,3,224,224"
            ),
        ),
        (
            ["--no_simplification=1"],
            (
                "error[usage]: option '--no_simplification': ignored explicit argument '1'\n"
                "  do:    write --no_simplification"
            ),
        ),
        (
            ["-b", "six"],
            (
                "error[usage]: option '--batch' has the value 'six', expected a whole number from 1 to "
                "2147483647\n  do:    for example: --batch 6"
            ),
        ),
        (
            ["-d", "x", "1", "-d", "x", "2"],
            "error[usage]: option '--input_dim' names 'x' 2 times, expected once\n  do:    keep one of them",
        ),
    ],
)
def test_wrong_words_are_answered_with_help(words, message):
    with pytest.raises(UsageError) as caught:
        convert(*words)
    assert str(caught.value) == message


def test_abbreviations_are_unknown_because_they_change_meaning_with_the_next_option():
    with pytest.raises(UsageError, match="option '--keep_int64' is unknown"):
        convert("--keep_int64")


def test_all_unknown_options_come_at_once():
    with pytest.raises(Problems) as caught:
        convert("--one", "--two")
    assert len(caught.value.errors) == 2


def test_a_missing_model_is_named():
    with pytest.raises(UsageError) as caught:
        read_words([], ONNX_CONVERTER, ONNX_CONVERTER_RULES)
    assert str(caught.value) == (
        "error[usage]: option '--input_network' is missing, it is required\n  do:    add --input_network FILE"
    )


@pytest.mark.parametrize("words", [["m", "--level", "2"], ["--level", "2", "m"], ["--level", "2", "--", "m"]])
def test_an_argument_without_a_flag_may_stand_anywhere(words):
    (group,) = read_words(words, (Positional,), ())
    assert (group.model, group.level) == ("m", 2)


def test_a_missing_argument_is_named():
    with pytest.raises(UsageError, match="argument 'MODEL' is missing, it is required"):
        read_words([], (Positional,), ())


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("qnn-onnx-converter", ONNX_CONVERTER),
        ("qnn-tflite-converter", TFLITE_CONVERTER),
        ("qnn-pytorch-converter", PYTORCH_CONVERTER),
        ("qnn-tensorflow-converter", TENSORFLOW_CONVERTER),
        ("qnn-net-run", NET_RUN),
        ("qairt-converter", QAIRT_CONVERTER),
        ("qairt-quantizer", QAIRT_QUANTIZER),
        ("qnn-context-binary-generator", CONTEXT_GENERATOR),
    ],
)
def test_the_help_of_a_tool_is_as_recorded(name, groups, golden):
    golden(f"help/{name}.txt", write_help(name, "Summary.", groups, [(f"{name} --help", "show this")]) + "\n")


def test_help_stays_within_its_width():
    for line in write_help("t", "s", (*ONNX_CONVERTER, *NET_RUN), []).splitlines():
        assert len(line) <= 100
