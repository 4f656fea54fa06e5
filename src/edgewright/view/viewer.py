"""Shows models in a browser, or writes the page that does."""

import logging
import webbrowser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from edgewright.core.errors import BadInput, EnvironmentProblem, UsageError, shown
from edgewright.core.files import check_target, write_folder, write_whole
from edgewright.view.build_folders import is_build_folder
from edgewright.view.compare_graphs import compare_views
from edgewright.view.compare_outputs import OutputFolders, compare_outputs
from edgewright.view.document import Document, make_document
from edgewright.view.measured import open_measured
from edgewright.view.model_explorer import FOLDER, describe_files
from edgewright.view.open_view import open_view
from edgewright.view.page import summarise_all, write_page
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


def view(
    *models: Any,
    diff: bool = False,
    outputs: OutputFolders | tuple[Path | str, Path | str] | None = None,
    profile: Path | str | None = None,
    data: Any = None,
    export: Path | str | None = None,
    open_browser: bool = True,
) -> "Viewer | Path":
    """Shows models in a browser, as graphs.

    Args:
        models: files of any kind that is known (ONNX, TFLite, TensorFlow, PyTorch, net.json, DLC, model
            library, context binary), or models in memory.
        diff: shows two models side by side, with nodes matched by names of the source.
        outputs: a folder of golden tensors and one of a run; nodes are coloured by how far the second is
            from the first (SQNR; another verifier by ``edgewright view --verifier``).
        profile: a log of qnn-net-run with times of ops; nodes are coloured by them.
        data: samples, in any form that ``debug`` takes; the panel shows how results of nodes are distributed.
        export: a file to write instead of a server: one page (.html) that needs no network, or a
            folder named model-explorer, which gets the JSON graphs and node data of that viewer.
        open_browser: whether a browser is opened at the page.

    Returns:
        A viewer with the address of the page, or the path that was written.
    """
    if not models:
        raise UsageError("no model is named, expected one or more", do="name a file")
    if export is not None and Path(export).name != FOLDER:
        check_target(export)
    if isinstance(outputs, tuple):
        outputs = OutputFolders(Path(outputs[0]), Path(outputs[1]))
    opened = [open_measured(model, profile=profile, data=data) for model in models]
    views = prepare_views(opened, is_diff=diff, outputs=outputs)
    if export is None:
        return start_viewer(hold_open(views.models), views.comparison, open_browser=open_browser)
    export_page(views, Path(export))
    return Path(export)


@dataclass(frozen=True, eq=False)
class Views:
    """What a page shows: models, and how the first two of them differ."""

    models: Sequence[ViewModel]
    comparison: Document | None = None


def prepare_views(
    models: Sequence[ViewModel], *, is_diff: bool = False, outputs: OutputFolders | None = None
) -> Views:
    """Models with the colours of a comparison: of two folders of outputs, or of the two models."""
    if outputs is not None:
        models = [compare_outputs(model, outputs) for model in models]
    if not is_diff:
        return Views(models)
    if len(models) != 2:
        raise UsageError(f"{len(models)} models are to be compared, expected 2", do="name two files")
    compared, comparison = compare_views(models[0], models[1])
    return Views(compared, comparison.to_document())


def hold_open(models: Sequence[ViewModel]) -> Openers:
    """Models that are open already, by titles of their own."""
    return _name_apart([(model.title, partial(_return_model, model)) for model in models])


def list_folder(folder: Path) -> Openers:
    """The files of a folder that look like models; each is opened when somebody chooses it."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder '{shown(folder)}'", do="name a folder with models")
    paths = sorted(path for path in folder.iterdir() if _is_model(path))
    if not paths:
        raise BadInput(
            f"'{shown(folder)}' holds no model, expected a _net.json, DLC or source model",
            do="name the folder that a converter wrote to, or show one file with edgewright view FILE",
        )
    return _name_apart([(path.name, partial(open_view, path)) for path in paths])


def _is_model(path: Path) -> bool:
    """Whether a file or folder is clearly a model."""
    if path.is_dir():
        return is_build_folder(path) or (path / "saved_model.pb").is_file()
    return path.suffix.lower() in _SUFFIXES and path.is_file()


def _return_model(model: ViewModel) -> ViewModel:
    return model


def _name_apart(items: Sequence[tuple[str, Callable[[], ViewModel]]]) -> Openers:
    """Equal titles get numbers."""
    counts = Counter(title for title, _ in items)
    return {
        title if counts[title] == 1 else f"{title} ({number})": opener
        for number, (title, opener) in enumerate(items, 1)
    }


def export_page(views: Views, path: Path) -> None:
    """Writes one page that shows the models and needs nothing else, or the files of Model Explorer."""
    if path.name == FOLDER:
        write_folder(path, describe_files([make_document(model) for model in views.models]))
        return
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            f"'{path}' has the suffix '{path.suffix}', expected .html",
            do="name the page such as page.html, or a folder model-explorer",
        )
    documents = [make_document(model) for model in views.models]
    write_whole(path, [write_page(documents, views.comparison, histograms=summarise_all(views.models))])


def start_viewer(
    models: Openers,
    comparison: Document | None = None,
    *,
    open_browser: bool,
    port: int = 0,
    root: Path | None = None,
) -> Viewer:
    """Starts the server and, if asked, a browser at it; ``root`` is the folder that comparisons work in."""
    try:
        server = ViewServer(Shown(models, comparison, root), port)
    except OSError as problem:
        raise EnvironmentProblem(
            f"the page cannot be served at port {port}: {problem.strerror}", do="leave --port out"
        ) from None
    if open_browser and not webbrowser.open(server.url):
        log.info("no browser was found; open %s", server.url)
    return Viewer(server)
