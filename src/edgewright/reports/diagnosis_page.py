"""A diagnosis as one page that needs nothing else, and the first differing op as files."""

import html
import json
from io import BytesIO
from pathlib import Path

import numpy as np

from edgewright.analyse.backend_differences import BackendComparison
from edgewright.analyse.diagnosis import Diagnosis, format_db, list_blocks
from edgewright.analyse.records import Layer, TensorView
from edgewright.core.errors import EdgewrightError, shown
from edgewright.core.files import write_all, write_whole
from edgewright.core.page import format_html
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.model.model import Model
from edgewright.view.embed import write_embedded_graph
from edgewright.view.layer_overlays import view_measured

# Bars reach from nothing to what no one can hear.
FULL_DB = 60.0
BAR, ROW, NAME = 420, 18, 380
_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2rem;max-width:75rem;color-scheme:light dark}"
    "h1{font-size:1.2rem}table{border-collapse:collapse;margin:1rem 0}"
    "caption{text-align:left;font-weight:600}"
    "td,th{padding:.2rem .6rem;border-bottom:1px solid #8884;vertical-align:top;overflow-wrap:break-word}"
    "td{max-width:40rem}table,.wide{display:block;overflow-x:auto}"
    "svg{max-width:100%;height:auto}.wide svg{max-width:none}"
    "svg text{font:11px system-ui,sans-serif;fill:currentColor}"
    "summary{cursor:pointer;font-weight:600;margin:.6rem 0}code{overflow-wrap:anywhere}"
    ".graph-frame{height:32rem;border:1px solid #8884}g[data-graph-node]{cursor:pointer}"
)

# Beside a case: runs its op on both backends again.
SCRIPT = '''"""Runs one op on two backends; compares the results with each other and with those recorded."""

import json
from pathlib import Path

import numpy as np

import edgewright as ew

here = Path(__file__).parent
case = json.loads((here / "case.json").read_text())
model = ew.load(here / "op_net.json")
inputs = {item.name: np.load(here / f"{name}.npy") for item, name in zip(model.inputs, case["inputs"])}
made = {}
for backend, names in case["results"].items():
    recorded = np.load(here / f"{backend}_{names[0]}.npy")
    if backend == "framework":
        made[backend] = recorded  # the source model is not here
        continue
    (made[backend],) = model.run(inputs, backend=backend).values()
    is_same = np.array_equal(np.asarray(made[backend]).reshape(-1), recorded.reshape(-1), equal_nan=True)
    print(f"{backend}: {'as recorded' if is_same else 'NOT as recorded'}")
one, other = (np.asarray(array, np.float64) for array in made.values())
gaps = np.abs(one - other) / case["step"]
figures = f"by up to {gaps.max():.3g} steps, in {100 * (gaps > 0.5).mean():.2g} % of values"
print(f"{' and '.join(made)} differ {figures}")
'''


def write_page(diagnosis: Diagnosis, file: Path, graph: Graph) -> None:
    """The page: what to look at first, the graph and its layers in order, tables, histograms on demand."""
    parts = [
        f"<h1>{html.escape(diagnosis.first_divergence)}</h1>",
        _draw_graph(diagnosis, graph),
        f"<details open><summary>All layers in order</summary>{_draw_layers(diagnosis)}</details>",
        format_html(list_blocks(diagnosis)[:-1]),
        *(
            f"<details><summary>Override for {html.escape(remedy.source)}</summary>"
            f"<code>{html.escape(remedy.do)}</code></details>"
            for remedy in diagnosis.remedies
        ),
        *(_draw_histogram(view) for view in diagnosis.tensors),
    ]
    title = html.escape(f"Where does accuracy go? {diagnosis.model}")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "\n".join(parts)
    page = f'<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>{body}</body></html>'
    write_whole(file, [f"<!doctype html>\n{page}\n".encode()])


def _draw_graph(diagnosis: Diagnosis, graph: Graph) -> str:
    """The graph coloured by the error of its layers; a click on a layer below goes there."""
    try:
        drawing = write_embedded_graph(view_measured(graph, diagnosis.layers, diagnosis.model))
    except EdgewrightError as problem:
        return f"<p>The graph is not drawn: {html.escape(shown(problem.what))}</p>"
    return f"<details open><summary>Graph, coloured by error</summary>{drawing}</details>"


