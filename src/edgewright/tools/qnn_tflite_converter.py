"""qnn-tflite-converter: a TFLite model to model.cpp, model.bin and model_net.json."""

from functools import partial

from edgewright.config.tflite import TFLITE_CONVERTER
from edgewright.config.umbrella import Report
from edgewright.tools.legacy_converter import place_quantizers, run_converter
from edgewright.tools.tool import Tool

NAME = "qnn-tflite-converter"


TOOL = Tool(
    NAME,
    "Convert a TFLite model to a QNN model: C++ source, weights and a description in JSON.",
    (*TFLITE_CONVERTER, Report),
    partial(run_converter, NAME),
    adapt_words=place_quantizers,
    examples=(
        (f"{NAME} -i model.tflite -o out/model.cpp", "convert; a quantized model stays quantized"),
        (f"{NAME} -i model.tflite -d input 1,320,320,3", "with another shape for an input"),
        (f"{NAME} -i model.tflite --signature_name encode", "one of several signatures"),
        (f"{NAME} -i model.tflite --input_list inputs.txt", "quantize a float model with samples"),
    ),
)
main = TOOL.main
