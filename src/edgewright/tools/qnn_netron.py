"""qnn-netron: shows the models of a folder in a browser; nothing is cloned, patched or built."""

from edgewright.config.umbrella import Messages
from edgewright.config.view import NetronFolder, NetronPage
from edgewright.tools.tool import Tool

NAME = "qnn-netron"


def run(folder: NetronFolder, page: NetronPage, _messages: Messages) -> None:
    """Serve the models of the folder until the user stops it."""
    from pathlib import Path

    from edgewright.view.viewer import list_folder, start_viewer

    home = Path(folder.working_dir)
    models = list_folder(home)
    with start_viewer(models, open_browser=not page.no_browser, port=page.port, root=home) as viewer:
        print(f"the page is at {viewer.url} (stop with ^C)", flush=True)
        viewer.wait()


TOOL = Tool(
    NAME,
    "Show the models of a folder as graphs in a browser; the same page as that of edgewright view.",
    (NetronFolder, NetronPage, Messages),
    run,
    examples=((f"{NAME} -w out", "the models that a converter wrote to a folder"),),
)
main = TOOL.main
