"""What an accuracy evaluation shows: the guide's CSV file, a page with pictures, a table for the terminal."""

import base64
import csv
import html
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgewright.core.errors import EdgewrightError
from edgewright.core.files import write_all
from edgewright.core.page import Block, Table, format_html
from edgewright.reports.accuracy_debugger import make_document
from edgewright.sdk.evaluator.records import FAILED, ModelEvaluation, SchemaResult, list_blocks

CSV_FILE, PAGE_FILE = "metrics-info.csv", "metrics-info.html"
# As the guide prints them.
COLUMNS = (
    *("Inference schema", "Status", "Precision", "Backend", "Backend extensions", "CLI Params"),
    *("Metrics", "Comparator"),
)
BAR, ROW, NAME, FIGURE = 420, 18, 330, 90
# Pictures of differences that a page carries; all of them are in their folders.
MOST_PICTURES = 24


def write_evaluation(evaluation: ModelEvaluation) -> ModelEvaluation:
    """Writes the CSV file and the page into the work folder; the record knows where they are."""
    folder = Path(evaluation.folder)
    files = {
        folder / CSV_FILE: [make_csv(evaluation).encode()],
        folder / PAGE_FILE: [make_page(evaluation)],
    }
    write_all(files)
    return replace(evaluation, csv=str(folder / CSV_FILE), page=str(folder / PAGE_FILE))


