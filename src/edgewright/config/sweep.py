"""The options of `edgewright sweep`."""

import re
from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes
from edgewright.config.values import make_number_parser

REPORTS, FILES = "reports", "files"
_OWN_CLUSTER = re.compile(r"local:([1-9]\d{0,3})")
_SCHEDULER = re.compile(r"(tcp|tls|ucx|ws|wss)://.+")


def count_own_workers(cluster: str) -> int:
    """Workers of a cluster that is started here; 0 for the address of one that is there."""
    own = _OWN_CLUSTER.fullmatch(cluster)
    if not own and not _SCHEDULER.fullmatch(cluster):
        raise ValueError(
            "expected tcp://HOST:PORT of a Dask scheduler, or local:N for one with N workers here"
        )
    return int(own[1]) if own else 0


def parse_cluster(text: str) -> str:
    """The text, where it names a cluster."""
    count_own_workers(text)
    return text


CLUSTER = opt(
    type=parse_cluster,
    metavar="ADDRESS",
    example="--cluster tcp://scheduler:8786",
    help="a Dask cluster: tcp://HOST:PORT of its scheduler, or local:4 for one that is started here",
)


@dataclass(frozen=True)
class SweepFile(OptionGroup):
    """What is built."""

    title = "Sweep"

    zoo: str = opt(
        "ZOO", help="a YAML file: models, targets, precisions, and options of builds; or a folder of models"
    )
    output: str | None = opt(
        also="-o",
        metavar="FOLDER",
        help="the folder to write; the file's name in the current folder otherwise",
    )
    targets: tuple[str, ...] = opt(
        "--targets",
        metavar="CHIP",
        help="chips, in place of those of the file",
        example="--targets SM8650 v73",
    )
    precisions: tuple[str, ...] = opt(
        "--precisions", metavar="NAME", help="precisions, in place of those of the file"
    )
    data: str | None = opt(metavar="PATH", help="samples for all models, in place of those of the file")
    keep: str = opt(
        choices=(REPORTS, FILES),
        default=REPORTS,
        help="what is kept of each build: its reports, or all its files",
    )
    dry_run: bool = opt("--dry-run", "--dry_run", help="list what would be built, and check the file")


@dataclass(frozen=True)
class SweepPlace(OptionGroup):
    """Who computes, and where results are kept."""

    title = "Where"
    rules = (Excludes("--cluster", "--workers"),)

    workers: int | None = opt(
        type=make_number_parser(0),
        metavar="N",
        help="processes of this machine; one for each core by default, 0 for none but this one",
    )
    cluster: str | None = opt(like=CLUSTER)
    store: str | None = opt(
        metavar="PLACE",
        example="--store s3://bucket/sweeps",
        help="where results are kept by content: a folder or a URL that all workers reach; .sweep in the "
        "output folder by default",
    )
