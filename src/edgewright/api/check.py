"""Checks a model before it is built: what `ew.check` is."""

import itertools
from pathlib import Path
from typing import Any

from edgewright.analyse.architecture.check import check_architecture
from edgewright.analyse.checked_model import CheckedModel
from edgewright.analyse.encoding_check import EncodingCheck, check_encodings
from edgewright.analyse.encoding_rules import list_broken_rules
from edgewright.artifacts.encodings import EncodingsSource, load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS
from edgewright.core.errors import UsageError, shown
from edgewright.data.open_samples import Data, open_samples
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model, take_example
from edgewright.model.quantize import find_fixed_point, quantize_model
from edgewright.quantize.request import QuantizationRequest
from edgewright.run.context.check import check_context
from edgewright.targets.soc import find_htp_soc

MOST_SAMPLES = 50


def check(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: Model | str | Path | Any,
    data: Data | None = None,
    *,
    quantized: Model | str | Path | None = None,
    overrides: EncodingsSource | None = None,
    precision: str = "w8a8",
    target: str | None = None,
    device_version: tuple[int, ...] | None = None,
    repaired: str | Path | None = None,
    preprocessing: Preprocessing | None = None,
    example_inputs: Any = None,
) -> CheckedModel:
    """Says what keeps a model from being fast or accurate on the HTP, with the reason and the remedy.

    Args:
        model: what ``convert`` takes, a converted model, or a context binary (which needs a target).
        data: samples, in any form that ``quantize`` takes; with them encodings are looked at, too.
        quantized: a model that was made from it, whose encodings are in question.
        overrides: an encodings file, or its content, in question: the model is quantized with it.
        precision: w8a8, w8a16, w4a8 or w4a16, where it is quantized here.
        target: a chip, where rules depend on it.
        device_version: of the QNN libraries on the device, for a context binary.
        repaired: where to save the model with fresh encodings in place of the odd ones, as .dlc or .cpp.
        preprocessing: what is done to images.
        example_inputs: of a torch module in memory; the first sample of ``data`` where none are given.
    """
    if isinstance(model, str | Path) and Path(model).suffix == ".bin":
        return _check_context(Path(model), target, device_version)
    chip = None if target is None else find_htp_soc(target)
    architecture = None if chip is None else chip.arch
    source = open_any_model(model, take_example(data) if example_inputs is None else example_inputs)
    graph = source.fixed_graph()
    name = Path(model).name if isinstance(model, str | Path) else graph.name
    issues = check_architecture(graph)
    if data is None:
        _refuse_without_data(quantized, overrides, repaired)
        rules = list_broken_rules(graph, architecture) if find_fixed_point(graph) is not None else ()
        return CheckedModel(name, len(graph), issues, rules)
    if find_fixed_point(graph) is not None:
        raise UsageError(
            f"'{shown(name)}' is in fixed point already, expected the float model",
            do="give the float model, and this one as quantized",
        )
    feeds = list(itertools.islice(open_samples(graph, data, preprocessing=preprocessing), MOST_SAMPLES))
    if not feeds:
        raise UsageError("there are no samples to look at, expected at least one")
    is_fresh = quantized is None and overrides is None
    if quantized is not None:
        made = open_any_model(quantized)
    else:
        made = quantize_model(source, _make_request(precision, overrides), feeds, CpuExecutor())
    checked, better = check_encodings(source, made, feeds, architecture=architecture, is_fresh=is_fresh)
    notes = _save_repaired(better, checked, repaired)
    return CheckedModel(name, len(graph), issues, (), checked, notes=notes)


def _check_context(path: Path, target: str | None, device_version: tuple[int, ...] | None) -> CheckedModel:
    if target is None:
        raise UsageError(
            f"'{shown(path)}' is a context binary: whether it fits depends on the chip",
            do="name one: target='SM8650' (--target SM8650)",
        )
    return CheckedModel(path.name, context=check_context(path, target, device_version))


def _refuse_without_data(*given: object) -> None:
    if any(value is not None for value in given):
        raise UsageError(
            "quantized, overrides and repaired are about encodings, which need samples",
            do="give data, as in data='samples/'",
        )


def _make_request(precision: str, overrides: EncodingsSource | None) -> QuantizationRequest:
    bits = PRECISIONS.get(precision)
    if bits is None:
        fixed = ", ".join(name for name, widths in PRECISIONS.items() if widths)
        raise UsageError(f"precision is '{shown(precision)}', expected one of: {fixed}")
    weight, activation = bits
    return QuantizationRequest(act_bw=activation, weight_bw=weight, overrides=load_encodings(overrides))


def _save_repaired(better: Model, checked: EncodingCheck, path: str | Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    if checked.repaired_db is None:
        return ("nothing was repaired: no encoding is worse than a calibration would make it",)
    return tuple(f"wrote {file}" for file in better.save(path).paths)
