"""Trained models with their data, where a folder has them: those of the accuracy benchmark."""

from pathlib import Path

from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from edgewright.core.numbers import Array
from tests.conformance.network import Network


def list_trained_networks(models: list[Path], data: list[Path]) -> list[Network]:
    """A network for each model that one of the folders holds."""
    found = ((task, task.find(models)) for task in TASKS)
    return [_describe(task, path, tuple(data)) for task, path in found if path is not None]


def _describe(task: Task, path: Path, folders: tuple[Path, ...]) -> Network:
    def draw_samples(calibrating: int, others: int) -> list[tuple[Array, ...]]:
        counts = ((calibrating, True), (others, False))
        return [
            tuple(feed[name] for name in names)
            for count, is_calibrating in counts
            for feed in task.feeds(Material(folders, is_calibrating), count, task, path)
        ]

    first = next(iter(task.feeds(Material(folders, is_calibrating=True), 1, task, path)))
    model = prepared(task, path, first)
    names = [item.name for item in model.graph.input]
    return Network(task.name, "trained", lambda: model, draw_samples)
