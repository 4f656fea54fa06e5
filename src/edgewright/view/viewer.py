"""Shows models in a browser, or writes the page that does."""

import logging
import webbrowser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from edgewright.core.errors import BadInput, EnvironmentProblem, UsageError, shown
from edgewright.core.files import check_target, write_whole
from edgewright.view.document import make_document
from edgewright.view.open_view import open_view
from edgewright.view.page import write_page
from edgewright.view.records import ViewModel
from edgewright.view.server import Shown, ViewServer

Openers = Mapping[str, Callable[[], ViewModel]]
# Weights and contexts are both .bin, tables and settings .json: what is clearly a model is listed.
_SUFFIXES = frozenset({".json", ".dlc", ".onnx", ".tflite", ".pb", ".pt2", ".so", ".encodings"})
log = logging.getLogger(__name__)


class Viewer:
    """A page in a browser; it is there until ``close``, the end of a ``with`` block or of the program."""

    def __init__(self, server: ViewServer) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address of the page; it holds a token and works on this machine only."""
        return self._server.url

    def wait(self) -> None:
        """Blocks until the program is interrupted."""
        self._server.wait()

    def close(self) -> None:
        """Stops showing."""
        self._server.close()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer at {self.url}"


def view(*models: Any, export: Path | str | None = None, open_browser: bool = True) -> "Viewer | Path":
    """Shows models in a browser, several of them beside each other.

    Args:
        models: files of any kind that is known (ONNX, TFLite, TensorFlow, PyTorch, net.json, DLC, model
            library, context binary), or models in memory.
        export: a file to write instead of a server: one page (.html) that needs no network.
        open_browser: whether a browser is opened at the page.

    Returns:
        A viewer with the address of the page, or the path that was written.
    """
    if not models:
        raise UsageError("no model is named, expected one or more", do="name a file")
    if export is not None:
        check_target(export)
    opened = [open_view(model) for model in models]
    if export is None:
        return start_viewer(hold_open(opened), open_browser=open_browser)
    export_page(opened, Path(export))
    return Path(export)


def hold_open(models: Sequence[ViewModel]) -> Openers:
    """Models that are open already, by titles of their own."""
    return _name_apart([(model.title, partial(_return_model, model)) for model in models])


def list_folder(folder: Path) -> Openers:
    """The files of a folder that look like models; each is opened when somebody chooses it."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder '{shown(folder)}'", do="name a folder with models")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES and path.is_file())
    if not paths:
        raise BadInput(
            f"'{shown(folder)}' holds no model, expected a _net.json, DLC or source model",
            do="name the folder that a converter wrote to, or show one file with edgewright view FILE",
        )
    return _name_apart([(path.name, partial(open_view, path)) for path in paths])


def _return_model(model: ViewModel) -> ViewModel:
    return model


def _name_apart(items: Sequence[tuple[str, Callable[[], ViewModel]]]) -> Openers:
    """Equal titles get numbers."""
    counts = Counter(title for title, _ in items)
    return {
        title if counts[title] == 1 else f"{title} ({number})": opener
        for number, (title, opener) in enumerate(items, 1)
    }


def export_page(models: Sequence[ViewModel], path: Path) -> None:
    """Writes one page that shows the models and needs nothing else."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            f"'{path}' has the suffix '{path.suffix}', expected .html", do="name the page such as page.html"
        )
    write_whole(path, [write_page(models, [make_document(model) for model in models])])


def start_viewer(models: Openers, *, open_browser: bool, port: int = 0) -> Viewer:
    """Starts the server and, if asked, a browser at it."""
    try:
        server = ViewServer(Shown(models), port)
    except OSError as problem:
        raise EnvironmentProblem(
            f"the page cannot be served at port {port}: {problem.strerror}", do="leave --port out"
        ) from None
    if open_browser and not webbrowser.open(server.url):
        log.info("no browser was found; open %s", server.url)
    return Viewer(server)
