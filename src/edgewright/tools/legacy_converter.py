"""What the legacy converters do with their options: convert, or only inspect with --dry_run."""

from typing import TYPE_CHECKING

from edgewright.config.converter import (
    ArchChecker,
    CustomIo,
    DryRun,
    GraphChanges,
    OpPackage,
    Output,
    Source,
)
from edgewright.config.group import OptionGroup
from edgewright.config.onnx import OnnxOnly
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.pytorch import PytorchOnly
from edgewright.config.quantizer import Quantizer
from edgewright.config.tensorflow import TensorflowOnly
from edgewright.config.tflite import TfliteOnly
from edgewright.config.umbrella import Report
from edgewright.core.errors import UnsupportedOp
from edgewright.tools.answer import tell

if TYPE_CHECKING:
    from edgewright.sdk.converter import ConverterOptions

__all__ = ["run_converter"]

# The groups that change what is written, by the field that holds them; a converter may lack some.
FIELDS: dict[str, type[OptionGroup]] = {
    "source": Source,
    "output": Output,
    "changes": GraphChanges,
    "package": OpPackage,
    "preserve": PreserveIo,
    "custom": CustomIo,
    "onnx": OnnxOnly,
    "quantizer": Quantizer,
    "tflite": TfliteOnly,
    "tensorflow": TensorflowOnly,
    "pytorch": PytorchOnly,
    "architecture": ArchChecker,
}


def run_converter(name: str, groups: tuple[OptionGroup, ...]) -> int:
    """Runs a converter with its options."""
    chosen = {type(group): group for group in groups}
    look, report = chosen.pop(DryRun, DryRun()), chosen.pop(Report)
    assert isinstance(look, DryRun)
    assert isinstance(report, Report)
    from edgewright.frontends.torch_source import load_op_libraries
    from edgewright.reports.conversion import make_page
    from edgewright.sdk.converter import ConverterOptions, command_text, convert_files
    from edgewright.sdk.custom_io_template import write_custom_io_template

    given = {field: chosen[kind] for field, kind in FIELDS.items() if kind in chosen}
    options = ConverterOptions(**given)  # type: ignore[arg-type]
    load_op_libraries(options.pytorch)
    if look.dry_run is not None:
        return _look(options, look.dry_run, report)
    if options.onnx.dump_custom_io_config_template is not None:
        print(f"wrote {write_custom_io_template(options)}; nothing was converted")
        return 0
    conversion = convert_files(options, command_text(name, chosen.values()))
    tell(report, conversion, make_page)
    return 0


def _look(options: "ConverterOptions", detail: str, report: Report) -> int:
    from edgewright.model.inspect import dry_run
    from edgewright.reports.inspection import make_dry_run_page
    from edgewright.sdk.converter import overrides_of

    found = dry_run(options.source.input_network, overrides_of(options))
    tell(report, found, lambda seen: make_dry_run_page(seen, detail))
    return 0 if found.is_convertible else UnsupportedOp.exit_code
