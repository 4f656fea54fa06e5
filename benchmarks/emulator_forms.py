"""Trained models in 16 bits and in half precision: simulation, float model and genuine emulator.

``python -m benchmarks.emulator_forms``: every model at our defaults, on inputs that did not calibrate. Of
several outputs the one whose simulation is furthest from the emulator counts.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.distances import COLUMNS, FORMS, LIMITS_DB, Distance, measure_gap
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option

__all__ = ["measure"]

CALIBRATING, EVALUATING = 16, 2


def measure(task: Task, path: Path, folders: tuple[Path, ...], forms: list[str]) -> Iterator[Distance]:
    """One model in several number forms; what the library refuses is left out."""
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    feeds = list(task.feeds(Material(folders), EVALUATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, feeds[0]), model)
        source = ew.convert(model)
        real = [source.run(feed) for feed in feeds]
        names = [name for name in real[0] if real[0][name].dtype == np.float32]
        for form in forms:
            fixed = ew.quantize(source, None if form == "fp16" else calibrating, **FORMS[form])
            simulated = [fixed.run(feed, backend="htp-sim", threads=1) for feed in feeds]
            try:
                emulated = [fixed.run(feed, backend="htp-native") for feed in feeds]
            except ew.EdgewrightError as problem:
                print(f"{task.name} {form}: left out, {problem.what.splitlines()[0]}", flush=True)
                continue
            stacks = [{name: _join(runs, name) for name in names} for runs in (emulated, simulated, real)]
            gaps = [[measure_gap(stacks[0][name], other[name]) for name in names] for other in stacks[1:]]
            yield Distance(task.name, form, *min(zip(*gaps, strict=True)))


def _join(runs: list[dict[str, np.ndarray]], name: str) -> np.ndarray:
    return np.concatenate([run[name].reshape(-1) for run in runs])


def main() -> None:
    """Prints rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--forms", nargs="+", default=["w8a16", "fp16"], help="number forms")
    add_write_option(parser)
    options = parser.parse_args()
    table, rows = Table("emulator-forms", ("model", *COLUMNS), options), list[Distance]()
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            for row in measure(task, path, tuple(options.data), options.forms):
                table.add(*row.list_cells())
                rows.append(row)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}", flush=True)
    table.finish(_sum_up(rows))


def _sum_up(rows: list[Distance]) -> str:
    missed = [f"{row.name} {row.form}" for row in rows if row.simulation_db < LIMITS_DB[row.form]]
    behind = [f"{row.name} {row.form}" for row in rows if row.simulation_db < row.float_db]
    nearer = ", ".join(behind) or "none"
    return (
        f"Missed: {', '.join(missed) or 'none'}; nearer to the float model than to the simulation: {nearer}."
    )


if __name__ == "__main__":
    main()
