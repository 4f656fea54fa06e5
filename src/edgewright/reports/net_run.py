"""What a run did: outputs, files and times."""

from collections import Counter
from collections.abc import Mapping

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_shape
from edgewright.sdk.net_run import NetRun


def make_page(run: NetRun) -> list[Block]:
    """The report of qnn-net-run; times in the form that scripts look for."""
    record = run.record
    rows = tuple(
        (o.name, o.file_dtype, format_shape(o.shape), o.layout or "-", o.file) for o in record.outputs
    )
    kept = len(record.results)
    counted = f"{record.inferences} inference{'' if record.inferences == 1 else 's'}"
    blocks: list[Block] = [
        Table("Outputs", ("name", "type in file", "shape", "layout", "file"), rows),
        f"{counted} on backend {record.backend}, {kept} kept in {record.folder}",
        *_describe_placement(record.placement),
    ]
    blocks += [f"note: {note}" for note in run.notes]
    if run.profile:
        blocks += [*_list_times(run), f"wrote {run.profile}"]
    return blocks + [block for other in run.others for block in make_page(other)]


def _describe_placement(placement: Mapping[str, str]) -> list[str]:
    counts = Counter(placement.values())
    return [", ".join(f"{count} ops on {place}" for place, count in counts.items())] if counts else []


def _list_times(run: NetRun) -> list[str]:
    measured, count = max(run.measured, 1), run.record.inferences
    return [
        "Init Stats:",
        f"    NetRun: {run.init} us",
        "Execute Stats (Average):",
        f"    NetRun: {run.execute_total // measured} us",
        "Execute Stats (Min):",
        f"    NetRun: {run.execute_least} us",
        "Execute Stats (Max):",
        f"    NetRun: {run.execute_most} us",
        "Execute Stats (Overall):",
        f"    NetRun IPS (includes IO and misc. time): {count * 1e6 / max(run.wall, 1):.4f} inf/sec",
    ]
