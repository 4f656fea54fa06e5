"""Tables of accuracy, and whether what was promised holds."""

from collections.abc import Sequence
from typing import Any

__all__ = ["print_tables"]

NEAR_DB, WORST_DB, PART = 0.5, 2.0, 0.8


def print_tables(results: Sequence[Any], ours: str) -> None:
    """One table for each precision, with the verdict below."""
    for precision in dict.fromkeys(r.precision for r in results):
        some = [r for r in results if r.precision == precision]
        tools = list(dict.fromkeys(r.tool for r in some))
        print(f"\n{precision}: SQNR dB (KL), agreement %")
        print(f"{'model':32s}" + "".join(f"{tool:>26s}" for tool in tools))
        for model in dict.fromkeys(r.model for r in some):
            cells = {r.tool: _cell(r) for r in some if r.model == model}
            print(f"{model[:32]:32s}" + "".join(f"{cells.get(tool, '-'):>26s}" for tool in tools))
        _verdict(some, tools, ours)


def _cell(result: Any) -> str:
    if result.score is None:
        return "failed"
    score = result.score
    kl = "" if score.kl is None else f" ({score.kl:.1e})"
    return f"{score.sqnr_db:.1f}{kl}" + ("" if score.agreement is None else f" {100 * score.agreement:.1f}")


def _verdict(results: Sequence[Any], tools: Sequence[str], ours: str) -> None:
    by_model: dict[str, dict[str, float]] = {}
    for r in results:
        if r.score is not None:
            by_model.setdefault(r.model, {})[r.tool] = r.score.sqnr_db
    both = {m: row for m, row in by_model.items() if ours in row and len(row) > 1}
    if not both:
        return
    gaps = {m: row[ours] - max(v for t, v in row.items() if t != ours) for m, row in both.items()}
    near = [m for m, gap in gaps.items() if gap >= -NEAR_DB]
    far = {m: round(gap, 2) for m, gap in gaps.items() if gap < -WORST_DB}
    print(
        f"within {NEAR_DB} dB of the best peer: {len(near)} of {len(gaps)} "
        f"({100 * len(near) / len(gaps):.0f} %, {100 * PART:.0f} % wanted); "
        f"more than {WORST_DB} dB below: {far or 'none'}"
    )
    for tool in tools:
        shared = [(row[ours], row[tool]) for row in both.values() if tool in row]
        if tool != ours and shared:
            mine, theirs = (sum(column) / len(shared) for column in zip(*shared, strict=True))
            print(f"  mean over {len(shared)} models: {ours} {mine:.2f} dB, {tool} {theirs:.2f} dB")
