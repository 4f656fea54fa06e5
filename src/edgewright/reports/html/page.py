"""The report of a build as one HTML file that needs nothing else."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from edgewright.analyse.records import Layer
from edgewright.build.records import BuildRecord
from edgewright.evaluate.records import Accuracy
from edgewright.evaluate.verdict import DISAGREEMENT
from edgewright.ir.graph import Graph
from edgewright.reports.html.device import list_recipes
from edgewright.reports.html.plotly_bundle import describe_missing_plots, load_plotly_bundle
from edgewright.reports.html.plots import make_figures
from edgewright.reports.html.remedies import show_finding
from edgewright.reports.html.verdict import BACKENDS, find_worst_layer, make_verdict
from edgewright.reports.html.words import FILTERS
from edgewright.view.embed import write_embedded_graph
from edgewright.view.layer_overlays import view_measured

# Rows that a page can hold without becoming slow; report.json has all.
MOST_LAYERS = 300


def render_report(record: BuildRecord, graph: Graph | None = None) -> Iterable[bytes]:
    """The page, in parts; the same record and graph give the same bytes.

    Args:
        record: what was built.
        graph: the quantized graph, which is drawn; None: there are only tables.
    """
    bundle = load_plotly_bundle()
    template = make_environment().get_template("report.html.jinja")
    context = _make_context(record, has_plots=bool(bundle))
    for part in template.generate(**context, picture=_draw_graph(record, graph)):
        yield part.encode("utf-8", "replace")
    if bundle:
        yield b'<script type="text/plain" id="plotly-gz">'
        yield bundle.encode("ascii")
        yield b"</script>\n"
    yield b"</body></html>\n"


def _draw_graph(record: BuildRecord, graph: Graph | None) -> Markup:
    if graph is None:
        return Markup()
    model = view_measured(graph, record.layers, record.source.file)
    return Markup(write_embedded_graph(model, "The quantized model as a graph"))


def make_environment() -> Environment:
    """The templates, with the words of the pages."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({**FILTERS, "json": _to_script_json})
    return environment


def _make_context(record: BuildRecord, *, has_plots: bool) -> dict[str, Any]:
    plots = make_figures(record) if has_plots else {}
    findings = [f for f in (*record.preflight.findings, *record.findings) if f.grade != "note"]
    notes = [f for f in (*record.preflight.findings, *record.findings) if f.grade == "note"]
    return {
        "record": record,
        "verdict": make_verdict(record),
        "disagreement": DISAGREEMENT,
        "worst": find_worst_layer(record),
        "accuracy": _group_by_output(record.accuracy),
        "backends": BACKENDS,
        "layers": _sort_worst_first(record.layers)[:MOST_LAYERS],
        "has_emulator": any(layer.emulator_db is not None for layer in record.layers),
        "gap": max((abs(a - b) for a, b in _pair_noises(record.layers)), default=None),
        "findings": [
            show_finding(record, each) for each in sorted(findings, key=lambda x: x.grade != "error")
        ],
        "notes": notes,
        "recipes": list_recipes(record),
        "longest_stage": max((stage.seconds for stage in record.stages), default=0.0),
        "total_bytes": sum(artifact.size for artifact in record.artifacts),
        "plots": plots,
        "missing": describe_missing_plots(),
    }


@dataclass(frozen=True)
class _Bar:
    """An interval and its middle, in percent of the width they are drawn on."""

    left: float
    width: float
    dot: float


@dataclass(frozen=True)
class _Row:
    item: Accuracy
    bar: _Bar | None
    # The float model's score on the same samples.
    float_score: float | None = None


def _group_by_output(accuracy: Sequence[Accuracy]) -> dict[str, list[_Row]]:
    """Rows of each output; all intervals are drawn to one scale, which ends at 100 %."""
    least = min((item.low for item in accuracy if item.low is not None), default=0.0)
    width = max(100.0 - least, 1e-6) * 1.05
    floats = {(item.output, item.samples): item.score for item in accuracy if item.backend == "float"}
    rows: dict[str, list[_Row]] = {}
    for item in accuracy:
        same = None if item.backend == "float" else floats.get((item.output, item.samples))
        rows.setdefault(item.output, []).append(_Row(item, _make_bar(item, 100.0 - width, width), same))
    return rows


def _make_bar(item: Accuracy, start: float, width: float) -> _Bar | None:
    if item.low is None or item.high is None or item.score is None:
        return None
    left, right, dot = (round(100 * (x - start) / width, 2) for x in (item.low, item.high, item.score))
    return _Bar(left, round(right - left, 2), dot)


def _pair_noises(layers: Sequence[Layer]) -> Iterator[tuple[float, float]]:
    """Simulation and emulator where both are known."""
    for layer in layers:
        if layer.sim_db is not None and layer.emulator_db is not None:
            yield layer.sim_db, layer.emulator_db


def _sort_worst_first(layers: Sequence[Layer]) -> list[tuple[int, Layer]]:
    """Layers with their places along the graph."""

    def rank(item: tuple[int, Layer]) -> tuple[bool, float, float]:
        layer = item[1]
        own = float("inf") if layer.own_db is None else layer.own_db
        return layer.own_db is None, own, float("inf") if layer.sim_db is None else layer.sim_db

    return sorted(enumerate(layers, 1), key=rank)


def _to_script_json(value: Any) -> Markup:
    """JSON for a script element: no text in it may end that."""
    text = json.dumps(_drop_infinities(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _drop_infinities(value: Any) -> Any:
    """The same without infinities, which JSON has no word for."""
    if isinstance(value, dict):
        return {key: _drop_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_drop_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
