"""`edgewright convert`: QNN artifacts that keep the source's input and output layouts and types."""

from edgewright.config.umbrella import ConvertTo, Messages, ModelFile, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(model: ModelFile, shapes: Shapes, output: ConvertTo, report: Report, _messages: Messages) -> int:
    """Convert and say what was written."""
    from edgewright.config.converter import Output, Source
    from edgewright.config.onnx import OnnxOnly
    from edgewright.config.preserve_io import PreserveIo
    from edgewright.reports.conversion import make_page
    from edgewright.sdk.conversion import spell_command
    from edgewright.sdk.converter import ConverterOptions, convert_files

    options = ConverterOptions(
        Source(input_network=model.model, input_dims=shapes.input_dims),
        Output(output_path=output.output_path),
        preserve=PreserveIo(preserve_io=((),)),
        onnx=OnnxOnly(batch=shapes.batch, define_symbols=shapes.define_symbols),
        input_values=shapes.input_values,
        expose_states=shapes.expose_states,
        is_narrowed=False,
    )
    conversion = convert_files(options, spell_command("edgewright convert", (model, shapes, output)))
    tell(report, conversion, make_page)
    return 0


TOOL = Tool(
    "edgewright convert",
    "Convert a model to QNN artifacts; inputs and outputs keep the layouts and types of the source.",
    (ModelFile, Shapes, ConvertTo, Report, Messages),
    run,
    examples=(
        ("edgewright convert model.onnx -o out/model.cpp", "write model.cpp, model.bin and model_net.json"),
        ("edgewright convert model.onnx -d data 1,3,224,224", "with a shape for a symbolic input"),
        (
            "edgewright convert voice.onnx --input_value sr 16000",
            "make an input that shapes the graph a constant",
        ),
    ),
)
main = TOOL.main
