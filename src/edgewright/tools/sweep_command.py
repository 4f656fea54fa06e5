"""`edgewright sweep`: every model for every chip in every precision, and one page with all results."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from edgewright.config.sweep import SweepFile, SweepPlace
from edgewright.config.umbrella import Messages, Report
from edgewright.core.errors import AccuracyGate, EdgewrightError
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from edgewright.build.sweep_plan import Combination
    from edgewright.build.sweep_records import SweepRecord

NAME = "edgewright sweep"


def run(file: SweepFile, place: SweepPlace, report: Report, _messages: Messages) -> int:
    """Build all and report; a model that cannot be built gives the exit code of its error."""
    from edgewright.api.sweep import PAGE, SweepRequest, open_zoo, run_sweep
    from edgewright.build.sweep_plan import plan_sweep
    from edgewright.reports.sweep import make_page

    combinations = tuple(plan_sweep(*open_zoo(file.zoo, _list_given(file))))
    if file.dry_run:
        return _show_plan(combinations)
    output = Path(file.output or Path(file.zoo).stem)
    request = SweepRequest(combinations, output, place.cluster, place.workers, place.store, file.keep)
    try:
        record = run_sweep(request, lambda text: print(text, file=sys.stderr))
    except KeyboardInterrupt:
        print(f"finished builds are kept in {output}; the same command goes on from them", file=sys.stderr)
        raise
    tell(report, record, make_page)
    print(f"page: {(output / PAGE).absolute()}", file=sys.stderr if report.json else sys.stdout)
    _check_rows(record, output / PAGE)
    return 0


def _list_given(file: SweepFile) -> dict[str, object]:
    """Fields of the file that the command line replaces."""
    given = {"targets": list(file.targets), "precisions": list(file.precisions), "data": file.data}
    return {name: value for name, value in given.items() if value}


def _show_plan(combinations: "tuple[Combination, ...]") -> int:
    for each in combinations:
        print(f"{each.name}  {each.target}  {each.precision}")
    print(f"{len(combinations)} builds; nothing was written")
    return 0


def _check_rows(record: "SweepRecord", page: Path) -> None:
    """Failures first: what could not be built is worse than what is not good enough."""
    if record.failed:
        raise _SomeFailed(record, page)
    if record.unmet:
        names = ", ".join(record.unmet[:10]) + (" ..." if len(record.unmet) > 10 else "")
        raise AccuracyGate(
            f"no precision is proven to keep the limit of max_drop: {names}",
            do=f"see {page}; all files were written",
        )


class _SomeFailed(AccuracyGate):
    """Some builds failed; the code is that of the first one. The record of all is printed already."""

    def __init__(self, record: "SweepRecord", page: Path) -> None:
        first = record.failed[0]
        count = f"{len(record.failed)} of {len(record.rows)} builds failed"
        EdgewrightError.__init__(
            self, f"{count}, first {first.name}: {first.error}", do=f"see {page}; the others were written"
        )
        self.__dict__.update(code=first.error_code, exit_code=first.exit_code or 1)


TOOL = Tool(
    NAME,
    "Build many models for many chips in many precisions, and write one page with all results.",
    (SweepFile, SweepPlace, Report, Messages),
    run,
    examples=(
        (f"{NAME} zoo.yaml -o out/", "all combinations of the file; the same command goes on after a stop"),
        (
            f"{NAME} models/ --data samples.npz --targets SM8650 v73 --precisions w8a8 w8a16",
            "a folder of models, without a file",
        ),
        (f"{NAME} zoo.yaml --cluster local:4", "on a Dask cluster of this machine, with its dashboard"),
        (
            f"{NAME} zoo.yaml --cluster tcp://scheduler:8786 --store s3://bucket/sweeps",
            "on a cluster that is there; models and results travel through the store",
        ),
    ),
)
main = TOOL.main
