"""The options of framework diagnosis, a feature of qnn-accuracy-debugger."""

from dataclasses import dataclass

from edgewright.config.accuracy_debugger import FRAMEWORK, INPUT_TENSORS, MODEL_PATH, OUTPUT_TENSORS
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class FrameworkModel(OptionGroup):
    """The model and its inputs."""

    title = "Framework diagnosis"

    model_path: str = opt(like=MODEL_PATH)
    input_tensor: tuple[tuple[str, ...], ...] = opt(like=INPUT_TENSORS, required=True)
    framework: tuple[str, ...] | None = opt(like=FRAMEWORK)
    output_tensor: tuple[str, ...] = opt(like=OUTPUT_TENSORS)
    disable_graph_optimization: bool = opt(help="run the ONNX model as it is, without any rewriting")
    onnx_custom_op_lib: str | None = opt(
        metavar="LIB", help="a library of custom ops for ONNX Runtime; run only libraries that you trust"
    )
