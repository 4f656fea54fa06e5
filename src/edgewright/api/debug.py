"""Finds where a model loses accuracy: what `ew.debug` is."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.abi.libraries import find_libraries
from edgewright.analyse.aligned_names import align_names
from edgewright.analyse.backend_differences import BackendComparison, compare_backends
from edgewright.analyse.diagnosis import Diagnosis, Feeds, diagnose_model
from edgewright.analyse.framework_differences import compare_with_framework
from edgewright.artifacts.encodings import EncodingsSource, load_encodings
from edgewright.backends.base import Backend, TakesFloat
from edgewright.backends.executor import CpuExecutor
from edgewright.backends.qnn.backend import HtpNativeBackend
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.registry import find_backend
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS
from edgewright.core.errors import UsageError, shown
from edgewright.data.open_samples import Data, open_samples
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model, take_example
from edgewright.model.quantize import quantize_model
from edgewright.quantize.request import QuantizationRequest
from edgewright.reports.diagnosis_page import write_case, write_page
from edgewright.targets.soc import find_htp_soc

# Samples that are looked at, and those that go through both backends op by op.
MOST_SAMPLES, BACKEND_SAMPLES = 50, 2
CPU, FRAMEWORK = "cpu", "framework"


def debug(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: Model | str | Path | Any,
    data: Data,
    *,
    quantized: Model | str | Path | None = None,
    precision: str = "w8a8",
    act_quantizer: str = "auto",
    overrides: EncodingsSource | None = None,
    target: str | None = None,
    backends: Sequence[str] = (),
    page: str | Path | None = None,
    preprocessing: Preprocessing | None = None,
    example_inputs: Any = None,
) -> Diagnosis:
    """Finds where a quantized model loses accuracy, what is to blame, and what each remedy gains.

    Args:
        model: the float model: a converted one, or what ``convert`` takes.
        data: samples, in any form that ``quantize`` takes; up to 50 are used.
        quantized: a model that was made from it; without one it is quantized here.
        precision: w8a8, w8a16, w4a8 or w4a16, where it is quantized here.
        act_quantizer: how ranges of activations are chosen then.
        overrides: an encodings file, or its content, to quantize with.
        target: a chip, whose emulator gives figures of its own where it is installed.
        backends: two backends (cpu, htp-sim, htp-native) to compare op by op with each other, or with the
            float model cpu and gpu, or cpu and framework: the one that it comes from.
        page: an HTML file to write; the first op that backends compute differently goes to a folder beside
            it, with its inputs.
        preprocessing: what is done to images.
        example_inputs: of a torch module in memory; the first sample of ``data`` where none are given.
    """
    examples = take_example(data) if example_inputs is None else example_inputs
    source = open_any_model(model, examples)
    graph = source.fixed_graph()
    feeds = list(itertools.islice(open_samples(graph, data, preprocessing=preprocessing), MOST_SAMPLES))
    if not feeds:
        raise UsageError("there are no samples to look at, expected at least one")
    request = None if quantized is not None else _make_request(precision, act_quantizer, overrides)
    if quantized is not None:
        made = Model.of(align_names(graph, open_any_model(quantized).fixed_graph()))
    else:
        assert request is not None
        made = quantize_model(source, request, feeds, CpuExecutor())
    emulator, notes = _open_emulator(target)
    result = diagnose_model(source, made, feeds, request=request, emulator=emulator)
    if FRAMEWORK in backends:
        comparisons = _compare_framework(model, source, feeds, backends)
    else:
        comparisons = _compare_backends((source, made), feeds, backends, emulator)
    result = replace(result, backends=comparisons, notes=notes)
    if page is None:
        return result
    scripts = [write_case(comparison, Path(page)) for comparison in comparisons]
    commands = [f"run it again: python {script}" for script in scripts if script is not None]
    result = replace(result, notes=(*notes, *commands))
    write_page(result, Path(page), made.fixed_graph())
    return result


def _make_request(
    precision: str, act_quantizer: str, overrides: EncodingsSource | None
) -> QuantizationRequest:
    bits = PRECISIONS.get(precision)
    if bits is None:
        fixed = ", ".join(name for name, widths in PRECISIONS.items() if widths)
        raise UsageError(
            f"precision is '{shown(precision)}', expected one of: {fixed}",
            do="debugging looks at encodings, which fixed point alone has",
        )
    weight, activation = bits
    return QuantizationRequest(
        act_bw=activation,
        weight_bw=weight,
        act_quantizer=act_quantizer,
        overrides=load_encodings(overrides),
    )


def _open_emulator(target: str | None) -> tuple[Backend | None, tuple[str, ...]]:
    if target is None:
        return None, ()
    chip = find_htp_soc(target)
    if find_libraries() is None:
        missing = "the emulator is not installed: pip install 'edgewright[native]'"
        return None, (f"figures are those of the simulation; {missing}",)
    return HtpNativeBackend(HtpOptions(soc_model=chip.soc_model)), ()


def _compare_framework(
    model: Any, source: Model, feeds: Feeds, names: Sequence[str]
) -> tuple[BackendComparison, ...]:
    """The float model beside the framework that it comes from."""
    if sorted(names) != sorted((CPU, FRAMEWORK)):
        raise UsageError(
            f"'{shown(','.join(names))}' cannot be compared: a framework computes the float model",
            do=f"name {CPU},{FRAMEWORK}; then {CPU} with another backend",
        )
    if not isinstance(model, str | Path):
        raise UsageError("a model in memory has no framework to be compared with", do="give its file")
    graph = source.fixed_graph()
    return (compare_with_framework(str(model), graph, feeds[:BACKEND_SAMPLES], CPU, find_backend(CPU)),)


def _compare_backends(
    models: tuple[Model, Model], feeds: Feeds, names: Sequence[str], emulator: Backend | None
) -> tuple[BackendComparison, ...]:
    if names and len(names) != 2:
        raise UsageError(
            f"{len(names)} backends are to be compared, expected two", do="name two, as in htp-sim,htp-native"
        )
    pair = {name: find_backend(name) for name in names}
    if names and len(pair) != 2:
        raise UsageError(f"'{shown(names[0])}' is to be compared with itself", do="name two backends")
    if not pair and emulator is not None:
        pair = {"htp-sim": find_backend("htp-sim"), "htp-native": emulator}
    if not pair:
        return ()
    source, quantized = models
    model = source if any(isinstance(backend, TakesFloat) for backend in pair.values()) else quantized
    return (compare_backends(model.fixed_graph(), feeds[:BACKEND_SAMPLES], pair),)
