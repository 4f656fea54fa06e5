"""qnn-onnx-converter: an ONNX model to model.cpp, model.bin and model_net.json."""

from typing import TYPE_CHECKING

from edgewright.config.converter import (
    DryRun,
    GraphChanges,
    OpPackage,
    Output,
    Source,
)
from edgewright.config.group import OptionGroup
from edgewright.config.onnx import ONNX_CONVERTER, ONNX_CONVERTER_RULES, OnnxOnly
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.quantizer import Quantizer
from edgewright.config.umbrella import Report
from edgewright.core.errors import UnsupportedOp
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from edgewright.api.converter import ConverterOptions

__all__ = ["TOOL", "main"]

NAME = "qnn-onnx-converter"


def run(*groups: OptionGroup) -> int:
    """Convert, or only look with --dry_run."""
    chosen = {type(group): group for group in groups}
    dry_run, report = chosen.pop(DryRun), chosen.pop(Report)
    assert isinstance(dry_run, DryRun)
    assert isinstance(report, Report)
    from edgewright.api.converter import ConverterOptions, command_text, convert_files
    from edgewright.reports.conversion import page
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show

    kinds = (Source, Output, GraphChanges, OpPackage, PreserveIo, OnnxOnly, Quantizer)
    options = ConverterOptions(*(chosen[kind] for kind in kinds))  # type: ignore[arg-type]
    if dry_run.dry_run is not None:
        return _look(options, dry_run.dry_run, report)
    conversion = convert_files(options, command_text(NAME, chosen.values()))
    if report.json:
        print(as_json(conversion))
    else:
        show(page(conversion))
    return 0


def _look(options: "ConverterOptions", detail: str, report: Report) -> int:
    from edgewright.api.converter import overrides_of
    from edgewright.api.inspect import dry_run
    from edgewright.reports.inspection import dry_run_page
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show

    found = dry_run(options.source.input_network, overrides_of(options))
    if report.json:
        print(as_json(found))
    else:
        show(dry_run_page(found, detail))
    return 0 if found.is_convertible else UnsupportedOp.exit_code


TOOL = Tool(
    NAME,
    "Convert an ONNX model to a QNN model: C++ source, weights and a description in JSON.",
    (*ONNX_CONVERTER, Report),
    run,
    examples=(
        (f"{NAME} -i model.onnx -o out/model.cpp", "convert; images become NHWC, int64 becomes int32"),
        (f"{NAME} -i model.onnx --preserve_io", "keep layouts and types of all inputs and outputs"),
        (f"{NAME} -i model.onnx -b 1 -s height 224 -s width 224", "fix symbolic dimensions"),
        (f"{NAME} -i model.onnx --input_list inputs.txt", "quantize with the inputs that a list names"),
        (f"{NAME} -i model.onnx --dry_run", "only say what would convert and what would not"),
    ),
    rules=ONNX_CONVERTER_RULES,
)
main = TOOL.main
