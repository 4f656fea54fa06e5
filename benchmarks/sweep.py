"""What the engine of sweeps costs, and how it scales: python -m benchmarks.sweep --help.

Times of the wall depend on what else the machine does, so the load is printed; costs are CPU time of all
processes that take part.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import edgewright as ew
from benchmarks.models import EXAMPLES
from benchmarks.sweep_tasks import compute_for_a_while, do_nothing, wait_for_a_while
from edgewright.tasks.engine import Engine, open_engine
from edgewright.tasks.outcome import Outcome
from edgewright.tasks.task import make_task

__all__ = ["measure_cost", "measure_scaling"]

PLACES = {"processes": {"workers": 2}, "Dask": {"cluster": "local:2"}}
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Scaling:
    """Tasks by one worker and by two: seconds of the wall, and of the processor in the tasks themselves."""

    one: float
    two: float
    busy_one: float
    busy_two: float
    # CPU seconds of all processes, the engine's among them, with two workers.
    used_two: float

    @property
    def efficiency(self) -> float:
        """1 where two workers need half the time of one."""
        return self.one / self.two / 2

    @property
    def most(self) -> float:
        """The efficiency that CPU time leaves on two cores, however busy they are with other things."""
        return self.busy_two / self.used_two


def measure_cost(place: dict[str, Any], count: int) -> float:
    """CPU milliseconds of all processes for each of so many tasks that do nothing."""
    with _open(place) as engine:
        # The first ones start processes and import modules, however many tasks follow.
        engine.compute_all([make_task(do_nothing, number=-1 - number) for number in range(20)])
        before = _sum_processor_time()
        outcomes = engine.compute_all([make_task(do_nothing, number=number) for number in range(count)])
        cost = (_sum_processor_time() - before) / count * 1e3
    assert [outcome.check() for outcome in outcomes] == list(range(count))
    return cost


def measure_scaling(kind: str, count: int, repeats: int, *, is_waiting: bool) -> Scaling:
    """The same tasks by one worker and by two, in turns; the quickest of each.

    Args:
        kind: who computes.
        count: how many tasks.
        repeats: how often.
        is_waiting: tasks wait in place of computing: what the engine costs two workers that have a core each,
            on a machine that is too busy to give them one.
    """
    walls: dict[int, list[float]] = {1: [], 2: []}
    busy: dict[int, list[float]] = {1: [], 2: []}
    used: dict[int, list[float]] = {1: [], 2: []}
    for repeat in range(repeats):
        for workers in (1, 2):
            place = {"workers": workers} if kind == "processes" else {"cluster": f"local:{workers}"}
            with _open(place) as engine:
                _compute(engine, [10**6 + number for number in range(2 * workers)], is_waiting=is_waiting)
                start, before = time.monotonic(), _sum_processor_time()
                numbers = [repeat * count + number for number in range(count)]
                outcomes = _compute(engine, numbers, is_waiting=is_waiting)
                walls[workers].append(time.monotonic() - start)
                used[workers].append(_sum_processor_time() - before)
            busy[workers].append(sum(outcome.check()["processor_seconds"] for outcome in outcomes))
    return Scaling(min(walls[1]), min(walls[2]), min(busy[1]), min(busy[2]), min(used[2]))


def _compute(engine: Engine, numbers: Sequence[int], *, is_waiting: bool) -> list[Outcome]:
    if is_waiting:
        return engine.compute_all([make_task(wait_for_a_while, number=x, seconds=0.5) for x in numbers])
    return engine.compute_all([make_task(compute_for_a_while, number=x, rounds=1500) for x in numbers])


@contextmanager
def _open(place: dict[str, Any]) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory() as folder, open_engine(folder, **place) as engine:
        yield engine


def _sum_processor_time() -> float:
    """Of this process and of all that it started, in seconds."""
    processes = {pid: (parent, used) for pid, parent, used in _list_processes()}

    def is_ours(pid: int) -> bool:
        while pid in processes and pid != os.getpid():
            pid = processes[pid][0]
        return pid == os.getpid()

    return sum(used for pid, (_, used) in processes.items() if is_ours(pid)) / os.sysconf("SC_CLK_TCK")


def _list_processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and ticks of every process, also of those of its children that have ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        yield int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15]))


def measure_builds() -> list[float]:
    """Seconds of the wall of builds in a sweep, one at a time."""
    with tempfile.TemporaryDirectory() as folder:
        record = ew.sweep(
            EXAMPLES / "mnist_cntk.onnx",
            EXAMPLES.parent / "data" / "digits.npz",
            targets=["SM8650"],
            precisions=["w8a8", "w8a16", "fp16", "auto"],
            output=folder,
            workers=1,
        )
    return [row.seconds or 0.0 for row in record.rows]


def main() -> None:
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("cost", "scaling", "waiting", "builds"))
    parser.add_argument("--place", choices=tuple(PLACES), action="append")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    # Workers import the module beside this one.
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for kind in options.place or PLACES:
        if options.only in {None, "cost"}:
            cost = measure_cost(PLACES[kind], options.tasks)
            print(f"{kind}: {cost:.2f} ms of CPU time for each of {options.tasks} small tasks", flush=True)
        for is_waiting in [
            word == "waiting" for word in ("scaling", "waiting") if options.only in {None, word}
        ]:
            scaling = measure_scaling(kind, 24, options.repeats, is_waiting=is_waiting)
            print(
                f"{kind}: {scaling.one:.1f} s by one worker, {scaling.two:.1f} s by two: efficiency "
                f"{scaling.efficiency:.2f} of tasks that {'wait' if is_waiting else 'compute'}; their time "
                f"{scaling.busy_one:.1f} and {scaling.busy_two:.1f} s"
                + ("" if is_waiting else f", {scaling.most:.2f} of all CPU time")
                + f"; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    if options.only in {None, "builds"}:
        seconds = measure_builds()
        each = ", ".join(f"{number:.1f}" for number in seconds)
        print(f"a build of the digit classifier: {median(seconds):.1f} s ({each})")


if __name__ == "__main__":
    main()
