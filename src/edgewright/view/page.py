"""The page that draws documents: the files of a server, or one file that needs no server and no network."""

import base64
import hashlib
import html
import json
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.view.document import Document
from edgewright.view.histograms import summarise
from edgewright.view.records import ViewModel

# In an order in which each knows the ones before it.
_APP = (
    *("elements.js", "graph.js", "layout.js", "drawing.js", "canvas.js", "overlay.js", "panel.js"),
    *("outline.js", "search.js", "source.js", "compare.js", "diff_form.js", "save_page.js", "app.js"),
)
_WORKER = ("layout.js", "worker.js")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) )", re.MULTILINE)
_LESS = r"\u003c"
# Weights of a page that are read for its histograms.
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Asset:
    """A file of the page as a browser gets it."""

    type: str
    content: bytes


def make_assets() -> dict[str, Asset]:
    """The page and its parts by their paths; the page is "" and names the others."""
    page = read_part("index.html").replace("<!--STYLE-->", '<link rel="stylesheet" href="style.css">')
    page = page.replace("<!--SCRIPT-->", '<script type="module" src="app.js"></script>')
    page = page.replace("<!--POLICY-->", "").replace("<!--DATA-->", "")
    return {
        "": Asset("text/html; charset=utf-8", page.encode()),
        "app.js": Asset("text/javascript; charset=utf-8", _join(_APP).encode()),
        "worker.js": Asset("text/javascript; charset=utf-8", _write_worker().encode()),
        "style.css": Asset("text/css; charset=utf-8", read_part("style.css").encode()),
    }


def write_page(
    documents: Sequence[Document],
    comparison: Document | None = None,
    *,
    histograms: dict[str, Any] | None = None,
) -> bytes:
    """One file with everything in it: it opens from a disk, and asks nobody for anything."""
    style, script = read_part("style.css"), _join(_APP)
    content = {"documents": list(documents), "histograms": histograms, "comparison": comparison}
    page = read_part("index.html")
    policy = (
        f"default-src 'none'; script-src {_hash_source(script)}; style-src {_hash_source(style)}; "
        "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "<!--POLICY-->": f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
        "<!--STYLE-->": f"<style>{style}</style>",
        # No name of a model may end the element; the worker is ours.
        "<!--DATA-->": (
            f'<script type="application/json" id="embedded">{_dump(content).replace("<", _LESS)}</script>\n'
            f'<script type="text/plain" id="worker">{_write_worker()}</script>'
        ),
        "<!--SCRIPT-->": f'<script type="module">{script}</script>',
    }
    for mark, text in parts.items():
        before, _, after = page.partition(mark)
        page = before + text + after
    return page.encode()


def dump_document(document: Any) -> bytes:
    """JSON as a server sends it."""
    return _dump(document).encode()


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _write_worker() -> str:
    return f"{read_part('dagre.min.js')}\n{_join(_WORKER)}"


def _join(names: Sequence[str]) -> str:
    """Modules as one: their imports name each other, which are all there."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", read_part(name))) for name in names)


def read_part(name: str) -> str:
    """A file of the page as text."""
    content = pkgutil.get_data(__name__, f"_data/{name}")
    assert content is not None
    return content.decode()


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def summarise_all(models: Sequence[ViewModel]) -> dict[str, Any]:
    """The histograms of all weights, by the numbers of model, graph and tensor."""
    summaries: dict[str, Any] = {}
    left = _MOST_BYTES
    for number, model in enumerate(models):
        for place, graph in enumerate(model.graphs):
            for index, tensor in enumerate(graph.tensors.values()):
                if tensor.load is not None:
                    left -= tensor.load().nbytes
                elif tensor.values is None:
                    continue
                if left <= 0:
                    continue
                summaries[f"{number}/{place}/{index}"] = summarise(tensor)
    return summaries
