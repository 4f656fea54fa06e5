"""qnn-context-binary-generator: compiles converted models into a context binary."""

from edgewright.config.context import Target
from edgewright.config.context_generator import (
    CONTEXT_GENERATOR,
    ContextModel,
    ContextOutput,
    ContextSettings,
    GeneratorLog,
)
from edgewright.config.umbrella import Report
from edgewright.tools.tool import Tool

NAME = "qnn-context-binary-generator"


def run(
    model: ContextModel,
    output: ContextOutput,
    settings: ContextSettings,
    _log: GeneratorLog,
    target: Target,
    report: Report,
) -> None:
    """Make the context binary and describe it."""
    from edgewright.reports.context import make_generated_page
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show
    from edgewright.sdk.context_generate import GeneratorOptions, generate_context

    made = generate_context(GeneratorOptions(model, output, settings, target))
    if report.json:
        print(as_json(made))
    else:
        show(make_generated_page(made))


TOOL = Tool(
    NAME,
    "Compile converted models for a backend and a chip; OUTPUT_DIR/NAME.bin loads without compiling again.",
    (*CONTEXT_GENERATOR, Target, Report),
    run,
    examples=(
        (
            f"{NAME} --model m.dlc --backend libQnnHtp.so --binary_file m --target SM8650",
            "for a Snapdragon 8 Gen 3, by the genuine library where it is installed",
        ),
        (
            f"{NAME} --model a_net.json,b.dlc --backend htp-sim --binary_file both",
            "two models in one context of the simulation, which needs no other library",
        ),
        (
            f"{NAME} --model m.dlc --backend libQnnHtp.so --config_file c.json --optimization_level high",
            "with backend extensions, and the most effort",
        ),
    ),
)
main = TOOL.main
