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
            known = {tool: r.score.sqnr_db for tool, r in cells.items() if r.score is not None}
            if ours in known and len(known) > 1:
                rows[model, precision] = known
        _verdict({key: row for key, row in rows.items() if key[1] == precision}, tools, ours)
    print("\nall precisions")
    _verdict(rows, list(dict.fromkeys(r.tool for r in results)), ours)


def _cell(result: Any) -> str:
    if result is None or result.score is None:
        return "-" if result is None else "failed"
    score = result.score
    kl = "" if score.kl is None else f" ({score.kl:.1e})"
    return f"{score.sqnr_db:.1f}{kl}" + ("" if score.agreement is None else f" {100 * score.agreement:.1f}")


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
