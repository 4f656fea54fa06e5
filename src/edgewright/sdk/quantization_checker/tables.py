"""The CSV files and the log of a quantization check, as the guide lays them out."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from edgewright.analyse.quantization.compare_tensors import ComparedTensor
from edgewright.core.files import write_whole
from edgewright.sdk.quantization_checker.records import (
    KINDS,
    ModelCheck,
    VariantCheck,
    compute_failure_share,
)

HEADERS = (
    *("Op Name", "Node Name", "Passes Accuracy", "Accuracy Difference", "Threshold Used", "Algorithm Used"),
    "Input",
)
LOG_FOLDER = "qnn-quantization-checker-log"


def write_tables(result: ModelCheck, folder: Path) -> None:
    """One file for each kind of tensor and variant."""
    for variant in result.variants:
        for kind, title in KINDS.items():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(HEADERS)
            writer.writerows(_list_cells(row) for row in variant.rows if row.kind == kind)
            path = folder / "csv" / f"{variant.name}_{title.lower()}.csv"
            write_whole(path, [text.getvalue().encode()])


def write_log(result: ModelCheck, folder: Path) -> None:
    """What was run, and what fails."""
    lines = "\n".join(_list_lines(result))
    write_whole(folder / LOG_FOLDER / f"{result.model}.txt", [f"{lines}\n".encode()])


def _list_cells(row: ComparedTensor) -> tuple[str, ...]:
    passed = str(row.is_passed).upper()
    return row.op, row.tensor, passed, row.text, row.threshold, row.algorithm, row.input


def _list_lines(result: ModelCheck) -> Iterator[str]:
    yield "<====COMMANDS=====>"
    for variant in result.variants:
        yield f"{variant.name}: {variant.command}"
        if variant.coverage:
            yield f"{variant.name}: {variant.coverage}"
    for kind in ("Activation", "Weight", "Bias"):
        yield f"<===={KINDS[kind].upper()} ANALYSIS FAILURES=====>"
        for variant in result.variants:
            yield from _list_failures(variant, kind)
    yield "<====ENCODINGS=====>"
    for variant in result.variants:
        yield from (f"{variant.name}: {entry.describe()}" for entry in variant.odd)
        yield from (f"{variant.name}: {rule.what}; {rule.do}" for rule in variant.rules)
    yield from list_repair_lines(result.variants)
    yield from result.notes


def _list_failures(variant: VariantCheck, kind: str) -> Iterator[str]:
    rows = [row for row in variant.failures if row.kind == kind]
    if rows:
        yield f"Results for the {variant.name} quantization:"
        yield "\t".join(HEADERS)
        yield from ("\t".join(_list_cells(row)) for row in rows)


def list_repair_lines(variants: Sequence[VariantCheck]) -> Iterator[str]:
    """What repairs did, and the guide's tables of failed nodes before and after."""
    repaired = [variant for variant in variants if variant.repair is not None]
    if not repaired:
        return
    yield "<====REPAIR=====>"
    for variant in repaired:
        assert variant.repair is not None
        gain = f"{variant.repair.before_db:.1f} to {variant.repair.after_db:.1f} dB"
        state = "kept" if variant.repair.is_kept else "not kept: outputs gain nothing"
        yield f"{variant.name}: {'; '.join(variant.repair.actions)}: worst output {gain}, {state}"
    algorithms = list(dict.fromkeys(row.algorithm for variant in repaired for row in variant.rows))
    for algorithm in algorithms:
        yield f"{algorithm.upper()}: Percentage of Failed Nodes"
        names = [name for variant in repaired for name in (variant.name, f"{variant.name}_repaired")]
        yield "\t".join(("Tensor Type", "unquantized", *names))
        for kind, title in KINDS.items():
            yield "\t".join((title, "N/A", *_list_shares(repaired, kind, algorithm)))


def _list_shares(variants: Iterable[VariantCheck], kind: str, algorithm: str) -> Iterator[str]:
    for variant in variants:
        assert variant.repair is not None
        for rows in (variant.rows, variant.repair.rows):
            share = compute_failure_share(rows, kind, algorithm)
            yield "N/A" if share is None else f"{share:.1f}"
