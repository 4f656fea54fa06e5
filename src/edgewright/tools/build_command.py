"""`edgewright build`: from a model and data to a compiled, evaluated NPU model and its report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from edgewright.config.build import BuildData, BuildOutput, BuildTarget, Sound
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import Messages, ModelFile, Report, Shapes
from edgewright.core.errors import AccuracyGate
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from edgewright.build.records import BuildRecord
    from edgewright.build.request import BuildRequest

NAME = "edgewright build"


def run(  # noqa: PLR0913, PLR0917 - the groups of options, in their order
    model: ModelFile,
    data: BuildData,
    target: BuildTarget,
    output: BuildOutput,
    images: Preprocessing,
    sound: Sound,
    shapes: Shapes,
    report: Report,
    _messages: Messages,
) -> int:
    """Build and report the result; a missed limit is exit code 5, with all files written."""
    from edgewright.api.build import run_build
    from edgewright.build.request import parse_build_request
    from edgewright.reports.build import make_page
    from edgewright.reports.html import describe_missing_plots

    request = parse_build_request(model, data, target, output, images, sound, shapes)
    if output.dry_run:
        return _show_dry_run(request, report)
    try:
        record = run_build(request)
    except KeyboardInterrupt:
        print(f"finished stages are kept in {request.output}; --resume continues from them", file=sys.stderr)
        raise
    tell(report, record, make_page)
    where = (Path(request.output) / "report.html").absolute()
    print(f"report: {where}", file=sys.stderr if report.json else sys.stdout)
    if describe_missing_plots():
        print(f"note: {describe_missing_plots()}", file=sys.stderr)
    _check_verdict(record, where, is_unproven_allowed=target.allow_unproven)
    return 0


def _check_verdict(record: "BuildRecord", report: Path, *, is_unproven_allowed: bool) -> None:
    from edgewright.reports.html.verdict import find_way_to_proof

    verdict = record.verdict
    if verdict.is_met is not False or (verdict.word == "not proven" and is_unproven_allowed):
        return
    if verdict.word == "not proven":
        way = find_way_to_proof(record)
        raise AccuracyGate(
            f"the limit of --max-drop {record.max_drop:g} is not proven: {'; '.join(verdict.reasons)}",
            do=f"see {report}; {way}, or take it with --allow-unproven; all files were written",
        )
    raise AccuracyGate(
        f"more points of {record.metric.short_name} are lost than the {record.max_drop:g} of --max-drop",
        do=f"see what costs most in {report}; all files were written",
    )


def _show_dry_run(request: "BuildRequest", report: Report) -> int:
    """The exit code says whether something stands in the way."""
    from edgewright.api.build import run_dry_build
    from edgewright.build.preflight import sort_problems
    from edgewright.reports.build import make_preflight_page

    result = run_dry_build(request)
    record = result.record()
    if report.json or record.is_ok:
        tell(report, record, make_preflight_page)
    if report.json:
        return 0 if record.is_ok else sort_problems(result.problems)[0].exit_code
    result.check()
    return 0


TOOL = Tool(
    NAME,
    "Convert, quantize, compile and evaluate a model for a chip, and write a report.",
    (ModelFile, BuildData, BuildTarget, BuildOutput, Preprocessing, Sound, Shapes, Report, Messages),
    run,
    examples=(
        (
            f"{NAME} model.onnx --data samples/ --target SM8650 -o out/",
            "the cheapest precision that loses at most a point",
        ),
        (
            f"{NAME} model.onnx --data images/ --mean 127.5 --std 127.5 --target SM8650 --max-drop 0.5%",
            "images in folders named by their classes; exit code 5 where more is lost",
        ),
        (f"{NAME} model.tflite --data samples.npz --target v73 --precision w8a16", "one precision only"),
        (f"{NAME} model.onnx --random-data --target SM8650 --dry-run", "what stands in the way, in seconds"),
        (
            f"{NAME} model.onnx --data samples/ --target SM8650 -o out/ --resume",
            "continue after an interruption",
        ),
    ),
)
main = TOOL.main
