"""A build together with its page: what `ew.build` is."""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from edgewright.api.folder_data import prepare_folder_data, take_first_sample
from edgewright.artifacts.encodings import EncodingsSource
from edgewright.build.build import build_model
from edgewright.build.dry_run import run_dry
from edgewright.build.preflight import PreflightResult
from edgewright.build.records import BuildRecord
from edgewright.build.request import BuildRequest, name_output_folder
from edgewright.build.spelled_call import spell_call
from edgewright.config.build import TIME_LIMIT, parse_duration
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import Shapes
from edgewright.core.errors import UsageError, shown
from edgewright.core.page import Block, Displayed
from edgewright.data.labels import GivenLabels
from edgewright.data.open_samples import Data
from edgewright.data.samples import DataRequest
from edgewright.evaluate.metrics.own_function import OwnFunction, keep_own_function
from edgewright.frontends.huggingface import is_huggingface_folder, load_huggingface_model
from edgewright.frontends.live_models import name_live_model, write_live_model
from edgewright.lower.names import sanitize_name
from edgewright.model.model import Model
from edgewright.model.open_model import take_example
from edgewright.reports.build import make_page
from edgewright.reports.html import render_report
from edgewright.reports.progress import draw_in_notebook


def build(  # noqa: PLR0913 - every one is a choice of its own, and all but two are given by name
    model: str | Path | Any,
    data: Data | None,
    *,
    target: str,
    output: str | Path | None = None,
    precision: str = "auto",
    prefer: str = "cheapest",
    max_drop: float | None = None,
    metric: str | OwnFunction | Mapping[str, str | OwnFunction] = "auto",
    labels: GivenLabels | None = None,
    eval_data: Data | None = None,
    calibration_samples: int = 100,
    evaluation_samples: int = 1000,
    preprocessing: Preprocessing | None = None,
    sample_rate: int | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    symbols: Mapping[str, int] | None = None,
    input_values: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
    overrides: EncodingsSource | None = None,
    resume: bool = False,
    time_limit: float | str | None = TIME_LIMIT,
    example_inputs: Any = None,
) -> BuildRecord:
    """Brings a model to a chip: converts, quantizes, compiles, evaluates, and writes files and a report.

    Args:
        model: a model of any format that is read, a converted one, or a model in memory, as for ``convert``.
        data: samples, in any form that ``quantize`` takes, or a folder of .wav files; None for random
            numbers, which say nothing about accuracy.
        target: the chip: SM8650, 'Snapdragon 8 Gen 3', v75, a SoC number, or a device such as 'Galaxy S24'.
        output: the folder to write; ``MODEL_CHIP`` in the current folder where none is given.
        precision: w8a8, w8a16, w4a8, w4a16, fp16, or auto: the cheapest that loses at most ``max_drop``.
        prefer: with auto, ``"fastest"`` takes the precision that is estimated fastest on the chip instead.
        max_drop: points of the metric that may be lost; ``verdict`` of the record says whether that is
            proven, not proven or missed.
        metric: a name, as ``edgewright build --help`` lists them, or a function of (output, the float model's
            output, label) that returns 1 for a perfect output; a dictionary gives each output its own.
        labels: the right answer of each sample: a file, numbers of classes, arrays or texts.
        eval_data: samples to evaluate on; otherwise some of ``data`` are held out.
        calibration_samples: how many samples calibrate at most.
        evaluation_samples: how many samples evaluate at most.
        preprocessing: how images are preprocessed.
        sample_rate: the rate that sound is resampled to, in Hz.
        input_shapes: shapes for inputs whose dimensions are symbolic, or other shapes than the declared ones.
        symbols: numbers for symbolic dimensions by their names.
        input_values: inputs that become constants, such as the sample rate of a voice detector.
        outputs: values of the graph that become the outputs, in place of the model's own.
        overrides: an encodings file of any version, or its content.
        resume: continue an interrupted build of the same model, data and options.
        time_limit: what it may take: seconds, or a text as '10m' or '1h'; None for no limit. The best result
            until then is kept, and ``left_out`` says what is missing.
        example_inputs: of a torch module in memory; the first sample of ``data`` where none are given.
    """
    folder = Path(output or name_output_folder(_name_model(model), str(target)))
    request = BuildRequest(
        Path(model) if isinstance(model, str | Path) else Path(),
        str(target),
        folder,
        DataRequest(
            *(data, eval_data, labels, calibration_samples, evaluation_samples),
            preprocessing or Preprocessing(),
            sample_rate,
        ),
        precision=precision,
        prefer=prefer,
        max_drop=max_drop,
        metric=_name_metric(metric),
        shapes=_read_shapes(input_shapes or {}, symbols or {}, input_values or {}),
        outputs=tuple(outputs),
        overrides=overrides,
        is_resumed=resume,
        time_limit=_read_time_limit(time_limit),
        command="edgewright.build",
        rebuild=spell_call("build", build, {**locals(), "output": folder}),
    )
    return _build_any(model, request, example_inputs)


