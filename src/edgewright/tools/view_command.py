"""`edgewright view`: shows models as graphs in a browser, or writes the page that does."""

from typing import TYPE_CHECKING

from edgewright.config.umbrella import Messages, Shapes
from edgewright.config.view import ViewComparison, ViewedFiles, ViewMeasures, ViewPage
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from edgewright.view.viewer import Views


def run(
    files: ViewedFiles,
    shapes: Shapes,
    measures: ViewMeasures,
    compared: ViewComparison,
    page: ViewPage,
    _messages: Messages,
) -> None:
    """Open all files, then write the page or serve it until the user stops it."""
    from pathlib import Path

    from edgewright.core.files import check_target
    from edgewright.view.model_explorer import FOLDER
    from edgewright.view.viewer import export_page, hold_open, start_viewer

    if page.export is not None and Path(page.export).name != FOLDER:
        check_target(page.export)
    views = _open_views(files, shapes, measures, compared)
    if page.export is not None:
        export_page(views, Path(page.export))
        print(f"wrote {page.export}")
        return
    opened, count = hold_open(views.models), len(views.models)
    is_shown = not page.no_browser
    root = None if compared.working_dir is None else Path(compared.working_dir)
    with start_viewer(opened, views.comparison, open_browser=is_shown, port=page.port, root=root) as viewer:
        print(f"showing {count} model{'s' * (count > 1)} at {viewer.url} (stop with ^C)", flush=True)
        viewer.wait()


def _open_views(
    files: ViewedFiles, shapes: Shapes, measures: ViewMeasures, compared: ViewComparison
) -> "Views":
    from pathlib import Path

    from edgewright.core.errors import UsageError
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.view.compare_outputs import OutputFolders
    from edgewright.view.measured import open_measured
    from edgewright.view.viewer import prepare_views

    if not files.files and compared.run is None:
        raise UsageError("no model is named, expected one or more", do="name a file, or --run a saved one")
    spec, given = InputSpec.from_options(shapes), {"profile": measures.profile, "data": measures.data}
    models = [open_measured(path, spec, **given) for path in files.files]
    if compared.run is not None:
        from edgewright.view.diff.request import load_run
        from edgewright.view.diff.run_diff import run_diff

        models.insert(0, run_diff(load_run(Path(compared.run)), Path(compared.working_dir or ".")))
    outputs = None
    if compared.golden is not None and compared.results is not None:
        verifiers = compared.verifiers or ("SQNR",)
        outputs = OutputFolders(Path(compared.golden), Path(compared.results), verifiers, compared.threshold)
    return prepare_views(models, is_diff=compared.diff, outputs=outputs)


TOOL = Tool(
    "edgewright view",
    "Show models as graphs in a browser: ops, shapes, encodings, weights, and what each op costs.",
    (ViewedFiles, Shapes, ViewMeasures, ViewComparison, ViewPage, Messages),
    run,
    examples=(
        ("edgewright view model.onnx", "look at a source model"),
        ("edgewright view model.onnx out/model.dlc", "a model before and after its conversion"),
        ("edgewright view old.dlc new.dlc --diff", "two models side by side, and where they differ"),
        (
            "edgewright view m.dlc --golden float/ --results output/Result_0 --verifier CosineSimilarity",
            "a model coloured by how far its tensors are from golden ones",
        ),
        ("edgewright view m.dlc --profile output/qnn-profiling-data_0.log", "a model coloured by time"),
        ("edgewright view -w out out/m.dlc", "with a form that compares runs of the models in out"),
        ("edgewright view out/model.dlc --export page.html", "a page to send to somebody"),
    ),
)
main = TOOL.main
