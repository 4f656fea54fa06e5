"""`edgewright debug`: where a model loses accuracy, what is to blame and what each remedy gains."""

from edgewright.config.debug import DebugOptions
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import Messages, ModelFile, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright debug"


def run(
    file: ModelFile,
    shapes: Shapes,
    options: DebugOptions,
    images: Preprocessing,
    report: Report,
    _messages: Messages,
) -> None:
    """Diagnose the model, write the page and print the tables."""
    from pathlib import Path

    from edgewright.analyse.diagnosis import Diagnosis, list_blocks
    from edgewright.api.debug import debug
    from edgewright.core.files import with_own_name
    from edgewright.core.page import Block
    from edgewright.model.open_shapes import read_shapes_from_samples
    from edgewright.run.run_files import open_model

    model = open_model(file, shapes)
    fixed, note = read_shapes_from_samples(model, shapes, options.data, images)
    if note:
        model = open_model(file, fixed)
    path = Path(options.page or f"{with_own_name(file.model).stem}_debug.html")
    result = debug(
        model,
        options.data,
        quantized=options.quantized,
        precision=options.precision,
        act_quantizer=options.act_quantizer,
        overrides=options.quantization_overrides,
        target=options.target,
        backends=options.backends,
        page=path,
        preprocessing=images,
    )

    def make_page(record: Diagnosis) -> list[Block]:
        return [*([note] if note else []), *list_blocks(record), f"wrote {path}"]

    tell(report, result, make_page)


TOOL = Tool(
    NAME,
    "Find where a quantized model loses accuracy: layers, encodings, and remedies with what they gain.",
    (ModelFile, Shapes, DebugOptions, Preprocessing, Report, Messages),
    run,
    examples=(
        (f"{NAME} model.onnx --data samples/", "quantize to 8 bits and say where it loses; model_debug.html"),
        (
            f"{NAME} model.onnx --data samples/ --quantization_overrides m.json",
            "are these encodings to blame?",
        ),
        (f"{NAME} model.onnx --data samples/ --quantized model.dlc", "a model that is quantized already"),
        (f"{NAME} model.onnx --data samples/ --target SM8650", "the emulator beside the simulation"),
    ),
)
main = TOOL.main
