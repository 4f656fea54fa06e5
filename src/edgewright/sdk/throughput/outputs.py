"""What happens to the outputs of a thread: compared with a ground truth, saved or dropped."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from edgewright.config.throughput_case import CaseThread
from edgewright.core.errors import ShapeMismatch, TypeMismatch, Where
from edgewright.core.files import check_target
from edgewright.core.numbers import Array
from edgewright.data.tensor_files import convert_to_file_type
from edgewright.ir.graph import Graph
from edgewright.run.run_results import ResultFolder
from edgewright.sdk.throughput.inputs import Feed, read_ground_truth
from edgewright.sdk.throughput.records import OutputError

Values = Mapping[str, Array]
_WIDTHS = {"MSE_INT8": 1, "MSE_INT16": 2}


class Comparison:
    """Mean squared errors against a ground truth: of real numbers, or of stored integers of a given width."""

    def __init__(self, graph: Graph, post_processor: str, list_file: str) -> None:
        self._graph = graph
        width = _WIDTHS.get(post_processor)
        self._is_native = width is not None
        if width is not None:
            _check_width(graph, post_processor, width)
        self._truth: Feed = read_ground_truth(graph, list_file, is_native=self._is_native)
        self._sums = dict.fromkeys(graph.outputs, 0.0)
        self._worst = dict.fromkeys(graph.outputs, 0.0)
        self._count = 0

    def add(self, number: int, values: Values) -> None:
        """Compares the outputs of one execution."""
        truth = self._truth(number)
        for name in self._graph.outputs:
            error = self._measure_error(name, values[name], truth[name])
            self._sums[name] += error
            self._worst[name] = max(self._worst[name], error)
        self._count += 1

    def errors(self) -> tuple[OutputError, ...]:
        """The errors so far."""
        count = max(self._count, 1)
        return tuple(OutputError(n, s / count, self._worst[n], self._count) for n, s in self._sums.items())

    def _measure_error(self, name: str, output: Array, truth: Array) -> float:
        if output.size != truth.size:
            raise ShapeMismatch(
                f"the ground truth has {truth.size} elements, the output {output.size}", Where(tensor=name)
            )
        both = [
            convert_to_file_type(a, self._graph.types[name], is_native=self._is_native)
            for a in (output, truth)
        ]
        difference = both[0].astype(np.float64).reshape(-1) - both[1].astype(np.float64).reshape(-1)
        return float(np.mean(difference * difference)) if difference.size else 0.0


class Saving:
    """Writes the outputs of all executions, or of the last one when the thread is done."""

    def __init__(self, thread: CaseThread, graph: Graph, folder: Path) -> None:
        self._is_all = thread.model.save == "NATIVE_ALL"
        self.folder = folder
        # Checked now, not at the end of a test that takes hours.
        check_target(self.folder / "Result_0" / "output.raw")
        self._results = ResultFolder(self.folder, graph, graph.outputs, thread.model.forms)
        self._last: tuple[int, Values] | None = None
        self.saved = 0

    def add(self, number: int, values: Values) -> None:
        """Writes the outputs of one execution, or holds them back."""
        if self._is_all:
            self._write(number, values)
        else:
            self._last = number, values

    def finish(self) -> None:
        """Writes the outputs that were held back."""
        if self._last is not None:
            self._write(*self._last)
            self._last = None

    def _write(self, number: int, values: Values) -> None:
        self._results.write(number, values)
        self.saved += 1


def _check_width(graph: Graph, post_processor: str, width: int) -> None:
    for name in graph.outputs:
        dtype = graph.types[name].dtype
        if dtype.numpy.itemsize != width or dtype.is_float:
            raise TypeMismatch(
                f"postProcessor {post_processor} compares integers of {width * 8} bits, the output is "
                f"{dtype.name.lower()}",
                Where(tensor=name),
                do="use MSE, which compares real numbers",
            )
