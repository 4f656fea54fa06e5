"""The options of `edgewright view` and `qnn-netron`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes, Needs


@dataclass(frozen=True)
class ViewedFiles(OptionGroup):
    """What is shown."""

    title = "Models"

    files: tuple[str, ...] = opt(
        "FILE",
        help="files of any kind that is known: source models, net.json, cpp, DLC, model libraries, context "
        "binaries, encodings, build folders",
    )


@dataclass(frozen=True)
class ViewMeasures(OptionGroup):
    """What is known beside the models."""

    title = "Measures"

    profile: str | None = opt(
        metavar="LOG", help="a profile of qnn-net-run --profiling_level detailed: colours nodes by their time"
    )
    data: str | None = opt(
        metavar="PATH",
        help="samples, as edgewright debug takes them: the panel shows how results of nodes are distributed "
        "over the first four",
    )


@dataclass(frozen=True)
class ViewComparison(OptionGroup):
    """What is compared."""

    title = "Comparison"
    rules = (
        Needs("--golden", "--results"),
        Needs("--results", "--golden"),
        Needs("--verifier", "--golden"),
        Needs("--threshold", "--golden"),
        Excludes("--run", "--diff"),
        Excludes("--run", "--golden"),
    )

    diff: bool = opt(help="show two models side by side, nodes matched, and what differs")
    golden: str | None = opt(metavar="DIR", help="a folder of golden tensors, such as a framework's")
    results: str | None = opt(
        metavar="DIR", help="a folder of tensors of a run of the model, to compare with the golden ones"
    )
    verifiers: tuple[str, ...] = opt(
        "--verifier",
        repeated=True,
        metavar="NAME",
        example="--verifier rtolatol,rtolmargin,0.01 --verifier SQNR",
        help="how tensors are compared, as qnn-accuracy-debugger spells it, once for each; SQNR otherwise",
    )
    threshold: float | None = opt(
        metavar="X", help="the score where a difference begins; otherwise that of the verifier"
    )
    run: str | None = opt(
        metavar="FILE", help="do a comparison that the form of the page saved, and show what came of it"
    )
    working_dir: str | None = opt(
        also="-w",
        metavar="DIR",
        help="the folder that comparisons read and write in; the page has a form for them where it is given",
    )


@dataclass(frozen=True)
class ViewPage(OptionGroup):
    """Where the picture goes."""

    title = "Page"
    rules = (Excludes("--export", "--port"), Excludes("--export", "--no_browser"))

    export: str | None = opt(
        metavar="FILE",
        help="write one .html page that needs no server and no network, and stop; a folder named "
        "model-explorer gets the JSON graphs and node data of Google's Model Explorer",
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
