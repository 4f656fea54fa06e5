"""Compares the outputs of schemas with those of the reference, one input at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.analyse.comparators.boxes import (
    BoxOutputs,
    check_box_outputs,
    compare_boxes,
    read_box_outputs,
)
from edgewright.analyse.comparators.comparator import Comparator, find_comparator
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.ir.contract import shape_of
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.sdk.evaluator.records import OutputMatch

BOXES, PIXELS = "box", "pixelbypixel"
# Shapes of outputs by the names of their files; None where a dimension is open.
Shapes = Mapping[str, tuple[int, ...] | None]
# Draws an output beside its reference: a PNG file.
Draw = Callable[[Array, Array], bytes]


@dataclass(frozen=True)
class Comparison:
    """How outputs are compared."""

    comparator: Comparator
    shapes: Shapes
    # How many of the worst inputs are listed.
    fetch_top: int = 1
    boxes: BoxOutputs | None = None
    draw: Draw | None = None

    def describe(self) -> dict[str, Any]:
        """What a record says of it."""
        comparator = self.comparator
        return {
            "comparator": comparator.name,
            "heading": comparator.heading,
            "unit": comparator.unit or ("%" if comparator.is_percent else ""),
            "is_higher_better": comparator.is_higher_better,
        }

    def compare_folders(self, reference: Path, folder: Path, count: int) -> tuple[OutputMatch, ...]:
        """The results of a schema against those of the reference."""
        figures: dict[str, list[float]] = {}
        for number in range(count):
            golden, target = (
                read_results(home / f"Result_{number}", self.shapes) for home in (reference, folder)
            )
            for name, figure in self._compare_run(golden, target).items():
                figures.setdefault(name, []).append(figure)
        return tuple(self._summarise(name, values) for name, values in figures.items())

    def draw_differences(self, reference: Path, folder: Path, count: int) -> list[Path]:
        """A picture of each output for each input, beside its results; none unless they are asked for."""
        if self.draw is None:
            return []
        files = []
        for number in range(count):
            golden, target = (
                read_results(home / f"Result_{number}", self.shapes) for home in (reference, folder)
            )
            for name in self.shapes:
                file = folder / f"Result_{number}" / f"{name}_{PIXELS}.png"
                file.write_bytes(self.draw(golden[name], target[name]))
                files.append(file)
        return files

    def _compare_run(self, golden: Mapping[str, Array], target: Mapping[str, Array]) -> dict[str, float]:
        if self.boxes is not None:
            figure = compare_boxes(self.comparator, self.boxes, golden, target)
            return {self.boxes.boxes: figure}
        return {name: self.comparator.compare(golden[name], target[name]) for name in self.shapes}

    def _summarise(self, name: str, figures: Sequence[float]) -> OutputMatch:
        sign = 1 if self.comparator.is_higher_better else -1
        order = sorted(range(len(figures)), key=lambda number: (sign * figures[number], number))
        worst = tuple((number, figures[number]) for number in order[: self.fetch_top])
        return OutputMatch(name, float(np.mean(figures)), worst)


def make_comparison(
    name: str,
    tolerance: float | None,
    graph: Graph,
    *,
    fetch_top: int = 1,
    box_input: str | None = None,
    draw: Draw | None = None,
) -> Comparison:
    """The comparison that options or a configuration ask for.

    Args:
        name: of the comparator.
        tolerance: of the comparator.
        graph: the converted model, whose outputs are compared.
        fetch_top: how many of the worst inputs are listed.
        box_input: a file that names the outputs of a detector.
        draw: makes the pictures of pixelbypixel.
    """
    comparator = check_comparator(name, tolerance, box_input)
    spell = NameTable(graph.outputs)
    shapes = {spell(output): _read_shape(graph, output) for output in graph.outputs}
    boxes = None
    if box_input is not None:
        boxes = read_box_outputs(box_input)
        check_box_outputs(boxes, shapes, box_input)
    return Comparison(comparator, shapes, fetch_top, boxes, draw if name == PIXELS else None)


def check_comparator(name: str, tolerance: float | None, box_input: str | None) -> Comparator:
    """The comparator of a name; the file of boxes belongs to `box`, which needs it."""
    comparator = find_comparator(name, tolerance)
    if name == BOXES and box_input is None:
        raise UsageError(
            "comparator 'box' needs '-box_input', which was not given",
            do='add -box_input FILE: {"box": "Result_0/boxes.raw", "class": "Result_0/classes.raw", '
            '"score": "Result_0/scores.raw"}',
        )
    if name != BOXES and box_input is not None:
        raise UsageError(f"-box_input is for the comparator 'box', this one is '{name}'", do="leave it out")
    return comparator


def read_results(folder: Path, shapes: Shapes) -> dict[str, Array]:
    """The outputs of one run, in their shapes where those are known."""
    return {name: _read_output(folder / f"{name}.raw", shape) for name, shape in shapes.items()}


def _read_output(file: Path, shape: tuple[int, ...] | None) -> Array:
    if not file.is_file():
        raise BadInput(
            f"there is no output '{shown(file.stem)}' in '{shown(file.parent.name)}'", Where(file=str(file))
        )
    size = measure_file(file)
    if size % 4:
        raise ShapeMismatch(f"the file has {size} bytes, expected float32 values", Where(file=str(file)))
    array: Array = np.fromfile(file, np.float32)
    return array if shape is None or prod(shape) != array.size else array.reshape(shape)


def _read_shape(graph: Graph, name: str) -> tuple[int, ...] | None:
    shape = shape_of(graph.types[name])
    numbers = tuple(dim for dim in shape if isinstance(dim, int))
    return numbers if len(numbers) == len(shape) else None
