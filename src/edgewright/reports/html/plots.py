"""Plots as Plotly takes them: plain data and layout; colours are names that the page's theme fills in."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from edgewright.analyse.records import Layer, TensorView
from edgewright.build.records import BuildRecord, Candidate
from edgewright.reports.html.verdict import find_worst_layer
from edgewright.reports.html.words import format_db, format_limit, shorten, shorten_middle

Figure = dict[str, Any]
# Names of the page's colours.
SIM, EMULATOR, QUIET, GOOD, BAD, TEXT = "--sim", "--emulator", "--quiet", "--good", "--bad", "--text"
# Letters of a name that fit into a narrow plot.
LABEL = 26
HOVER = "%{text}<extra></extra>"
# The size of the plot of candidates on a wide page, and where a name may stand: in widths and heights of it.
PLOT = (860.0, 250.0)
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0)}


def make_figures(record: BuildRecord) -> dict[str, Figure]:
    """All plots by the names of their places in the page."""
    plots: dict[str, Figure] = {}
    if len(record.candidates) > 1:
        plots["pareto"] = _plot_candidates(record)
    if len(record.layers) > 1:
        plots["layers"] = _plot_layers(record)
    plots.update({f"tensor-{place}": _plot_histogram(view) for place, view in enumerate(record.tensors)})
    return plots


def _make_safe(text: object) -> str:
    """A name from a model: Plotly reads some HTML in texts."""
    return escape(shorten(text), quote=False)


def _plot_layers(record: BuildRecord) -> Figure:
    layers = record.layers
    places = list(range(1, len(layers) + 1))
    data = [
        _draw_line("simulation", SIM, places, [layer.sim_db for layer in layers]),
        {
            **_draw_line("by itself", QUIET, places, [layer.own_db for layer in layers]),
            "mode": "markers",
            "marker": {"color": QUIET, "size": 5, "symbol": "circle-open"},
        },
    ]
    if any(layer.emulator_db is not None for layer in layers):
        emulated = _draw_line("emulator", EMULATOR, places, [layer.emulator_db for layer in layers])
        emulated["line"] |= {"dash": "dot", "width": 3}
        data.insert(1, emulated)
    layout = _make_layout("layer, along the graph", "SQNR to the float model, dB")
    layout["annotations"] = _mark_worst_layer(record)
    layout["xaxis"]["range"] = [0.5, len(layers) + 0.5]
    # What is said of a layer is the same on all lines: the page has it once.
    texts = [_describe_layer(layer) for layer in layers]
    return {"data": data, "layout": layout, "height": 380, "texts": texts}


def _draw_line(title: str, color: str, x: Sequence[int], y: Sequence[float | None]) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": title,
        "x": list(x),
        "y": list(y),
        "hovertemplate": HOVER,
        "line": {"color": color, "width": 2},
        "marker": {"color": color, "size": 5},
    }


def _describe_layer(layer: Layer) -> str:
    lines = [
        f"<b>{_make_safe(layer.source)}</b>",
        escape(layer.op),
        f"{layer.dtype}" + (f", weights of {layer.weight_bits} bits" if layer.weight_bits else ""),
        f"simulation {format_db(layer.sim_db)}",
        f"emulator {format_db(layer.emulator_db)}",
        f"by itself {format_db(layer.own_db)}",
    ]
    return "<br>".join(lines)


def _mark_worst_layer(record: BuildRecord) -> list[Figure]:
    layer = find_worst_layer(record)
    if layer is None:
        return []
    y = layer.sim_db if layer.own_db is None else layer.own_db
    place = record.layers.index(layer) + 1
    is_right = place > len(record.layers) / 2
    return [
        {
            "x": place,
            "y": y,
            "text": f"worst: {escape(shorten_middle(layer.source, LABEL), quote=False)}",
            "showarrow": True,
            "arrowcolor": BAD,
            "font": {"color": BAD, "size": 12},
            "ax": -30 if is_right else 30,
            "ay": 40,
            "xanchor": "right" if is_right else "left",
        }
    ]


def _plot_candidates(record: BuildRecord) -> Figure:
    candidates = sorted(record.candidates, key=lambda candidate: candidate.cost)
    drops = [candidate.drop for candidate in candidates if math.isfinite(candidate.drop)]
    top, bottom = max([*drops, record.max_drop or 0.0, 0.1]), min([*drops, 0.0])
    places = _place_labels(candidates, top - bottom)
    points = {
        "type": "scatter",
        "mode": "markers+text",
        "name": "tried",
        "x": [candidate.cost for candidate in candidates],
        "y": [candidate.drop for candidate in candidates],
        "text": [
            escape(candidate.name) if place else ""
            for candidate, place in zip(candidates, places, strict=True)
        ],
        "textposition": [place or "top center" for place in places],
        "textfont": {"color": TEXT, "size": 12},
        "hovertext": [_describe_candidate(candidate) for candidate in candidates],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "color": [_choose_color(candidate) for candidate in candidates],
            "size": [15 if candidate.is_chosen else 10 for candidate in candidates],
            "symbol": ["star" if candidate.is_chosen else "circle" for candidate in candidates],
        },
        "cliponaxis": False,
    }
    layout = _make_layout("cost: bits \N{MULTIPLICATION SIGN} MACs, plain w8a8 = 1", "lost, points")
    layout["showlegend"] = False
    layout["xaxis"]["rangemode"] = "tozero"
    layout["shapes"] = [] if record.max_drop is None else [_limit_line(record.max_drop)]
    layout["yaxis"]["range"] = [bottom - 0.12 * (top - bottom), top + 0.15 * (top - bottom)]
    return {"data": [_draw_frontier(candidates), points], "layout": layout, "height": 340}


def _place_labels(candidates: Sequence[Candidate], height: float) -> list[str]:
    """Where each name goes so that none covers another; empty where there is no room: the table has all."""
    width = max((candidate.cost for candidate in candidates), default=1.0) * 1.1
    taken: list[tuple[float, float, float, float]] = []
    places = []
    for candidate in sorted(candidates, key=lambda each: not each.is_chosen):
        x, y = PLOT[0] * candidate.cost / width, PLOT[1] * candidate.drop / (1.27 * height)
        boxes = {name: _make_label_box(candidate.name, x, y, shift) for name, shift in SIDES.items()}
        free = [
            name for name, box in boxes.items() if not any(_is_overlapping(box, other) for other in taken)
        ]
        taken += [boxes[free[0]]] if free else []
        places.append((candidate.name, free[0] if free else ""))
    named = dict(places)
    return [named[candidate.name] for candidate in candidates]


def _make_label_box(
    name: str, x: float, y: float, shift: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Left, low, right and high, in pixels; a line is 18 high and a letter 8 wide."""
    half = 4.0 * len(name)
    centre, low = x + shift[0] * (half + 12), y + shift[1] * 18 - 9
    return centre - half, low, centre + half, low + 18


