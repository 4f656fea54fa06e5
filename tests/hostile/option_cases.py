"""Hostile values of every option of every tool, from the declarations of the options."""

import importlib
from collections.abc import Iterator

import numpy as np

from edgewright.config.option import Option
from edgewright.tools.tool import Tool
from tests.hostile.artifacts import INPUT, npy, sound
from tests.hostile.case import Case, Content
from tests.hostile.config_cases import op, package
from tests.hostile.onnx_cases import SOUND
from tests.hostile.tensorflow_cases import SOUND as GRAPH
from tests.hostile.tflite_cases import SOUND as FLAT

FILES: dict[str, Content] = {
    "in/m.onnx": SOUND.SerializeToString(),
    "in/m.tflite": FLAT,
    "in/m.pb": GRAPH,
    "in/m.dlc": sound("m.dlc"),
    "in/m_net.json": sound("m_net.json"),
    "in/m.bin": sound("m.bin"),
    "in/context.bin": sound("context.bin"),
    "in/list.txt": "in/x.raw\n",
    "in/x.raw": INPUT.tobytes(),
    "in/x.npy": npy(np.zeros((4, 1, 4, 4), np.float32)),
    "in/p.xml": package(op()),
}
# A sound command of each tool, to which one option is added.
COMMANDS: dict[str, tuple[str, ...]] = {
    "convert_command": ("edgewright", "convert", "in/m.onnx", "-o", "out/m.cpp"),
    "quantize_command": ("edgewright", "quantize", "in/m.onnx", "--data", "in/x.npy", "-o", "out/m.dlc"),
    "backend_library_command": ("edgewright", "backend-library", "-o", "out/lib"),
    "inspect_command": ("edgewright", "inspect", "in/m.onnx"),
    "run_command": ("edgewright", "run", "in/m.onnx", "--data", "in/x.npy"),
    "check_command": ("edgewright", "check", "in/m.onnx"),
    "estimate_command": ("edgewright", "estimate", "in/m.onnx", "--target", "SM8650"),
    "view_command": ("edgewright", "view", "in/m.onnx", "--export", "out/v.html"),
    "op_command": ("edgewright", "op", "Relu"),
    "explain_command": ("edgewright", "explain", "bad-input"),
    "targets_command": ("edgewright", "targets"),
    "export_ep_context_command": ("edgewright", "export-ep-context", "in/context.bin", "-o", "out/e.onnx"),
    "compare_builds_command": ("edgewright", "compare-builds", "in", "in"),
    "replay_command": ("edgewright", "replay", "in", "--backend", "cpu"),
    "sweep_command": ("edgewright", "sweep", "in/none.yaml", "-o", "out"),
    "debug_command": ("edgewright", "debug", "in/m.onnx", "--data", "in/x.npy", "-o", "out"),
    "evaluate_command": ("edgewright", "evaluate", "in/m.onnx", "--data", "in/none.npy", "-o", "out"),
    "build_command": ("edgewright", "build", "in/m.onnx", "--data", "in/x.npy", "--target", "SM8650", "-o", "out", "--dry-run"),
    "profile_command": ("edgewright", "profile", "in/m.onnx"),
    "llm_quantize_command": ("edgewright", "llm", "quantize", "in/none", "-o", "out/m.gguf"),
    "llm_build_command": ("edgewright", "llm", "build", "in/none", "--target", "SM8650", "-o", "out"),
    "llm_eval_command": ("edgewright", "llm", "eval", "in/none"),
    "llm_run_command": ("edgewright", "llm", "run", "in/none"),
    "qairt_converter": ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc"),
    "qairt_quantizer": ("qairt-quantizer", "--input_dlc", "in/m.dlc", "--output_dlc", "out/q.dlc", "--input_list", "in/list.txt"),
    "qnn_onnx_converter": ("qnn-onnx-converter", "-i", "in/m.onnx", "-o", "out/m.cpp"),
    "qnn_tflite_converter": ("qnn-tflite-converter", "-i", "in/m.tflite", "-o", "out/m.cpp"),
    "qnn_tensorflow_converter": ("qnn-tensorflow-converter", "-i", "in/m.pb", "-o", "out/m.cpp", "-d", "x", "1,4,4,2", "--out_node", "y"),
    "qnn_pytorch_converter": ("qnn-pytorch-converter", "-i", "in/none.pt", "-o", "out/m.cpp", "-d", "x", "4"),
    "qnn_net_run": ("qnn-net-run", "--model", "in/m_net.json", "--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out"),
    "qnn_throughput_net_run": ("qnn-throughput-net-run", "--config", "in/none.json", "--output", "out/r.json"),
    "qnn_context_binary_generator": ("qnn-context-binary-generator", "--model", "in/m_net.json", "--backend", "cpu", "--binary_file", "c", "--output_dir", "out"),
    "qnn_context_binary_utility": ("qnn-context-binary-utility", "--context_binary", "in/context.bin", "--json_file", "out/c.json"),
    "qnn_op_package_generator": ("qnn-op-package-generator", "-p", "in/p.xml", "-o", "out"),
    "qnn_model_lib_generator": ("qnn-model-lib-generator", "-c", "in/none.cpp", "-o", "out"),
    "qnn_profile_viewer": ("qnn-profile-viewer", "--input_log", "in/none.log", "--output", "out/p.csv"),
    "qnn_quantization_checker": ("qnn-quantization-checker", "--model", "in/m.onnx", "--input_list", "in/list.txt", "--output_dir", "out"),
    "qnn_architecture_checker": ("qnn-architecture-checker", "-i", "in/m_net.json", "-o", "out"),
    "qnn_accuracy_evaluator": ("qnn-accuracy-evaluator", "-config", "in/none.yaml", "-work_dir", "out"),
    "qnn_bench": ("qnn-bench", "-c", "in/none.json", "-o", "out"),
}  # fmt: skip
VALUES = {
    "nothing": "",
    "no number": "nan",
    "5,000 digits": "9" * 5000,
    "not UTF-8": "\udcff",
    "below 0": "-1",
    "other digits": "\u0663",
    "brackets": "[{(",
    "a format": "%s{0}{x!r}",
    "a new line": "a\nb",
    "separators": ",;:=,",
}


