"""Where a feature of the debugger writes: working_directory/FEATURE/TIME, its options, its log, `latest`."""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from edgewright.config.group import OptionGroup
from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.core.files import check_target, write_whole

LOG_FILE = "log.txt"
_ROOT = logging.getLogger("edgewright")


@contextmanager
def open_feature_folder(
    working_dir: str, feature: str, name: str | None, groups: Iterable[OptionGroup]
) -> Iterator[Path]:
    """A fresh folder with the options of the run; its log is kept there while the block runs.

    ``latest`` beside it leads to it once the block has ended well.
    """
    home = Path(working_dir, feature)
    if name is not None and (Path(name).name != name or name in {".", "..", "latest"}):
        raise UsageError(f"--output_dirname is '{shown(name)}', expected the name of a folder, not a path")
    folder = home / (name or _name_by_time(home))
    check_target(folder / LOG_FILE)
    _make(folder)
    write_whole(folder / f"{feature}_options.json", [_describe_options(groups)])
    with _log_into(folder / LOG_FILE):
        yield folder
    _link_latest(home, folder)


def _name_by_time(home: Path) -> str:
    """The time, and a number where several runs start within a second."""
    now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    while (home / (now if number == 1 else f"{now}_{number}")).exists():
        number += 1
    return now if number == 1 else f"{now}_{number}"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise EnvironmentProblem(
            f"cannot make the folder '{shown(folder)}': {problem.strerror}", do="name another --working_dir"
        ) from problem


def _describe_options(groups: Iterable[OptionGroup]) -> bytes:
    values = {name: getattr(group, name) for group in groups for name in group.options()}
    return f"{json.dumps(values, indent=2, default=str)}\n".encode()


@contextmanager
def _log_into(file: Path) -> Iterator[None]:
    handler = logging.FileHandler(file, mode="w", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s - %(levelname)s - %(message)s"))
    _ROOT.addHandler(handler)
    try:
        yield
    finally:
        _ROOT.removeHandler(handler)
        handler.close()


def _link_latest(home: Path, folder: Path) -> None:
    link = home / "latest"
    if link.exists() and not link.is_symlink():
        return
    # Some file systems have no links: the folder itself is there all the same.
    with suppress(OSError, NotImplementedError):
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name, target_is_directory=True)
