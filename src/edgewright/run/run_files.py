"""Runs a model of any format on files, and compares it with its source in its own engine."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np

from edgewright.backends.registry import choose_engine
from edgewright.config.net_run import ENGINES
from edgewright.config.umbrella import Comparison, ModelFile, RunInputs, RunOutputs, Shapes
from edgewright.core.errors import UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import write_folder
from edgewright.core.numbers import Array
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest
from edgewright.frontends.framework import Framework, framework_of
from edgewright.lower.names import NameTable
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model, load
from edgewright.model.run_inputs import Feed, InputSet, open_input_sets
from edgewright.model.saving import is_stored
from edgewright.model.select_backend import select_backend
from edgewright.run.compare import TensorError, keep_worst_errors
from edgewright.run.engines.litert_engine import LitertRun
from edgewright.run.engines.onnx_engine import OnnxRun
from edgewright.run.engines.source_engine import SourceRun
from edgewright.run.engines.tensorflow_engine import TensorflowRun
from edgewright.run.engines.torch_engine import TorchRun
from edgewright.run.remote.address import parse_address
from edgewright.run.remote.model_run import open_context_model, run_on_device


@dataclass(frozen=True)
class OutputSummary:
    """One output over all runs."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    least: float
    most: float
    mean: float


@dataclass(frozen=True)
class RunReport:
    """What was run, its outputs, and how far they are from the source, if requested."""

    model: str
    runs: int
    seconds: float
    outputs: tuple[OutputSummary, ...]
    folder: str = ""
    reference: str = ""
    tolerance: float = 0.0
    errors: tuple[TensorError, ...] = ()
    backend: str = "cpu"
    notes: tuple[str, ...] = ()

    @property
    def is_close(self) -> bool:
        """Whether every output is within the tolerance."""
        return all(error.is_close for error in self.errors)


def open_model(model: ModelFile, shapes: Shapes) -> Model:
    """A model from a source file, a net.json or a DLC."""
    if is_stored(model.model):
        if shapes.given():
            raise UsageError(
                f"{' and '.join(shapes.given())} are for source models, "
                f"'{shown(model.model)}' has fixed shapes",
                do="leave them out, or convert the source again",
            )
        return load(model.model)
    return convert_in_memory(ConversionRequest(model.model, InputSpec.from_options(shapes)))


def run_files(
    file: ModelFile, shapes: Shapes, inputs: RunInputs, outputs: RunOutputs, comparison: Comparison
) -> RunReport:
    """Runs every set of inputs; results are written and compared as they come."""
    is_context = outputs.device is not None and file.model.endswith(".bin")
    model = open_context_model(file.model) if is_context else open_model(file, shapes)
    known = {name: np.asarray(values) for name, values in shapes.input_values}
    source = None if comparison.compare is None else comparison.compare or file.model
    reference = None if source is None else _open_reference(source, model, known)
    sets = open_input_sets(model, inputs)
    summaries: dict[str, OutputSummary] = {}
    errors: list[TensorError] = []
    seconds = 0.0
    opened = _open_here if outputs.device is None else _open_on_device
    with opened(model, file.model, sets, outputs) as place, announce_progress("running", len(sets)) as step:
        for number, chosen in enumerate(sets):
            feed = chosen.feed()
            results, taken = place.execute(number, feed)
            seconds += taken
            _summarise(summaries, results, number)
            if outputs.output_dir is not None:
                _write(Path(outputs.output_dir, f"Result_{number}"), results)
            if reference is not None:
                errors = keep_worst_errors(
                    [
                        *errors,
                        *reference.measure_errors({**known, **feed}, results, comparison.tolerance),
                    ]
                )
            step()
    report = RunReport(
        *(file.model, len(sets), seconds, tuple(summaries.values()), outputs.output_dir or ""),
        backend=place.backend,
        notes=place.notes,
    )
    if reference is None:
        return report
    return replace(report, reference=reference.name, tolerance=comparison.tolerance, errors=tuple(errors))


@dataclass(frozen=True)
class _Place:
    """What runs a model: the number and the arrays of a set in, its results and its seconds out."""

    execute: Callable[[int, Feed], tuple[dict[str, Array], float]]
    backend: str
    notes: tuple[str, ...] = ()


@contextmanager
def _open_here(model: Model, _: str, sets: Sequence[InputSet], outputs: RunOutputs) -> Iterator[_Place]:
    asked = choose_engine(outputs.backend, outputs.engine)
    backend, notes = _choose_backend(model, sets[0], asked)

    def execute(_number: int, feed: Feed) -> tuple[dict[str, Array], float]:
        started = time.perf_counter()
        results = model.run(feed, backend=backend, threads=outputs.threads)
        return results, time.perf_counter() - started

    yield _Place(execute, backend, notes)


@contextmanager
def _open_on_device(
    model: Model, file: str, sets: Sequence[InputSet], outputs: RunOutputs
) -> Iterator[_Place]:
    """The device runs all sets at once; they are read one by one."""
    address = parse_address(str(outputs.device))
    if outputs.backend == "auto":
        raise UsageError("backend auto measures this machine", do="name the backend of the device")
    if outputs.engine != ENGINES[0]:
        raise UsageError("--engine is for this machine", do="leave it out")
    with run_on_device(model, file, sets, outputs.backend, address) as run:
        notes = [f"run by {run.program}, set up in {run.times.init / 1e3:.1f} ms"]
        if outputs.threads:
            notes.append("--threads has no effect on a device")
        average = run.times.total / max(run.times.measured, 1) / 1e6
        yield _Place(
            lambda number, _: (run.read(number), average), f"{outputs.backend} of {address}", tuple(notes)
        )


def _choose_backend(model: Model, first: InputSet, asked: str) -> tuple[str, tuple[str, ...]]:
    if asked != "auto":
        return asked, ()
    choice = select_backend(model, inputs=first.feed())
    return choice.backend, tuple(f"backend {choice.backend}: {reason}" for reason in choice.reasons)


def _open_reference(file: str, model: Model, known: Mapping[str, Array]) -> SourceRun:
    """The source in its own engine, which its content determines."""
    if is_stored(file):
        raise UsageError(
            f"'{shown(file)}' cannot be compared with itself", do="name its source: --compare model.onnx"
        )
    framework = framework_of(file)
    if framework is Framework.PYTORCH:
        return TorchRun(file, model, known)
    if framework is Framework.TENSORFLOW:
        return TensorflowRun(file, model)
    return LitertRun(file, model) if framework is Framework.TFLITE else OnnxRun(file, model)


def _summarise(summaries: dict[str, OutputSummary], results: Mapping[str, Array], number: int) -> None:
    for name, array in results.items():
        now = _make_summary(name, array)
        before = summaries.get(name)
        if before is not None:
            now = replace(
                now,
                least=min(before.least, now.least),
                most=max(before.most, now.most),
                mean=before.mean + (now.mean - before.mean) / (number + 1),
            )
        summaries[name] = now


def _make_summary(name: str, array: Array) -> OutputSummary:
    is_number = array.size > 0 and array.dtype.kind not in "OUSc"
    values = array.astype(np.float64) if is_number else np.zeros(1)
    return OutputSummary(
        name, str(array.dtype), array.shape, float(values.min()), float(values.max()), float(values.mean())
    )


def _write(folder: Path, results: Mapping[str, Array]) -> None:
    table = NameTable(results)
    files = {}
    for name, array in results.items():
        buffer = BytesIO()
        np.save(buffer, array, allow_pickle=False)
        files[f"{table(name)}.npy"] = [buffer.getvalue()]
    write_folder(folder, files)
