"""A Dask cluster as the one who computes tasks: an existing scheduler, or one that is started here.

Dask moves texts and the name of one function of ours between its processes. Results are in the store before
the scheduler hears of them, so a worker or the scheduler may be lost at any time: what was finished is found,
what was not is asked for again.
"""

import hashlib
import json
import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from edgewright.core.errors import BackendCrash, EnvironmentProblem, shown
from edgewright.core.optional import require
from edgewright.tasks.outcome import Outcome, TaskError
from edgewright.tasks.process import perform_in_process

log = logging.getLogger(__name__)

# Seconds that a scheduler may take to answer first, and to come back after it was lost.
FIRST_CONTACT, PATIENCE = 20.0, 600.0
PAUSE = 1.0
# Short tasks travel together, so that the scheduler's share of the time stays small: as many as take this
# long by the slowest of the last ones.
BATCH_SECONDS, MOST_TOGETHER, LAST_ONES = 0.25, 20, 20
# Batches that each thread of a worker has before it, and seconds between two looks at how many there are.
AHEAD, LOOK_EVERY = 2, 5.0
# A cluster of one machine takes its own time from the cores that compute: it looks at itself less often. That
# is 1 % of a core for two workers, in place of 5 to 8 %.
CALM = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
}


class SchedulerLost(Exception):
    """What was asked for will not be answered."""


class ClusterExecutor:
    """Workers of a Dask scheduler."""

    is_local = False

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        self._distributed = require("distributed", to="compute on a cluster")
        self._address, self._patience = address, patience
        self._client = self._connect(FIRST_CONTACT)

    @property
    def dashboard(self) -> str:
        """Dask's own page of what happens."""
        return str(self._client.dashboard_link or "")

    def iterate_outcomes(self, messages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """As they become known; tasks of a scheduler that was lost are given to the next one."""
        missing = dict(messages)
        while missing:
            batches = _Batches(self._distributed, self._client, missing)
            try:
                for key, text in batches.iterate_outcomes():
                    del missing[key]
                    yield key, text
            except SchedulerLost:
                log.warning("the scheduler at %s was lost, waiting for it", shown(self._address))
                self._leave()
                self._client = self._connect(self._patience)
            finally:
                batches.cancel()

    def close(self) -> None:
        """Leaves the cluster as it is."""
        self._leave()

    def _leave(self) -> None:
        with suppress(Exception):  # one that was lost cannot be left politely
            self._client.close(timeout=2)

    def _connect(self, seconds: float) -> Any:
        """A client of the scheduler; one that is being restarted is waited for."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(1.0, deadline - time.monotonic())
            try:
                return self._distributed.Client(self._address, timeout=min(left, 10), set_as_default=False)
            except (OSError, TimeoutError, ValueError) as problem:
                if isinstance(problem, ValueError) or time.monotonic() >= deadline:
                    raise EnvironmentProblem(
                        f"no scheduler answers at '{shown(self._address)}': {shown(problem)}",
                        do="start one with 'dask scheduler' and workers with 'dask worker ADDRESS', or leave "
                        "--cluster out; what was computed is kept, and the same command goes on from there",
                    ) from problem
                time.sleep(PAUSE)


class OwnClusterExecutor(ClusterExecutor):
    """A Dask cluster on this machine, for as long as it is needed."""

    is_local = True

    def __init__(self, workers: int) -> None:
        distributed = require("distributed", to="start a cluster")
        with require("dask", to="start a cluster").config.set(CALM):
            self._cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                # Its workers hold texts; tasks compute in processes of their own.
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            )
        super().__init__(self._cluster.scheduler_address)

    def close(self) -> None:
        """Ends the cluster."""
        super().close()
        self._cluster.close()


class _Batches:
    """Tasks on their way through one scheduler, a few at a time for each thread of its workers."""

    def __init__(self, distributed: Any, client: Any, messages: Mapping[str, str]) -> None:
        self._client, self._killed = client, distributed.KilledWorker
        self._waiting = deque(messages.items())
        self._completed = distributed.as_completed(loop=client.loop, raise_errors=False)
        # By the name that the scheduler has for them.
        self._futures: dict[str, Any] = {}
        self._keys: dict[str, Sequence[str]] = {}
        self._seconds: deque[float] = deque(maxlen=LAST_ONES)
        self._slots, self._looked = 0, -LOOK_EVERY

    def iterate_outcomes(self) -> Iterator[tuple[str, str]]:
        """As they become known; raises where the scheduler is lost."""
        while self._waiting or self._futures:
            self._submit()
            future = next(self._completed)
            keys = self._keys.pop(future.key)
            del self._futures[future.key]
            yield from zip(keys, self._take_answers(future, keys), strict=True)

    def cancel(self) -> None:
        """Has the scheduler forget what nobody waits for."""
        with suppress(Exception):  # of a scheduler that was lost
            self._client.cancel(list(self._futures.values()))

    def _submit(self) -> None:
        try:
            while self._waiting and len(self._futures) < self._count_slots():
                size = min(self._choose_size(), len(self._waiting))
                batch = [self._waiting.popleft() for _ in range(size)]
                keys, messages = [key for key, _ in batch], [message for _, message in batch]
                future = self._client.submit(perform_in_process, messages, key=_name_batch(messages))
                self._futures[future.key], self._keys[future.key] = future, keys
                self._completed.add(future)
        except (OSError, TimeoutError, RuntimeError) as problem:
            raise SchedulerLost from problem

    def _count_slots(self) -> int:
        """Batches that may be under way; workers come and go."""
        if time.monotonic() - self._looked >= LOOK_EVERY:
            self._looked = time.monotonic()
            threads = sum(self._client.nthreads().values())
            if not threads and not self._slots:
                log.warning("the scheduler has no workers yet; waiting for some")
            self._slots = max(1, AHEAD * threads)
        return self._slots

    def _choose_size(self) -> int:
        slowest = max(self._seconds, default=BATCH_SECONDS)
        return max(1, min(MOST_TOGETHER, int(BATCH_SECONDS / max(slowest, 1e-4))))

    def _take_answers(self, future: Any, keys: Sequence[str]) -> list[str]:
        if future.status == "finished":
            answers = self._fetch_answers(future)
            self._seconds.extend(json.loads(text)["seconds"] for text in answers)
            return answers
        if future.status != "error":
            raise SchedulerLost
        problem = future.exception()
        if isinstance(problem, self._killed):
            return [_describe_killed(key) for key in keys]
        raise EnvironmentProblem(
            f"the workers of the cluster cannot compute: {type(problem).__name__}: {shown(problem)}",
            do="install the same version of edgewright where they run",
        )

    def _fetch_answers(self, future: Any) -> list[str]:
        """The answers of a batch; the scheduler may be lost between the news of them and the answers."""
        try:
            answers: list[str] = future.result()
        except (OSError, TimeoutError, RuntimeError) as problem:
            raise SchedulerLost from problem
        return answers


def _name_batch(messages: Sequence[str]) -> str:
    """The same for the same tasks and store; Dask groups what it draws by the word before the dash."""
    name = json.loads(messages[0])["task"]["function"].rpartition(":")[2]
    return f"{name}-{hashlib.sha256(json.dumps(messages).encode()).hexdigest()}"


def _describe_killed(key: str) -> str:
    error = BackendCrash(
        "the workers of the cluster that had it were lost, one after the other",
        do="see their logs; the same command tries it again",
    )
    return Outcome(key, error=TaskError.of(error)).to_json().decode()
