"""`edgewright inspect`: what a model contains, and which parts can be converted."""

from edgewright.config.umbrella import Messages, ModelFile, Names, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(model: ModelFile, shapes: Shapes, names: Names, report: Report, _messages: Messages) -> None:
    """Inspect and report; a model that does not convert is not a failure."""
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.model.inspect import inspect
    from edgewright.reports.inspection import make_page

    inspection = inspect(model.model, InputSpec.from_options(shapes))
    tell(report, inspection, lambda record: make_page(record, has_names=names.names))


TOOL = Tool(
    "edgewright inspect",
    "Show inputs and outputs, ops, parameters, MACs and what is unsupported, for any model.",
    (ModelFile, Shapes, Names, Report, Messages),
    run,
    examples=(
        ("edgewright inspect model.onnx", "look at a source model"),
        ("edgewright inspect out/model_net.json --json", "look at a converted model, for a program"),
        ("edgewright inspect out/model.dlc --names", "where each tensor of the source went"),
    ),
)
main = TOOL.main
