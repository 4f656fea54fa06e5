"""What a quantization check shows: pages for each variant and input, histograms, tables."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.analyse.quantization.algorithms import ALGORITHMS, OF_RESULT
from edgewright.analyse.quantization.compare_tensors import ComparedTensor
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.core.page import Block, Table
from edgewright.lower.names import NameTable
from edgewright.reports.accuracy_debugger import make_document
from edgewright.sdk.quantization_checker.records import (
    KINDS,
    ModelCheck,
    QuantizationCheck,
    VariantCheck,
)

ROWS_SHOWN, BINS = 12, 128
HEADERS = (
    "Op Name",
    "Node Name",
    "Node Type",
    *(algorithm.title for algorithm in ALGORITHMS.values()),
)


def write_pages(result: QuantizationCheck) -> None:
    """One page for each variant and input, and one that leads to them."""
    for model in result.models:
        folder = Path(model.folder) / "html"
        name_file = NameTable()
        rows = []
        for variant in model.variants:
            for given in model.inputs:
                file = f"{name_file(f'{variant.name}_{given}')}.html"
                blocks = _make_input_page(model, variant, given)
                write_whole(folder / file, [make_document(f"{variant.name}: {given}", blocks)])
                count = len({row.tensor for row in _select(variant, given) if row.is_failure})
                rows.append((variant.name, given, str(count), file))
        headers = ("variant", "input", "tensors that fail", "page")
        table = Table(f"Quantization check of {model.model}", headers, tuple(rows), frozenset({2}))
        write_whole(folder / "index.html", [make_document(model.model, [table, *make_model_page(model)])])


def make_page(result: QuantizationCheck) -> list[Block]:
    """The terminal's answer."""
    blocks = [block for model in result.models for block in make_model_page(model)]
    return [*blocks, *(f"not checked: {name}: {why}" for name, why in result.refused)]


def make_model_page(model: ModelCheck) -> list[Block]:
    """How many tensors fail in each variant, odd encodings, broken rules and repairs."""
    blocks: list[Block] = [_make_share_table(model)]
    blocks += _make_odd_tables(model.variants)
    repairs = tuple(_make_repair_row(variant) for variant in model.variants if variant.repair is not None)
    if repairs:
        headers = ("variant", "repair", "worst output", "repaired", "")
        blocks.append(Table("Repairs", headers, repairs, frozenset({2, 3})))
    return [*blocks, *model.notes, f"wrote {model.folder}"]


def _make_share_table(model: ModelCheck) -> Table:
    rows = []
    for variant in model.variants:
        counts = {kind: len({row.tensor for row in variant.rows if row.kind == kind}) for kind in KINDS}
        failed = {kind: len({row.tensor for row in variant.failures if row.kind == kind}) for kind in KINDS}
        causes = ", ".join(dict.fromkeys(row.algorithm for row in variant.failures)) or "-"
        rows.append((variant.name, *(f"{failed[kind]} of {counts[kind]}" for kind in KINDS), causes))
    headers = ("variant", *(title.lower() for title in KINDS.values()), "by")
    return Table(f"Tensors of {model.model} that fail", headers, tuple(rows), frozenset({1, 2, 3}))


def _make_odd_tables(variants: Sequence[VariantCheck]) -> list[Block]:
    odd = [(variant.name, entry) for variant in variants for entry in variant.odd]
    rules = [(variant.name, rule) for variant in variants for rule in variant.rules]
    blocks: list[Block] = []
    if odd:
        rows = tuple(
            (name, entry.source, f"{entry.excess_db:.1f} dB", entry.describe()) for name, entry in odd
        )
        headers = ("variant", "tensor", "costs", "")
        title = "Given encodings that a calibration on the same inputs betters"
        blocks.append(Table(title, headers, rows[:ROWS_SHOWN], frozenset({2})))
    if rules:
        rows = tuple((name, rule.where, rule.what, rule.do) for name, rule in rules)
        headers = ("variant", "tensor", "", "what to do")
        blocks.append(Table("Rules of the HTP that encodings break", headers, rows[:ROWS_SHOWN]))
    return blocks


def _make_repair_row(variant: VariantCheck) -> tuple[str, ...]:
    repair = variant.repair
    assert repair is not None
    state = f"kept: {repair.encodings}" if repair.is_kept else "not kept"
    figures = (f"{repair.before_db:.1f} dB", f"{repair.after_db:.1f} dB")
    return variant.name, "; ".join(repair.actions), *figures, state


def _select(variant: VariantCheck, given: str) -> list[ComparedTensor]:
    """What is about an input: its activations, and weights and biases, which are the same for all."""
    return [row for row in variant.rows if row.input in {"", given}]


def _make_input_page(model: ModelCheck, variant: VariantCheck, given: str) -> list[Block]:
    rows = _make_verdict_rows(_select(variant, given))
    failing = {row.tensor for row in _select(variant, given) if row.is_failure}
    failed = tuple(row for row in rows if row[1] in failing)
    legend = tuple((algorithm.title, algorithm.meaning) for algorithm in ALGORITHMS.values())
    counts = f"Total number of nodes analyzed: {len(rows)} Total number of failed nodes: {len(failed)}"
    blocks: list[Block] = [
        f"Results for quantizer: {variant.name} using input file: {given} on model: {model.model}",
        Table("Legend", ("Quantization Checker Name", "Description"), legend),
        Table(f"Summary of failed nodes that should be inspected ({counts})", HEADERS, failed),
        Table("Results for all nodes", HEADERS, rows),
    ]
    return [*blocks, *_make_odd_tables([variant])]


def _make_verdict_rows(rows: Sequence[ComparedTensor]) -> tuple[tuple[str, ...], ...]:
    verdicts: dict[tuple[str, str, str], dict[str, bool]] = {}
    for row in rows:
        name = row.algorithm.removeprefix(OF_RESULT)
        known = verdicts.setdefault((row.op, row.tensor, row.kind), {})
        known[name] = known.get(name, True) and row.is_passed
    words = {True: "Pass", False: "Fail", None: "N/A"}
    return tuple(
        (*place, *(words[known.get(name)] for name in ALGORITHMS)) for place, known in verdicts.items()
    )


class HistogramPlots:
    """Draws the float values of a tensor and those that a variant stores."""

    def __init__(self) -> None:
        """Fails where matplotlib is not installed."""
        self._figure: Any = require("matplotlib.figure", to="draw histograms").Figure

    def __call__(self, title: str, real: Array, decoded: Array) -> bytes:
        """A PNG file."""
        figure = self._figure(figsize=(8, 4.5), dpi=80)
        axes = figure.subplots()
        axes.set_title(title.replace("$", r"\$")[:100], fontsize=9)
        edges = np.histogram_bin_edges(np.concatenate([real.reshape(-1), decoded.reshape(-1)]), BINS)
        for array, colour, label in (
            (real, "tab:orange", "unquantized"),
            (decoded, "tab:blue", "dequantized"),
        ):
            # One shape each: a bar for each bin takes ten times as long.
            axes.stairs(np.histogram(array, edges)[0], edges, fill=True, alpha=0.6, color=colour, label=label)
        axes.legend(loc="upper right", fontsize=8)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()
