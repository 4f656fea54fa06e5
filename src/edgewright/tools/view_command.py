"""`edgewright view`: shows models as graphs in a browser, or writes the page that does."""

from edgewright.config.umbrella import Messages, Shapes
from edgewright.config.view import ViewComparison, ViewedFiles, ViewPage
from edgewright.tools.tool import Tool


def run(
    files: ViewedFiles, shapes: Shapes, compared: ViewComparison, page: ViewPage, _messages: Messages
) -> None:
    """Open all files, then write the page or serve it until the user stops it."""
    from pathlib import Path

    from edgewright.core.files import check_target
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.view.compare_outputs import OutputFolders
    from edgewright.view.model_explorer import FOLDER
    from edgewright.view.open_view import open_view
    from edgewright.view.viewer import export_page, hold_open, prepare_views, start_viewer

    if page.export is not None and Path(page.export).name != FOLDER:
        check_target(page.export)
    spec = InputSpec.from_options(shapes)
    outputs = None
    if compared.golden is not None and compared.results is not None:
        verifiers = compared.verifiers or ("SQNR",)
        outputs = OutputFolders(Path(compared.golden), Path(compared.results), verifiers, compared.threshold)
    models = [open_view(path, spec) for path in files.files]
    views = prepare_views(models, is_diff=compared.diff, outputs=outputs)
    if page.export is not None:
        export_page(views, Path(page.export))
        print(f"wrote {page.export}")
        return
    opened = hold_open(views.models)
    is_shown = not page.no_browser
    with start_viewer(opened, views.comparison, open_browser=is_shown, port=page.port) as viewer:
        print(
            f"showing {len(models)} model{'s' * (len(models) > 1)} at {viewer.url} (stop with ^C)", flush=True
        )
        viewer.wait()


TOOL = Tool(
    "edgewright view",
    "Show models as graphs in a browser: ops, shapes, encodings, weights, and what each op costs.",
    (ViewedFiles, Shapes, ViewComparison, ViewPage, Messages),
    run,
    examples=(
        ("edgewright view model.onnx", "look at a source model"),
        ("edgewright view model.onnx out/model.dlc", "a model before and after its conversion"),
        ("edgewright view old.dlc new.dlc --diff", "two models side by side, and where they differ"),
        (
            "edgewright view m.dlc --golden float/ --results output/Result_0 --verifier CosineSimilarity",
            "a model coloured by how far its tensors are from golden ones",
        ),
        ("edgewright view out/model.dlc --export page.html", "a page to send to somebody"),
    ),
)
main = TOOL.main
