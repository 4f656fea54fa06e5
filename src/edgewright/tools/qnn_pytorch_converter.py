"""qnn-pytorch-converter: a PyTorch program to model.cpp, model.bin and model_net.json."""

from functools import partial

from edgewright.config.pytorch import PYTORCH_CONVERTER, PYTORCH_CONVERTER_RULES
from edgewright.config.umbrella import Report
from edgewright.tools.legacy_converter import place_quantizers, run_converter
from edgewright.tools.tool import Tool

NAME = "qnn-pytorch-converter"


TOOL = Tool(
    NAME,
    "Convert a PyTorch program (TorchScript or torch.export) to a QNN model: C++ source, weights and a "
    "description in JSON.",
    (*PYTORCH_CONVERTER, Report),
    partial(run_converter, NAME),
    adapt_words=place_quantizers,
    examples=(
        (f"{NAME} -i model.pt -d input 1,3,224,224", "convert TorchScript, which stores no shapes"),
        (f"{NAME} -i model.pt2", "convert what torch.export.save wrote"),
        (f"{NAME} -i model.pt -d ids 1,128 --input_dtype ids int64", "an integer input"),
        (f"{NAME} -i model.pt -d x 1,512 -d rate 16000", "a number that the program takes, by its value"),
        (f"{NAME} -i model.pt -d input 1,3,224,224 --dry_run", "only say what would convert"),
    ),
    rules=PYTORCH_CONVERTER_RULES,
)
main = TOOL.main
