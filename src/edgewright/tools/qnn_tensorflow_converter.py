"""qnn-tensorflow-converter: a TensorFlow model to model.cpp, model.bin and model_net.json."""

from functools import partial

from edgewright.config.tensorflow import TENSORFLOW_CONVERTER
from edgewright.config.umbrella import Report
from edgewright.tools.legacy_converter import place_quantizers, run_converter
from edgewright.tools.tool import Tool

NAME = "qnn-tensorflow-converter"


TOOL = Tool(
    NAME,
    "Convert a TensorFlow model to a QNN model: C++ source, weights and a description in JSON.",
    (*TENSORFLOW_CONVERTER, Report),
    partial(run_converter, NAME),
    adapt_words=place_quantizers,
    examples=(
        (
            f"{NAME} -i frozen.pb -d image 1,224,224,3 --out_node Softmax",
            "a frozen graph; ':0' may be left out",
        ),
        (
            f"{NAME} -i saved_model_folder -o out/model.cpp",
            "a SavedModel with its default signature",
        ),
        (f"{NAME} -i saved_model_folder --saved_model_signature_key embed", "another signature"),
        (f"{NAME} -i frozen.pb --float_fallback", "quantize with the ranges of FakeQuant nodes"),
        (f"{NAME} -i frozen.pb --show_unconsumed_nodes", "list what the outputs do not depend on"),
    ),
)
main = TOOL.main
