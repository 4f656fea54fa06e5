"""`edgewright quantize`: a model in fixed point or half precision, and what that costs."""

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import QuantizeOptions, QuantizeOutput
from edgewright.config.umbrella import Messages, ModelFile, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright quantize"


def run(
    model: ModelFile,
    shapes: Shapes,
    options: QuantizeOptions,
    images: Preprocessing,
    output: QuantizeOutput,
    report: Report,
    _messages: Messages,
) -> int:
    """Quantize, write, compare with the float model and report."""
    from edgewright.reports.quantized_files import make_page
    from edgewright.sdk.conversion import spell_command
    from edgewright.sdk.quantize_files import quantize_files

    command = spell_command(NAME, (model, shapes, options, images, output))
    result = quantize_files(model, shapes, options, output, images, command)
    tell(report, result, make_page)
    return 0


TOOL = Tool(
    NAME,
    "Quantize a model with samples, and compare it with the float model on them.",
    (ModelFile, Shapes, QuantizeOptions, Preprocessing, QuantizeOutput, Report, Messages),
    run,
    examples=(
        (f"{NAME} model.onnx --data samples/", "8 bits, a scale for each channel; writes model_w8a8.dlc"),
        (f"{NAME} model.onnx --data samples.npz --precision w4a16", "weights in 4 bits, activations in 16"),
        (f"{NAME} model.onnx --data images/ --mean 127.5 --std 127.5", "images, scaled to -1 to 1"),
        (f"{NAME} model.onnx --data list.txt -o m_qdq.onnx", "an ONNX model that any ONNX runtime runs"),
        (f"{NAME} model.onnx --precision fp16", "half precision, which needs no samples"),
    ),
)
main = TOOL.main
