"""The options of `edgewright view` and `qnn-netron`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes


@dataclass(frozen=True)
class ViewedFiles(OptionGroup):
    """What is shown."""

    title = "Models"

    files: tuple[str, ...] = opt(
        "FILE",
        required=True,
        help="files of any kind that is known: source models, net.json, cpp, DLC, model libraries, context "
        "binaries, encodings, build folders",
    )


@dataclass(frozen=True)
class ViewPage(OptionGroup):
    """Where the picture goes."""

    title = "Page"
    rules = (Excludes("--export", "--port"), Excludes("--export", "--no_browser"))

    export: str | None = opt(
        metavar="FILE", help="write one .html page that needs no server and no network, and stop"
    )
    port: int = opt(default=0, metavar="N", help="serve the page at this port of 127.0.0.1; 0: a free one")
    no_browser: bool = opt(help="only print the address, start no browser")


@dataclass(frozen=True)
class NetronFolder(OptionGroup):
    """Where models are looked for."""

    title = "Folder"

    working_dir: str = opt(
        "-w",
        default=".",
        metavar="<working_dir>",
        help="the folder whose models are offered; there is nothing to build, as the SDK's tool does there",
    )


@dataclass(frozen=True)
class NetronPage(OptionGroup):
    """Where the page is served."""

    title = "Page"

    port: int = opt(default=0, metavar="N", help="serve the page at this port of 127.0.0.1; 0: a free one")
    no_browser: bool = opt(help="only print the address, start no browser")
