"""Tables of accuracy in Markdown, and whether what was promised holds."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables import Table

__all__ = ["print_tables"]

NEAR_DB, WORST_DB, PART = 0.5, 0.5, 1.0
# The precision that every tool can write.
WHOLE = "w8a8"
WHOLE_TEXT = (
    f'{WHOLE} tool by tool: SQNR in dB, (KL divergence), agreement in percent; "failed": the tool stops '
    "with an error, or ONNX Runtime refuses its model:"
)

# Of a model and precision: dB by tool.
_Rows = dict[tuple[str, str], dict[str, float]]


def print_tables(results: Sequence[Any], ours: str, *, is_written: bool) -> None:
    """Ours and the best of the others in all precisions, what that comes to, and w8a8 tool by tool."""
    rows: _Rows = {}
    for result in results:
        if _is_quantized(result):
            rows.setdefault((result.model, result.precision), {})[result.tool] = result.score.sqnr_db
    rows = {key: row for key, row in rows.items() if ours in row and len(row) > 1}
    precisions = sorted({precision for _, precision in rows}, key=lambda name: (name[1] == "4", name))
    table = Table("accuracy", ("model", *precisions), Namespace(write=is_written))
    for model in dict.fromkeys(model for model, _ in rows):
        table.add(model, *(_compare(rows.get((model, precision)), ours) for precision in precisions))
    notes = [_list_behind(rows, ours), "\n".join(f"- {line}" for line in _judge(rows, ours))]
    whole = _draw_precision([result for result in results if result.precision == WHOLE], ours)
    table.finish(*notes, WHOLE_TEXT, whole, runs=list(_describe_runs(results)))


def _draw_precision(results: Sequence[Any], ours: str) -> str:
    """All tools in one precision."""
    tools = sorted(dict.fromkeys(r.tool for r in results), key=lambda tool: tool != ours)
    lines = [f"| model | {' | '.join(tools)} |", f"|---|{'---|' * len(tools)}"]
    for model in dict.fromkeys(r.model for r in results):
        cells = {r.tool: r for r in results if r.model == model}
        lines.append(f"| {model} | {' | '.join(_cell(cells.get(tool)) for tool in tools)} |")
    return "\n".join(lines)


def _describe_runs(results: Sequence[Any]) -> Iterator[str]:
    """A line for each tool, version and day."""
    counts = Counter((r.date, r.tool, r.version, r.samples) for r in results)
    for (date, tool, version, samples), count in sorted(counts.items()):
        calibrating, evaluating = samples
        yield (
            f"{date}, `python -m benchmarks.accuracy --tools {tool}`, {version}: {count} results, "
            f"{calibrating} samples, {evaluating} inputs."
        )


def _list_behind(rows: _Rows, ours: str) -> str:
    behind = [
        f"{model} {precision} {row[ours] - row[_find_best(row, ours)]:+.2f} ({_find_best(row, ours)})"
        for (model, precision), row in rows.items()
        if row[ours] < row[_find_best(row, ours)] - NEAR_DB
    ]
    return f"Behind by more than {NEAR_DB} dB: {', '.join(behind) or 'none'}."


def _compare(row: Mapping[str, float] | None, ours: str) -> str:
    if row is None:
        return "-"
    best = _find_best(row, ours)
    return f"{row[ours]:.1f} / {row[best]:.1f} {best}"


def _find_best(row: Mapping[str, float], ours: str) -> str:
    return max((tool for tool in row if tool != ours), key=lambda tool: row[tool])


def _is_quantized(result: Any) -> bool:
    """Whether there is a model, and it has half of its products in fixed point at least."""
    fixed, every = result.products or (1, 1)
    return result.score is not None and 2 * fixed >= every


def _cell(result: Any) -> str:
    if result is None or result.score is None:
        return "-" if result is None else "failed"
    score = result.score
    mark = "" if _is_quantized(result) else " (float)"
    kl = "" if score.kl is None else f" ({score.kl:.1e})"
    return f"{score.sqnr_db:.1f}{mark}{kl}" + (
        "" if score.agreement is None else f" {100 * score.agreement:.1f}"
    )


def _judge(rows: Mapping[tuple[str, str], Mapping[str, float]], ours: str) -> Iterator[str]:
    """Whether what was promised holds, and the mean beside each tool."""
    if not rows:
        return
    gaps = {key: row[ours] - max(db for tool, db in row.items() if tool != ours) for key, row in rows.items()}
    near = [key for key, gap in gaps.items() if gap >= -NEAR_DB]
    worst = min(gaps, key=lambda key: gaps[key])
    yield (
        f"within {NEAR_DB} dB of the best other tool, or better: {len(near)} of {len(gaps)} "
        f"({100 * len(near) / len(gaps):.0f} %, {100 * PART:.0f} % wanted); largest gap "
        f"{gaps[worst]:+.2f} dB ({' '.join(worst)}; {-WORST_DB:+.1f} wanted)"
    )
    for tool in dict.fromkeys(tool for row in rows.values() for tool in row if tool != ours):
        shared = [(row[ours], row[tool]) for row in rows.values() if tool in row]
        mine, theirs = (sum(column) / len(shared) for column in zip(*shared, strict=True))
        yield f"mean of the {len(shared)} that {tool} did: {ours} {mine:.2f} dB, {tool} {theirs:.2f} dB"
