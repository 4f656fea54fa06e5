"""qnn-quantization-checker: every way to quantize a model, tensor by tensor against float."""

from edgewright.config.quantization_checker import QuantizationCheckOptions
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qnn-quantization-checker"


def run(options: QuantizationCheckOptions, report: Report, _messages: Messages) -> int:
    """Check, write the pages, and say what fails."""
    from edgewright.core.errors import BadInput
    from edgewright.reports.quantization_checker import HistogramPlots, make_page, write_pages
    from edgewright.sdk.quantization_checker.check_models import check_quantization
    from edgewright.sdk.quantization_checker.config_file import read_config

    config = read_config(options)
    result = check_quantization(config, HistogramPlots() if config.draws else None)
    write_pages(result)
    tell(report, result, make_page)
    return BadInput.exit_code if result.refused else 0


TOOL = Tool(
    NAME,
    "Compare weights, biases and activations of every quantization variant with float, and repair encodings.",
    (QuantizationCheckOptions, Report, Messages),
    run,
    examples=(
        (
            f"{NAME} --model model.onnx --input_list inputs.txt --output_csv",
            "a page for each variant and input",
        ),
        (f"{NAME} --config_file check.json", "thresholds, variants and the repair mode from a file"),
    ),
)
main = TOOL.main
