"""Quantized digit classifiers of other frameworks: right answers there, here, and on the emulator.

``.venv-peers/bin/python -m benchmarks.digits_frameworks``: `make peers` installs LiteRT and TensorFlow.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import edgewright as ew
from benchmarks.data import Material
from benchmarks.frontends import choose_loader
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option

__all__ = ["main"]

NAMES = ("mnist_dscnn_int8.tflite", "mnist_cnn_qat.tflite", "mnist_cnn_fakequant_frozen.pb")
EVERY, ON_EMULATOR = 10_000, 1000
COLUMNS = (
    *("model", "its own framework, %", "CPU, %", "simulation, %"),
    *(f"first {ON_EMULATOR}: own framework, %", "emulator, %", "simulation answers as the emulator"),
)

Feed = dict[str, Any]


def main() -> None:
    """Prints a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    table = Table("digits-frameworks", COLUMNS, options, ("tensorflow", "ai-edge-litert"))
    for name in (name for name in NAMES if options.filter in name):
        path = next(folder / name for folder in (EXAMPLES, FETCHED) if (folder / name).exists())
        table.add(name, *_measure(path))
    table.finish()


def _measure(path: Path) -> list[str]:
    material = Material(())
    labels = np.array(material.labels(EVERY))
    source = ew.convert(path)
    # TFLite files hold integers; a graph with FakeQuant is quantized by the ranges that it brings along.
    model = ew.quantize(source) if path.suffix == ".pb" else source
    given, names = source.inputs[0].name, [item.name for item in source.outputs]
    feeds = [{given: digit.reshape(1, 28, 28, 1) / 255} for digit in material.digits(EVERY)]
    _, run = choose_loader(path)(path, names, feeds[0])
    own, cpu = _answer(run, feeds), _answer(lambda feed: model.run(feed, threads=1), feeds)
    simulated = _answer(lambda feed: model.run(feed, backend="htp-sim", threads=1), feeds)
    first = labels[:ON_EMULATOR]
    emulated = _answer(lambda feed: model.run(feed, backend="htp-native"), feeds[:ON_EMULATOR])
    rights = [_count_right(answers, labels) for answers in (own, cpu, simulated)]
    parts = [_count_right(answers, first) for answers in (own[:ON_EMULATOR], emulated)]
    same = int((simulated[:ON_EMULATOR] == emulated).sum())
    return [*rights, *parts, f"{same} of {len(first)}"]


def _answer(run: Callable[[Feed], dict[str, Any]], feeds: Sequence[Feed]) -> Any:
    return np.array([int(next(iter(run(feed).values())).argmax()) for feed in feeds])


def _count_right(answers: Any, labels: Any) -> str:
    return f"{100 * float(np.mean(answers == labels)):.2f}"


if __name__ == "__main__":
    main()
