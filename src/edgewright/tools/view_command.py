"""`edgewright view`: shows models as graphs in a browser, or writes the page that does."""

from edgewright.config.umbrella import Messages, Shapes
from edgewright.config.view import ViewedFiles, ViewPage
from edgewright.tools.tool import Tool


def run(files: ViewedFiles, shapes: Shapes, page: ViewPage, _messages: Messages) -> None:
    """Open all files, then write the page or serve it until the user stops it."""
    from pathlib import Path

    from edgewright.core.files import check_target
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.view.open_view import open_view
    from edgewright.view.viewer import export_page, hold_open, start_viewer

    if page.export is not None:
        check_target(page.export)
    spec = InputSpec.from_options(shapes)
    models = [open_view(path, spec) for path in files.files]
    if page.export is not None:
        export_page(models, Path(page.export))
        print(f"wrote {page.export}")
        return
    with start_viewer(hold_open(models), open_browser=not page.no_browser, port=page.port) as viewer:
        print(
            f"showing {len(models)} model{'s' * (len(models) > 1)} at {viewer.url} (stop with ^C)", flush=True
        )
        viewer.wait()


TOOL = Tool(
    "edgewright view",
    "Show models as graphs in a browser: ops, shapes, encodings, weights, and what each op costs.",
    (ViewedFiles, Shapes, ViewPage, Messages),
    run,
    examples=(
        ("edgewright view model.onnx", "look at a source model"),
        ("edgewright view model.onnx out/model.dlc", "a model before and after its conversion"),
        ("edgewright view out/model.dlc --export page.html", "a page to send to somebody"),
    ),
)
main = TOOL.main
