"""qnn-onnx-converter: an ONNX model to model.cpp, model.bin and model_net.json."""

from functools import partial

from edgewright.config.onnx import ONNX_CONVERTER, ONNX_CONVERTER_RULES
from edgewright.config.umbrella import Report
from edgewright.tools.legacy_converter import place_quantizers, run_converter
from edgewright.tools.tool import Tool

NAME = "qnn-onnx-converter"


TOOL = Tool(
    NAME,
    "Convert an ONNX model to a QNN model: C++ source, weights and a description in JSON.",
    (*ONNX_CONVERTER, Report),
    partial(run_converter, NAME),
    adapt_words=place_quantizers,
    examples=(
        (f"{NAME} -i model.onnx -o out/model.cpp", "convert; images become NHWC, int64 becomes int32"),
        (f"{NAME} -i model.onnx --preserve_io", "keep layouts and types of all inputs and outputs"),
        (f"{NAME} -i model.onnx -b 1 -s height 224 -s width 224", "fix symbolic dimensions"),
        (f"{NAME} -i model.onnx --input_list inputs.txt", "quantize with the inputs that a list names"),
        (f"{NAME} -i model.onnx --dry_run", "only say what would convert and what would not"),
    ),
    rules=ONNX_CONVERTER_RULES,
)
main = TOOL.main
