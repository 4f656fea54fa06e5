import json
from pathlib import Path

import pytest

from edgewright.config.accuracy_debugger import Components, DebuggerFolder, VerificationInputs
from edgewright.config.accuracy_evaluator import ACCURACY_EVALUATOR
from edgewright.config.architecture_checker import CheckedModel
from edgewright.config.context import ContextFile
from edgewright.config.context_generator import CONTEXT_GENERATOR
from edgewright.config.debugger_wrapper import WRAPPER
from edgewright.config.encoding_comparison import EncodingInputs, InspectionInputs
from edgewright.config.framework_diagnosis import FrameworkModel
from edgewright.config.inference_engine import INFERENCE_ENGINE, EngineQuantizer, EngineRun
from edgewright.config.model_library import MODEL_LIBRARY
from edgewright.config.net_run import NET_RUN
from edgewright.config.onnx import ONNX_CONVERTER
from edgewright.config.op_package import OP_PACKAGE
from edgewright.config.pytorch import PYTORCH_CONVERTER
from edgewright.config.qairt_converter import QAIRT_CONVERTER
from edgewright.config.qairt_quantizer import QAIRT_QUANTIZER
from edgewright.config.quantization_checker import QuantizationCheckOptions
from edgewright.config.tensorflow import TENSORFLOW_CONVERTER
from edgewright.config.tflite import TFLITE_CONVERTER
from edgewright.config.throughput import THROUGHPUT
from edgewright.config.umbrella import Messages, Report

GENUINE = json.loads((Path(__file__).parent / "genuine_flags.json").read_text())
TOOLS = {
    "qnn-onnx-converter": ONNX_CONVERTER,
    "qnn-tflite-converter": TFLITE_CONVERTER,
    "qnn-tensorflow-converter": TENSORFLOW_CONVERTER,
    "qnn-pytorch-converter": PYTORCH_CONVERTER,
    "qnn-net-run": NET_RUN,
    "qnn-throughput-net-run": THROUGHPUT,
    "qairt-converter": QAIRT_CONVERTER,
    "qairt-quantizer": QAIRT_QUANTIZER,
    "qnn-context-binary-generator": CONTEXT_GENERATOR,
    "qnn-context-binary-utility": (ContextFile,),
    "qnn-model-lib-generator": MODEL_LIBRARY,
    "qnn-op-package-generator": OP_PACKAGE,
    "qnn-architecture-checker": (CheckedModel,),
    "qnn-accuracy-evaluator": ACCURACY_EVALUATOR,
    "qnn-quantization-checker": (QuantizationCheckOptions,),
    "qnn-accuracy-debugger (wrapper)": (Components, *WRAPPER, DebuggerFolder),
    "qnn-accuracy-debugger --framework_diagnosis": (Components, FrameworkModel, DebuggerFolder),
    "qnn-accuracy-debugger --inference_engine": (Components, *INFERENCE_ENGINE, DebuggerFolder),
    "qnn-accuracy-debugger --verification": (Components, VerificationInputs, DebuggerFolder),
    "qnn-accuracy-debugger --compare_encodings": (Components, EncodingInputs, DebuggerFolder),
    "qnn-accuracy-debugger --tensor_inspection": (Components, InspectionInputs, DebuggerFolder),
}
# What ours have besides: every converter lists, keeps, leaves out and uses encodings.
_OF_ENGINE = {
    flag
    for kind in (EngineQuantizer, EngineRun)
    for option in kind.options().values()
    for flag in option.flags
}
ADDED = {
    # The guide hands the options of the engine through; its wrapper names few of them.
    "qnn-accuracy-debugger (wrapper)": {*_OF_ENGINE, "--model_per_layer"},
    "qnn-accuracy-debugger --compare_encodings": {"-w"},
    "qnn-accuracy-debugger --tensor_inspection": {"--output_dirname"},
    "qnn-net-run": {"--allow_cpu_ops", "--engine", "--profiling_option"},
    "qnn-onnx-converter": {"--dump_encoding_json"},
    "qnn-tflite-converter": {"--dump_encoding_json"},
    "qnn-tensorflow-converter": {"--dump_encoding_json"},
    "qnn-pytorch-converter": {"--dump_encoding_json"},
    "qairt-converter": {
        *("--ignore_encodings", "--keep_quant_nodes", "--float_fallback", "--dump_encoding_json"),
    },
}
EVERY_TOOL_HAS = {"-h", "--help", "--version"}
_KINDS = {kind for groups in TOOLS.values() for kind in groups}
GROUPS = sorted({*_KINDS, Messages, Report}, key=lambda kind: kind.__name__)


def flags_of(groups):
    return [flag for kind in groups for option in kind.options().values() for flag in option.flags]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_has_exactly_the_genuine_flags_and_few_of_its_own(tool):
    expected = {*GENUINE[tool], *ADDED.get(tool, ()), *EVERY_TOOL_HAS}
    assert {*flags_of(TOOLS[tool]), *EVERY_TOOL_HAS} == expected


@pytest.mark.parametrize("tool", TOOLS)
def test_no_flag_belongs_to_two_options(tool):
    flags = flags_of(TOOLS[tool])
    assert sorted(flags) == sorted(set(flags))


@pytest.mark.parametrize("kind", GROUPS, ids=lambda kind: kind.__name__)
def test_every_group_and_option_explains_itself(kind):
    assert kind.title
    for option in kind.options().values():
        assert len(option.help) > 10
        assert not option.help.endswith(".")
        assert option.nargs in (0, "?", "*", "+") or option.metavar


@pytest.mark.parametrize("kind", GROUPS, ids=lambda kind: kind.__name__)
def test_every_example_is_accepted_by_its_own_option(kind):
    for option in kind.options().values():
        if option.example:
            flag, *words = option.example.replace('"-0x80 0x7F"', "-0x80_0x7F").split()
            assert flag in option.flags
            option.read([[word.replace("_0x", " 0x") for word in words]])


@pytest.mark.parametrize("tool", TOOLS)
def test_every_rule_speaks_of_options_that_exist(tool):
    names = {option.name for kind in TOOLS[tool] for option in kind.options().values()}
    for kind in TOOLS[tool]:
        for rule in kind.rules:
            for value in vars(rule).values():
                for name in value if isinstance(value, tuple) else (value,):
                    assert not isinstance(name, str) or name in names
