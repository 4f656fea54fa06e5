"""Tables of accuracy in Markdown, and whether what was promised holds."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["print_tables"]

NEAR_DB, WORST_DB, PART = 0.5, 0.5, 1.0

# Of a model and precision: dB by tool.
_Rows = dict[tuple[str, str], dict[str, float]]


def print_tables(results: Sequence[Any], ours: str) -> None:
    """One table for each precision, what it comes to below, and the same for both."""
    rows: _Rows = {}
    for precision in dict.fromkeys(r.precision for r in results):
        some = [r for r in results if r.precision == precision]
        tools = sorted(dict.fromkeys(r.tool for r in some), key=lambda tool: tool != ours)
        print(f"\n{precision}: SQNR dB, (KL), agreement %\n")
        print(f"| model | {' | '.join(tools)} |\n|---|{'---|' * len(tools)}")
        for model in dict.fromkeys(r.model for r in some):
            cells = {r.tool: r for r in some if r.model == model}
            print(f"| {model} | {' | '.join(_cell(cells.get(tool)) for tool in tools)} |")
            known = {tool: r.score.sqnr_db for tool, r in cells.items() if _is_quantized(r)}
            if ours in known and len(known) > 1:
                rows[model, precision] = known
        _verdict({key: row for key, row in rows.items() if key[1] == precision}, tools, ours)
    _print_short_table(rows, ours)
    print("\nall precisions")
    _verdict(rows, list(dict.fromkeys(r.tool for r in results)), ours)


def _print_short_table(rows: _Rows, ours: str) -> None:
    """Ours and the best of the others, by model and precision, and where ours is behind."""
    precisions = sorted({precision for _, precision in rows}, key=lambda name: (name[1] == "4", name))
    print(f"\nours / best of the others, dB\n\n| model | {' | '.join(precisions)} |")
    print(f"|---|{'---|' * len(precisions)}")
    for model in dict.fromkeys(model for model, _ in rows):
        cells = [_compare(rows.get((model, precision)), ours) for precision in precisions]
        print(f"| {model} | {' | '.join(cells)} |")
    behind = [
        f"{model} {precision} {row[ours] - row[_find_best(row, ours)]:+.2f} ({_find_best(row, ours)})"
        for (model, precision), row in rows.items()
        if row[ours] < row[_find_best(row, ours)] - NEAR_DB
    ]
    print(f"\nbehind by more than {NEAR_DB} dB: {', '.join(behind) or 'none'}")


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


def _verdict(rows: Mapping[tuple[str, str], Mapping[str, float]], tools: Sequence[str], ours: str) -> None:
    if not rows:
        return
    gaps = {key: row[ours] - max(db for tool, db in row.items() if tool != ours) for key, row in rows.items()}
    near = [key for key, gap in gaps.items() if gap >= -NEAR_DB]
    worst = min(gaps, key=lambda key: gaps[key])
    print(
        f"\nwithin {NEAR_DB} dB of the best other tool, or better: {len(near)} of {len(gaps)} "
        f"({100 * len(near) / len(gaps):.0f} %, {100 * PART:.0f} % wanted); largest gap "
        f"{gaps[worst]:+.2f} dB ({' '.join(worst)}; {-WORST_DB:+.1f} wanted)"
    )
    for tool in tools:
        shared = [(row[ours], row[tool]) for row in rows.values() if tool in row]
        if tool != ours and shared:
            mine, theirs = (sum(column) / len(shared) for column in zip(*shared, strict=True))
            print(f"mean of the {len(shared)} that {tool} did: {ours} {mine:.2f} dB, {tool} {theirs:.2f} dB")
