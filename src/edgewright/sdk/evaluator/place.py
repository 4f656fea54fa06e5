"""Where an evaluation is computed, and where its parts are kept."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgewright.tasks.engine import Engine, open_engine

STORE = ".tasks"
# Opens the engine once there is something to compute: what is wrong before that leaves nothing behind.
OpenEngine = Callable[[], AbstractContextManager[Engine]]


@dataclass(frozen=True)
class EvaluationPlace:
    """Who computes: this machine, unless a cluster is named."""

    cluster: str | None = None
    # Processes of this machine; None: as many as there are cores, once there is enough to do.
    workers: int | None = None
    # Where results are kept by content; .tasks in the work folder otherwise.
    store: str | None = None

    @contextmanager
    def open_engine(self, folder: Path) -> Iterator[Engine]:
        """The engine for evaluations that write to a folder."""
        store = self.store or folder / STORE
        with open_engine(store, cluster=self.cluster, workers=self.workers, is_growing=True) as engine:
            yield engine
