"""What the legacy converters do with their options: convert, or only inspect with --dry_run."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgewright.config.converter import DryRun
from edgewright.config.group import OptionGroup, collect_groups
from edgewright.config.umbrella import Report
from edgewright.core.errors import UnsupportedOp, shown
from edgewright.tools.answer import tell

log = logging.getLogger(__name__)
# What may stand behind the name of a quantizer, and the option that is for it.
TENSOR_KINDS = {"weights": "--param_quantizer", "activations": "--act_quantizer"}

if TYPE_CHECKING:
    from edgewright.frontends._common.input_spec import InputSpec


def run_converter(name: str, *groups: OptionGroup) -> int:
    """Runs a converter with its options."""
    chosen = {type(group): group for group in groups}
    look, report = chosen.pop(DryRun, DryRun()), chosen.pop(Report)
    assert isinstance(look, DryRun)
    assert isinstance(report, Report)
    from edgewright.frontends.torch_source import load_op_libraries
    from edgewright.reports.conversion import make_page
    from edgewright.sdk.conversion import spell_command
    from edgewright.sdk.converter import ConverterOptions, convert_files, make_input_spec
    from edgewright.sdk.converter import write_custom_io_template as write_template

    options = collect_groups(ConverterOptions, groups)
    _say_other_framework(name, options.source.input_network)
    load_op_libraries(options.pytorch)
    if look.dry_run is not None:
        return report_dry_run(options.source.input_network, make_input_spec(options), look.dry_run, report)
    if options.onnx.dump_custom_io_config_template is not None:
        print(f"wrote {write_template(options)}; nothing was converted")
        return 0
    conversion = convert_files(options, spell_command(name, chosen.values()))
    tell(report, conversion, make_page)
    return 0


def _say_other_framework(name: str, source: str) -> None:
    """All converters take models of all frameworks; the SDK has one for each."""
    from edgewright.frontends.framework import framework_of

    own = framework_of(source).value
    if f"qnn-{own.lower()}-converter" != name:
        log.warning("'%s' is a model of %s, which has qnn-%s-converter", shown(source), own, own.lower())


def place_quantizers(words: Sequence[str]) -> list[str]:
    """The words with each quantizer at its own option.

    The guide (12235) appends what it is for: `--param_quantizer enhanced weights`, or
    `--param_quantizer enhanced activations`, which is the quantizer of the other option, or both words.
    """
    placed: list[str] = []
    is_placed = False
    for word in words:
        if word not in TENSOR_KINDS or len(placed) < 2 or placed[-2] not in TENSOR_KINDS.values():
            placed.append(word)
            is_placed = False
            continue
        option, quantizer = TENSOR_KINDS[word], placed[-1]
        placed = [*(placed if is_placed else placed[:-2]), option, quantizer]
        is_placed = True
    return placed


def report_dry_run(source: str, spec: "InputSpec", detail: str, report: Report) -> int:
    """What --dry_run does: say what a conversion would meet."""
    from edgewright.model.inspect import preview_conversion
    from edgewright.reports.inspection import make_dry_run_page

    result = preview_conversion(source, spec)
    tell(report, result, lambda record: make_dry_run_page(record, detail))
    return 0 if result.is_convertible else UnsupportedOp.exit_code