def write_case(comparison: BackendComparison, page: Path) -> Path | None:
    """The first op that two backends compute differently: a model of it, its inputs, and both results.

    Returns the script that runs it again.
    """
    case = comparison.case
    if case is None:
        return None
    folder = page.with_name(f"{page.stem}_case")
    Model.of(case.graph).save(folder / "op.cpp")
    name_file = NameTable(case.inputs)
    inputs = {name_file(name): array for name, array in case.inputs.items()}
    results = {
        backend: {name_file(name): array for name, array in outputs.items()}
        for backend, outputs in case.outputs.items()
    }
    files = {folder / f"{name}.npy": [_to_npy(array)] for name, array in inputs.items()}
    for backend, outputs in results.items():
        files |= {folder / f"{backend}_{name}.npy": [_to_npy(array)] for name, array in outputs.items()}
    record = {"inputs": list(inputs), "results": {backend: list(of) for backend, of in results.items()}}
    files[folder / "case.json"] = [f"{json.dumps({**record, 'step': case.step}, indent=1)}\n".encode()]
    script = folder / "run.py"
    write_all({**files, script: [SCRIPT.encode()]})
    return script


def _to_npy(array: np.ndarray) -> bytes:
    buffer = BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def _draw_layers(diagnosis: Diagnosis) -> str:
    """A bar for each layer: up to here, and by itself as a line."""
    odd = {entry.layer for entry in diagnosis.odd if entry.excess_db >= 1.0}
    height = ROW * max(len(diagnosis.layers), 1)
    rows = "".join(_draw_row(number, layer, odd) for number, layer in enumerate(diagnosis.layers))
    label = "signal over noise of each layer, up to there (bar) and by itself (line), in dB"
    size = f'viewBox="0 0 {NAME + BAR + 160} {height}" width="{NAME + BAR + 160}"'
    picture = f'<svg {size} role="img" aria-label="{label}">{rows}</svg>'
    return f'<p>{label[0].upper()}{label[1:]}</p><div class="wide" tabindex="0">{picture}</div>'


def _draw_row(number: int, layer: Layer, odd: set[str]) -> str:
    top = number * ROW
    name = layer.source if len(layer.source) <= 56 else f"...{layer.source[-53:]}"
    weight = ' font-weight="700"' if layer.source in odd else ""
    parts = [f'<text x="0" y="{top + 13}"{weight}>{html.escape(name)}</text>']
    if layer.sim_db is not None:
        share = min(max(layer.sim_db, 0.0), FULL_DB) / FULL_DB
        colour = f"hsl({120 * share:.0f} 65% 45%)"
        parts.append(
            f'<rect x="{NAME}" y="{top + 3}" width="{BAR * share:.1f}" height="12" fill="{colour}"/>'
        )
    if layer.own_db is not None:
        place = NAME + BAR * min(max(layer.own_db, 0.0), FULL_DB) / FULL_DB
        parts.append(
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{top + 1}" y2="{top + 17}" stroke="currentColor"/>'
        )
    figures = f"{format_db(layer.sim_db)}, {format_db(layer.own_db)}"
    parts.append(f'<text x="{NAME + BAR + 8}" y="{top + 13}">{figures}</text>')
    title = html.escape(f"{layer.op} {layer.source}")
    tensor = html.escape(layer.tensor, quote=True)
    return f'<g data-graph-node="{tensor}"><title>{title}</title>{"".join(parts)}</g>'


def _draw_histogram(view: TensorView) -> str:
    tallest, count = max(view.counts, default=0) or 1, max(len(view.counts), 1)
    bars = "".join(
        f'<rect x="{place * 600 / count:.1f}" y="{120 - 115 * (number / tallest) ** 0.5:.1f}" '
        f'width="{600 / count:.1f}" height="{115 * (number / tallest) ** 0.5:.1f}" fill="#4a7dbd"/>'
        for place, number in enumerate(view.counts)
    )
    text = (
        f"values {view.edges[0]:.4g} to {view.edges[-1]:.4g}; the encoding holds {view.low:.4g} to "
        f"{view.high:.4g} in {view.bits} bits, {100 * view.clipped:.2g} % are cut"
    )
    picture = f'<svg viewBox="0 0 600 120" width="600" role="img" aria-label="histogram">{bars}</svg>'
    name = html.escape(view.source)
    return f"<details><summary>Values of {name}</summary><p>{html.escape(text)}</p>{picture}</details>"