def _build_any(model: Any, request: BuildRequest, example_inputs: Any) -> "DisplayedBuild":
    if isinstance(model, str | Path) and example_inputs is None:
        return run_build(request)
    if is_huggingface_folder(model):
        model, example_inputs = load_huggingface_model(Path(model), example_inputs)
    elif isinstance(model, str | Path):
        raise UsageError("example_inputs are for models in memory, a file has its own", do="leave them out")
    examples = take_example(request.data.data) if example_inputs is None else example_inputs
    return _build_live(model, request, examples)


def _name_model(model: Any) -> str:
    if isinstance(model, Model):
        return sanitize_name(model.fixed_graph().name or "model")
    return Path(model).stem if isinstance(model, str | Path) else name_live_model(model)


def _read_shapes(
    inputs: Mapping[str, Sequence[int]], symbols: Mapping[str, int], values: Mapping[str, Any]
) -> Shapes:
    return Shapes(
        input_dims=tuple((name, tuple(dims)) for name, dims in inputs.items()),
        define_symbols=tuple(symbols.items()),
        input_values=tuple((name, _list_numbers(name, value)) for name, value in values.items()),
    )


def _list_numbers(name: str, value: Any) -> tuple[float, ...]:
    """The numbers of a constant, as the command line has them."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise UsageError(f"input_values has {shown(repr(value), 60)} for '{shown(name)}', expected numbers")
    return tuple(array.reshape(-1).tolist())


def _read_time_limit(time_limit: float | str | None) -> float:
    if not isinstance(time_limit, str):
        return math.inf if time_limit is None else float(time_limit)
    try:
        return parse_duration(time_limit)
    except ValueError as problem:
        raise UsageError(f"time_limit is '{shown(time_limit)}', {problem}") from problem


def _name_metric(metric: str | OwnFunction | Mapping[str, str | OwnFunction]) -> str:
    """As the command line spells it; functions are kept by a name of their own."""
    if isinstance(metric, Mapping):
        return ",".join(f"{output}={_name_metric(each)}" for output, each in metric.items())
    return keep_own_function(metric) if callable(metric) else metric


def _build_live(model: Any, request: BuildRequest, examples: Any) -> "DisplayedBuild":
    with _write_live(model, request, examples) as written:
        return run_build(written)


@contextmanager
def _write_live(model: Any, request: BuildRequest, examples: Any) -> Iterator[BuildRequest]:
    """A request for a model of this process: its file is there as long as the block runs."""
    with TemporaryDirectory(prefix="edgewright-", ignore_cleanup_errors=True) as folder:
        if isinstance(model, Model):
            yield replace(request, model=model.save(Path(folder, f"{_name_model(model)}.dlc")).dlc)
            return
        written = write_live_model(model, Path(folder), examples)
        given = dict(request.shapes.input_dims)
        shapes = replace(request.shapes, input_dims=tuple({**written.shapes, **given}.items()))
        yield replace(request, model=written.path, shapes=shapes, input_dtypes=written.dtypes)


@contextmanager
def _open_folder(request: BuildRequest) -> Iterator[BuildRequest]:
    """The request itself; for a Hugging Face folder one for the exported model, with texts as tokens."""
    if not is_huggingface_folder(request.model):
        yield request
        return
    data = prepare_folder_data(request.model, request.data)
    module, examples = load_huggingface_model(request.model, take_first_sample(data.data))
    with _write_live(module, replace(request, data=data), examples) as written:
        yield written


def run_build(request: BuildRequest) -> "DisplayedBuild":
    """Builds what is requested and writes the report as the last file."""
    with _open_folder(request) as opened, draw_in_notebook():
        record = build_model(opened, render_report)
    return DisplayedBuild(**{item.name: getattr(record, item.name) for item in fields(record)})


def run_dry_build(request: BuildRequest) -> PreflightResult:
    """What stands in the way of a build; nothing is written."""
    with _open_folder(request) as opened:
        return run_dry(opened)


@dataclass(frozen=True, repr=False)
class DisplayedBuild(Displayed, BuildRecord):
    """A build that shows its verdict in a terminal and the whole report in a notebook."""

    def _list_blocks(self) -> list[Block]:
        return make_page(self)

    def _repr_html_(self) -> str:
        # In a frame of its own: neither page's styles and scripts reach the other.
        page = html.escape(b"".join(render_report(self)).decode())
        style = "width:100%;height:720px;border:1px solid #ccc"
        return f'<iframe title="report of the build" style="{style}" srcdoc="{page}"></iframe>'
