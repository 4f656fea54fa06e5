"""Runs tasks: what is known is taken from the store, the rest is computed by processes or by a cluster."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgewright.config.sweep import count_own_workers
from edgewright.core.cache import find_cache
from edgewright.core.errors import BackendCrash, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.machine_use import count_cores
from edgewright.tasks.cluster import ClusterExecutor, OwnClusterExecutor
from edgewright.tasks.contents import Contents
from edgewright.tasks.executors import Executor, GrowingExecutor, InlineExecutor, LocalExecutor
from edgewright.tasks.outcome import Outcome, TaskError, read_outcome
from edgewright.tasks.perform import write_message
from edgewright.tasks.store import FolderStore, locate_result, open_store
from edgewright.tasks.task import Task

log = logging.getLogger(__name__)

FETCHED = "fetched"


@dataclass(frozen=True)
class Engine:
    """A store of results, and who computes what is missing in it."""

    contents: Contents
    executor: Executor

    @property
    def dashboard(self) -> str:
        """The page of the cluster, where it has one."""
        return self.executor.dashboard

    def share_files(self, folder: Path, names: Iterable[str]) -> str:
        """The hash of files, for inputs of tasks; they reach workers once."""
        return self.contents.share_files(folder, names, is_same_machine=self.executor.is_local)

    def fetch_files(self, digest: str) -> Path:
        """A folder with files that a task kept; they must not be changed."""
        return self.contents.fetch_files(digest)

    def copy_files(self, digest: str, folder: Path, rename: Callable[[str], str | None] = str) -> None:
        """Puts files that a task kept into a folder; those that are renamed to None are left out."""
        self.contents.copy_files(digest, folder, rename)

    def compute_all(self, tasks: Sequence[Task], title: str = "tasks") -> list[Outcome]:
        """The outcomes in the order of the tasks."""
        outcomes = {task.key: outcome for task, outcome in self.iterate_outcomes(tasks, title)}
        return [outcomes[task.key] for task in tasks]

    def iterate_outcomes(self, tasks: Sequence[Task], title: str = "tasks") -> Iterator[tuple[Task, Outcome]]:
        """Each task once with its outcome: those that are known first, then as they become known."""
        by_key = {task.key: task for task in tasks}
        known = self._find_known(by_key)
        with announce_progress(title, len(by_key) - len(known)) as step:
            yield from ((by_key[key], outcome) for key, outcome in known.items())
            missing = {key: self._write(task) for key, task in by_key.items() if key not in known}
            if not missing:
                return
            for key, text in self.executor.iterate_outcomes(missing):
                step()
                yield by_key[key], _read_answer(key, text)

    def _find_known(self, keys: Iterable[str]) -> dict[str, Outcome]:
        names = {locate_result(key): key for key in keys}
        stored = self.contents.store.read_many(names)
        outcomes = {
            names[name]: read_outcome(content, names[name], is_reused=True)
            for name, content in stored.items()
        }
        for key in (key for key, outcome in outcomes.items() if outcome is None):
            log.warning("a result in '%s' is damaged and is computed again: %s", self.contents.store.url, key)
        return {key: outcome for key, outcome in outcomes.items() if outcome is not None}

    def _write(self, task: Task) -> str:
        cache = str(self.contents.cache) if self.executor.is_local else ""
        return write_message(task, self.contents.store.url, cache)


def remember_shares(engine: Engine) -> Callable[[Path, Sequence[str]], str]:
    """Shares files; what several tasks need is hashed once."""
    known: dict[tuple[Path, tuple[str, ...]], str] = {}

    def share(folder: Path, names: Sequence[str]) -> str:
        key = folder, tuple(names)
        if key not in known:
            known[key] = engine.share_files(folder, names)
        return known[key]

    return share


@contextmanager
def open_engine(
    store: str | Path, *, cluster: str | None = None, workers: int | None = None, is_growing: bool = False
) -> Iterator[Engine]:
    """An engine for as long as the block runs.

    Args:
        store: where results are kept: a folder, or a URL such as s3://bucket/folder. Workers of a cluster on
            other machines must reach it too.
        cluster: the address of a Dask scheduler (tcp://host:8786), local:4 for one that is started here, or
            None for processes of this machine without one.
        workers: how many such processes; one for each core by default, 0 for none but this one.
        is_growing: this process computes where no workers are asked for, as long as there is little to do.
    """
    opened = open_store(store)
    opened.prepare()
    executor = _open_executor(cluster, workers, is_growing=is_growing)
    is_inside = isinstance(opened, FolderStore) and executor.is_local
    cache = Path(opened.url, FETCHED) if is_inside else find_cache("contents")
    try:
        yield Engine(Contents(opened, cache), executor)
    finally:
        executor.close()


def _open_executor(cluster: str | None, workers: int | None, *, is_growing: bool) -> Executor:
    if cluster is None:
        return _open_local(workers, is_growing=is_growing)
    if workers is not None:
        raise UsageError(
            "workers are for processes of this machine, a cluster has its own", do="give one of the two"
        )
    try:
        own = count_own_workers(cluster)
    except ValueError as problem:
        raise UsageError(f"cluster is '{shown(cluster)}', {problem}") from problem
    return OwnClusterExecutor(own) if own else ClusterExecutor(cluster)


def _open_local(workers: int | None, *, is_growing: bool) -> Executor:
    cores = count_cores()
    if workers == 0 or (workers is None and is_growing and cores == 1):
        return InlineExecutor()
    if workers is None and is_growing:
        return GrowingExecutor(cores)
    return LocalExecutor(workers or cores)


def _read_answer(key: str, text: str) -> Outcome:
    outcome = read_outcome(text.encode(), key)
    if outcome is not None:
        return outcome
    damaged = BackendCrash("the answer of a worker cannot be read", do="run it again")
    return Outcome(key, error=TaskError.of(damaged))
