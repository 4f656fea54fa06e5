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
    from edgewright.llm.npu.build_model import BuildRequest, build_language_model, check_build
    from edgewright.reports.llm_build import make_page

    request = BuildRequest(
        model.checkpoint,
        options.output_path,
        target=options.target,
        calibration=options.calib,
        calibration_tokens=options.calib_tokens,
        precision=options.precision,
        recipe=options.recipe,
        effort=options.effort,
        mixed=options.mixed,
        prefill=options.prefill,
        context=options.context,
        kv_bits=options.kv_bits,
        embedding=options.embedding,
        parts=options.parts,
        text=options.text,
        native_windows=options.native_windows,
        share_weights=options.share_weights,
        is_compiled=not options.no_compile,
    )
    built = build_language_model(request)
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
        (f"{NAME} Phi-4-mini --target SM8650 --calib book.txt --kv_bits 8 --parts 4 -o out", "four contexts"),
    ),
)
main = TOOL.main
