"""The drawing of a model as a part of another page: one element, offline, drawn when somebody looks at it."""

import base64
import gzip
import html

from edgewright.view.document import make_document
from edgewright.view.page import read_part, write_page
from edgewright.view.records import ViewModel


def write_embedded_graph(model: ViewModel, label: str = "Graph") -> str:
    """HTML for the body of any page; a name of the model is never markup there.

    The drawing is in a frame of its own, so that neither page's styles and scripts reach the other. It
    follows the page's ``data-theme``, and a click on an element with ``data-graph-node`` (the name of a
    tensor or node) goes to that node. Weights have no histograms here: they would be most of the page.
    """
    # Without a time: equal models make equal pages.
    packed = base64.b64encode(gzip.compress(write_page([make_document(model)]), 9, mtime=0)).decode("ascii")
    return (
        f'<div class="graph-frame" aria-label="{html.escape(label)}">drawing …</div>\n'
        f'<script type="text/plain">{packed}</script>\n<script>{read_part("embed.js")}</script>\n'
    )
