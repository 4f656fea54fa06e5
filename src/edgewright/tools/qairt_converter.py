"""qairt-converter: a model of any source format to a DLC."""

from edgewright.config.converter import DryRun
from edgewright.config.group import OptionGroup, collect_groups
from edgewright.config.qairt_converter import QAIRT_CONVERTER
from edgewright.config.umbrella import Report
from edgewright.tools.answer import tell
from edgewright.tools.legacy_converter import report_dry_run
from edgewright.tools.tool import Tool

NAME = "qairt-converter"


def run(*groups: OptionGroup) -> int:
    """Convert, or only inspect with --dry_run, or only write a template."""
    chosen = {type(group): group for group in groups}
    dry_run, report = chosen.pop(DryRun), chosen.pop(Report)
    assert isinstance(dry_run, DryRun)
    assert isinstance(report, Report)
    from edgewright.reports.conversion import make_page
    from edgewright.sdk.conversion import spell_command
    from edgewright.sdk.qairt_converter import (
        QairtConverterOptions,
        convert_to_dlc,
        make_input_spec,
        write_io_config_template,
    )

    options = collect_groups(QairtConverterOptions, groups)
    if dry_run.dry_run is not None:
        return report_dry_run(options.source.input_network, make_input_spec(options), dry_run.dry_run, report)
    if options.io.dump_io_config_template is not None:
        print(f"wrote {write_io_config_template(options)}; nothing was converted")
        return 0
    conversion = convert_to_dlc(options, spell_command(NAME, chosen.values()))
    tell(report, conversion, make_page)
    return 0


TOOL = Tool(
    NAME,
    "Convert a model to a DLC; inputs and outputs keep their layouts and data types.",
    (*QAIRT_CONVERTER, Report),
    run,
    examples=(
        (f"{NAME} -i model.onnx -o out/model.dlc", "convert"),
        (
            f"{NAME} -i model.onnx --dump_io_config_template io.yaml",
            "a template for inputs and outputs",
        ),
        (f"{NAME} -i model.onnx --io_config io.yaml", "convert with inputs and outputs as described there"),
        (f"{NAME} -i model.onnx --float_bitwidth 16", "store floats in 16 bits"),
    ),
)
main = TOOL.main