def find_tool(module: str) -> Tool | None:
    """The declared command line of a module."""
    found = importlib.import_module(f"edgewright.tools.{module}")
    return next((value for value in vars(found).values() if isinstance(value, Tool)), None)


def list_options(tool: Tool) -> Iterator[Option]:
    """Its options that take values and have a flag."""
    for group in tool.groups:
        for option in group.options().values():
            if not option.is_positional and option.nargs != 0 and option.built:
                yield option


def count_values(option: Option) -> int:
    """How many values it wants at least."""
    if isinstance(option.nargs, int):
        return option.nargs
    return option.nargs[0] if isinstance(option.nargs, tuple) else 1


# Options that say where something is written: their values are names of files, and become such; --debug
# shows tracebacks, as it says.
WRITING = (
    "debug",
    "output",
    "export",
    "page",
    "dump",
    "save",
    "json_file",
    "binary_file",
    "work_dir",
    "store",
)


def list_cases(module: str, share: int = 1) -> Iterator[Case]:
    """One option of a tool with one value each; of the values one in so many, in turn."""
    tool = find_tool(module)
    assert tool is not None, module
    for number, option in enumerate(list_options(tool)):
        if any(word in option.name for word in WRITING):
            continue
        for place, (label, value) in enumerate(VALUES.items()):
            if (place - number) % share == 0:
                words = (*COMMANDS[module], option.name, *[value] * count_values(option))
                yield Case(f"{option.name}: {label}", words, FILES, (0, 2, 3, 4, 5, 6))
