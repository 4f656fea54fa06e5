"""`edgewright llm build`: a language model for the NPU, compiled for a chip."""

from edgewright.config.llm import LanguageBuildOptions, LanguageModelFolder
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright llm build"


def run(
    model: LanguageModelFolder, options: LanguageBuildOptions, report: Report, _messages: Messages
) -> None:
    """Build, judge and report."""
    from edgewright.llm.npu.build_model import build_language_model, check_build
    from edgewright.reports.llm_build import make_page

    built = build_language_model(
        model.checkpoint,
        options.output_path,
        target=options.target,
        calibration=options.calib,
        precision=options.precision,
        recipe=options.recipe,
        prefill=options.prefill,
        context=options.context,
        text=options.text,
        native_windows=options.native_windows,
        share_weights=options.share_weights,
    )
    tell(report, built, make_page)
    check_build(built, options.max_increase)


TOOL = Tool(
    NAME,
    "Build a language model for the NPU: a graph that reads prompts, and one that writes tokens.",
    (LanguageModelFolder, LanguageBuildOptions, Report, Messages),
    run,
    examples=(
        (f"{NAME} Phi-tiny --target SM8650 --calib book.txt -o out", "4 bits in blocks of 64, not judged"),
        (f"{NAME} Phi-tiny --target SM8650 --calib book.txt --text other.txt -o out", "and judged"),
        (f"{NAME} Phi-tiny --target SM8650 --calib book.txt --precision w8a16 -o out", "8 bits"),
    ),
)
main = TOOL.main
