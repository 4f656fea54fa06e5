"""`edgewright check`: what keeps a model from the HTP, from its speed or from its accuracy."""

from edgewright.config.check import CheckedEncodings, CheckedFile
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import Messages, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

# As for everything that the target does not support.
NOT_FIT = 4


def run(
    file: CheckedFile,
    shapes: Shapes,
    encodings: CheckedEncodings,
    images: Preprocessing,
    report: Report,
    _messages: Messages,
) -> int:
    """Say what was found, and what to do; the exit code says whether the HTP would take it."""
    from pathlib import Path

    from edgewright.api.check import check
    from edgewright.config.umbrella import ModelFile
    from edgewright.model.model import Model
    from edgewright.model.open_shapes import read_shapes_from_samples
    from edgewright.model.saving import is_stored
    from edgewright.reports.check import make_page
    from edgewright.run.run_files import open_model

    model: Model | str = file.model
    if Path(file.model).suffix != ".bin":
        model = open_model(ModelFile(file.model), shapes)
        if encodings.data is not None and not is_stored(file.model):
            fixed, note = read_shapes_from_samples(model, shapes, encodings.data, images)
            model = open_model(ModelFile(file.model), fixed) if note else model
    result = check(
        model,
        encodings.data,
        quantized=encodings.quantized,
        overrides=encodings.quantization_overrides,
        precision=encodings.precision,
        target=file.target,
        device_version=file.device_version,
        repaired=encodings.repaired,
        preprocessing=images,
    )
    tell(report, result, lambda record: make_page(record, Path(file.model).name))
    return 0 if result.is_fit else NOT_FIT


TOOL = Tool(
    "edgewright check",
    "Say what keeps a model from the HTP, from its speed or its accuracy, and whether a context binary suits "
    "a chip; exit code 0 where the HTP would take it, 4 where not.",
    (CheckedFile, Shapes, CheckedEncodings, Preprocessing, Report, Messages),
    run,
    examples=(
        ("edgewright check model.onnx", "what the architecture costs on the HTP, and what to change"),
        ("edgewright check model.onnx --data samples/ --target SM8650", "and what 8 bits cost"),
        (
            "edgewright check model.onnx --data samples --quantization_overrides my.json --repaired new.dlc",
            "which encodings of a file are bad, and the model without them",
        ),
        ("edgewright check m.bin --target SM8650", "will this context binary run on a Snapdragon 8 Gen 3?"),
    ),
)
main = TOOL.main
