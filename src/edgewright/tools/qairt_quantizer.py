"""qairt-quantizer: a float DLC to one in fixed point."""

from edgewright.config.group import OptionGroup, collect_groups
from edgewright.config.qairt_quantizer import (
    QAIRT_QUANTIZER,
    QAIRT_QUANTIZER_RULES,
)
from edgewright.config.umbrella import Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qairt-quantizer"


def run(*groups: OptionGroup) -> int:
    """Quantize and report the result."""
    chosen = {type(group): group for group in groups}
    report = chosen.pop(Report)
    assert isinstance(report, Report)
    from edgewright.reports.quantized_dlc import make_page
    from edgewright.sdk.conversion import spell_command
    from edgewright.sdk.qairt_quantizer import QairtQuantizerOptions, quantize_dlc

    options = collect_groups(QairtQuantizerOptions, groups)
    result = quantize_dlc(options, spell_command(NAME, chosen.values()))
    tell(report, result, make_page)
    return 0


TOOL = Tool(
    NAME,
    "Quantize a float DLC, with calibration data or from the encodings that it keeps.",
    (*QAIRT_QUANTIZER, Report),
    run,
    examples=(
        (f"{NAME} --input_dlc model.dlc --input_list inputs.txt", "8 bits, ranges from the listed inputs"),
        (
            f"{NAME} --input_dlc model.dlc --input_list inputs.txt --use_per_channel_quantization",
            "a scale for each channel of convolution weights",
        ),
        (f"{NAME} --input_dlc model.dlc --float_fallback", "only what has encodings in the DLC"),
    ),
    rules=QAIRT_QUANTIZER_RULES,
)
main = TOOL.main