def make_csv(evaluation: ModelEvaluation) -> str:
    """A row for each schema, the best first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in evaluation.results:
        writer.writerow([_guard_formula(cell) for cell in _list_cells(evaluation, result)])
    return text.getvalue()


def make_terminal_page(evaluation: ModelEvaluation) -> list[Block]:
    """The table, the best schema, and where the rest is."""
    best = evaluation.best
    winner = [] if best is None else [f"best: {best.name} ({_spell_figure(evaluation, best.match)})"]
    wrote = [f"wrote {path}" for path in (evaluation.csv, evaluation.page) if path]
    return [*list_blocks(evaluation), *winner, *wrote]


def make_page(evaluation: ModelEvaluation) -> bytes:
    """One page that needs nothing else."""
    parts = [
        format_html(_list_summary(evaluation)),
        _draw_bars(evaluation),
        format_html([_make_table(evaluation), *_list_worst(evaluation)]),
        *_show_pictures(evaluation),
    ]
    return make_document(f"Which options are best? {evaluation.model}", [], "\n".join(parts))


def write_folder_page(folder: Path, outcomes: Mapping[str, ModelEvaluation | EdgewrightError]) -> list[Block]:
    """A page over all models of a directory, and the same for the terminal."""
    rows = []
    for name, outcome in outcomes.items():
        if isinstance(outcome, EdgewrightError):
            rows.append((name, FAILED, "-", "-", outcome.what))
        else:
            best = outcome.best
            figure = "-" if best is None else _spell_figure(outcome, best.match)
            rows.append((name, "Success", "-" if best is None else best.name, figure, outcome.page))
    table = Table("Models", ("model", "status", "best", "match", "where"), tuple(rows), frozenset({3}))
    write_all({folder / PAGE_FILE: [make_document("Models", [table])]})
    return [table, f"wrote {folder / PAGE_FILE}"]


def _list_cells(evaluation: ModelEvaluation, result: SchemaResult) -> list[str]:
    status = result.status if not result.problem else f"{result.status}: {result.problem}"
    metrics = "\n".join(f"{name}: {value:g}" for name, value in result.metrics.items())
    return [
        result.name,
        status,
        result.precision,
        result.backend or result.engine,
        _spell_table(result.backend_extensions),
        "\n".join(f"{title}:\n{_spell_table(table)}" for title, table in result.params.items()) or "-",
        metrics or "-",
        _spell_match(evaluation, result),
    ]


def _spell_match(evaluation: ModelEvaluation, result: SchemaResult) -> str:
    if result.match is None:
        return "-"
    lines = [f"{evaluation.heading}: {result.match:.3f}"]
    lines += [f"(avg) {item.name}: {item.mean:.3f}" for item in result.outputs]
    return "\n".join(lines)


def _spell_table(table: Mapping[str, str]) -> str:
    return "\n".join(f"{key}:{value}" for key, value in table.items()) or "-"


def _spell_figure(evaluation: ModelEvaluation, figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f} {evaluation.unit}".rstrip()


def _guard_formula(cell: str) -> str:
    """A cell that a spreadsheet would compute is a text."""
    return f"'{cell}" if cell[:1] in {"=", "+", "@"} else cell


def _list_summary(evaluation: ModelEvaluation) -> list[Block]:
    work, best = evaluation.work, evaluation.best
    winner = "" if best is None else f" The best is {best.name} with {_spell_figure(evaluation, best.match)}."
    reference = next((result.name for result in evaluation.results if result.is_reference), "-")
    what = (
        f"{len(evaluation.results)} schemas on {evaluation.inputs} inputs, compared by "
        f"{evaluation.comparator} with {reference}.{winner}"
    )
    effort = (
        f"{work.conversions} conversions, {work.quantizations} quantizations, {work.float_runs} runs of "
        f"float models, {work.quantized_runs} of quantized ones, {work.source_runs} in frameworks, "
        f"{evaluation.seconds:.1f} s."
    )
    return [what, effort, *evaluation.notes]


def _make_table(evaluation: ModelEvaluation) -> Table:
    rows = tuple(
        (
            *_list_cells(evaluation, result)[:4],
            ", ".join(_spell_params(result)) or "-",
            _spell_figure(evaluation, result.match),
            "; ".join(f"{item.name} {item.mean:.3f}" for item in result.outputs) or "-",
            "; ".join(f"{name} {value:g}" for name, value in result.metrics.items()) or "-",
            result.same_as or "-",
            f"{result.seconds:.1f}",
        )
        for result in evaluation.results
    )
    headers = (
        *(
            "schema",
            "status",
            "precision",
            "backend",
            "parameters",
            evaluation.heading,
            "by output",
            "metrics",
        ),
        *("same model as", "s"),
    )
    return Table("All schemas", headers, rows, frozenset({5, 9}))


def _spell_params(result: SchemaResult) -> Iterator[str]:
    for table in (*result.params.values(), result.backend_extensions):
        yield from (f"{key}={value}" for key, value in table.items())


def _list_worst(evaluation: ModelEvaluation) -> list[Block]:
    """The inputs that match least, of the best schemas."""
    rows = tuple(
        (result.name, item.name, str(number), f"{figure:.3f}")
        for result in evaluation.ranked[:5]
        for item in result.outputs
        for number, figure in item.worst
    )
    if not rows:
        return []
    return [Table("Inputs that match least", ("schema", "output", "input", "match"), rows, frozenset({2, 3}))]


def _draw_bars(evaluation: ModelEvaluation) -> str:
    """A bar for each schema: the longer the better, from the worst figure of all to the best."""
    ranked = evaluation.ranked
    figures = [result.match for result in ranked if result.match is not None]
    if not figures:
        return ""
    low, high = min(figures), max(figures)
    span = (high - low) or 1.0
    lines = []
    for place, (result, figure) in enumerate(zip(ranked, figures, strict=True)):
        share = (figure - low) / span if evaluation.is_higher_better else (high - figure) / span
        width, top, text = 4 + share * BAR, place * ROW, html.escape(_spell_figure(evaluation, figure))
        lines.append(
            f'<text x="{NAME - 8}" y="{top + 13}" text-anchor="end">{html.escape(result.name)}</text>'
            f'<rect x="{NAME}" y="{top + 3}" width="{width:.1f}" height="{ROW - 6}" fill="#4878a8"/>'
            f'<text x="{NAME + width + 6:.1f}" y="{top + 13}">{text}</text>'
        )
    size = f'width="{NAME + BAR + FIGURE}" height="{len(ranked) * ROW + 4}"'
    label = f"{evaluation.heading} of each schema; bars begin at the worst, {low:.3f}"
    return (
        f'<figure><svg role="img" {size} font-size="11" fill="currentColor">{"".join(lines)}</svg>'
        f"<figcaption>{html.escape(label)}</figcaption></figure>"
    )


def _show_pictures(evaluation: ModelEvaluation) -> Iterator[str]:
    """Pictures of the best schema's differences."""
    best = evaluation.best
    files: Sequence[str] = () if best is None else best.pictures
    for name in files[:MOST_PICTURES]:
        content = base64.b64encode((Path(evaluation.folder) / name).read_bytes()).decode()
        caption = html.escape(name)
        yield (
            f'<figure><img alt="{caption}" src="data:image/png;base64,{content}" style="max-width:100%">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