def _is_overlapping(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _draw_frontier(candidates: Sequence[Candidate]) -> Figure:
    """What nothing else beats in both."""
    best: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda item: (item.cost, item.drop)):
        if not best or candidate.drop < best[-1].drop:
            best.append(candidate)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [candidate.cost for candidate in best],
        "y": [candidate.drop for candidate in best],
        "line": {"color": QUIET, "width": 1.5, "shape": "hv", "dash": "dot"},
        "hoverinfo": "skip",
    }


def _limit_line(most: float) -> Figure:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": most,
        "y1": most,
        "line": {"color": BAD, "width": 1.5, "dash": "dash"},
        "label": {"text": f"limit: {format_limit(most)}", "textposition": "end", "font": {"color": BAD}},
    }


def _choose_color(candidate: Candidate) -> str:
    return SIM if candidate.is_met is None else GOOD if candidate.is_met else BAD


def _describe_candidate(candidate: Candidate) -> str:
    name, text = escape(candidate.name), escape(shorten(candidate.text))
    return f"<b>{name}</b><br>{text}<br>{candidate.drop:.2f} points lost"


def _plot_histogram(view: TensorView) -> Figure:
    """Counts on a logarithmic axis: what is cut is rare."""
    centres = [(a + b) / 2 for a, b in zip(view.edges, view.edges[1:], strict=False)]
    widths = [b - a for a, b in zip(view.edges, view.edges[1:], strict=False)]
    # Cut where nobody who reads it can tell: no loss, and no alarm.
    is_beyond = [view.clipped > 0 and not view.low <= c <= view.high for c in centres]
    bars = {
        "type": "bar",
        "x": centres,
        "y": [count or None for count in view.counts],
        "width": widths,
        "marker": {"color": [BAD if beyond else SIM for beyond in is_beyond], "line": {"width": 0}},
        "hovertemplate": "%{x:.4g}: %{y} times<extra></extra>",
    }
    layout = _make_layout()
    layout["showlegend"] = False
    layout["yaxis"] |= {"type": "log", "showticklabels": False, "showgrid": False, "fixedrange": True}
    layout["xaxis"] |= {"nticks": 5, "fixedrange": True}
    layout["margin"] = {"l": 6, "r": 6, "t": 6, "b": 22}
    layout["bargap"] = 0
    layout["shapes"] = [_draw_range(view), _end(view.low), _end(view.high)]
    return {"data": [bars], "layout": layout, "height": 140}


def _draw_range(view: TensorView) -> Figure:
    """What the encoding can hold."""
    return {
        "type": "rect",
        "yref": "paper",
        "x0": view.low,
        "x1": view.high,
        "y0": 0,
        "y1": 1,
        "fillcolor": "--held",
        "line": {"width": 0},
        "layer": "below",
    }


def _end(place: float) -> Figure:
    line = {"color": EMULATOR, "width": 1.5}
    return {"type": "line", "yref": "paper", "x0": place, "x1": place, "y0": 0, "y1": 1, "line": line}


def _make_title(text: str) -> Figure:
    return {"title": {"text": text, "standoff": 10, "font": {"size": 13}}} if text else {}


def _make_layout(x: str = "", y: str = "") -> Figure:
    axis = {"gridcolor": "--line", "zerolinecolor": "--line", "linecolor": "--line", "automargin": True}
    return {
        "margin": {"l": 56, "r": 16, "t": 28, "b": 56},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": TEXT, "size": 12.5},
        "hoverlabel": {
            "bgcolor": "--card",
            "bordercolor": "--line",
            "font": {"color": TEXT},
            "align": "left",
        },
        "legend": {"orientation": "h", "y": 1.12, "x": 0},
        "hovermode": "closest",
        "xaxis": {**axis, **_make_title(x)},
        "yaxis": {**axis, **_make_title(y)},
    }
