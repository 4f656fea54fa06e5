"""The repair of a variant: fresh encodings for odd ones, more bits or finer scales for what fails."""

from dataclasses import dataclass, replace

from edgewright.analyse.encoding_check import measure_outputs
from edgewright.analyse.fresh_encodings import Feeds
from edgewright.analyse.odd_encodings import OddEncoding, list_shared_values
from edgewright.analyse.quantization.compare_tensors import ACTIVATION, BIAS, WEIGHT, ComparedTensor
from edgewright.core.words import quote_names
from edgewright.model.model import Model
from edgewright.quantize.executor import Samples
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding
from edgewright.sdk.quantization_checker.variants import Generator, Variant, widen

# Activations that get more bits at once, the worst first, and inputs that outputs are compared on.
MOST_WIDENED, MOST_COMPARED = 4, 8
WIDE_BITS = 16


@dataclass(frozen=True)
class RepairedVariant:
    """A variant after its repair, and what was done and gained."""

    variant: Variant
    actions: tuple[str, ...]
    before_db: float
    after_db: float


def repair_variant(
    generator: Generator,
    variant: Variant,
    rows: tuple[ComparedTensor, ...],
    odd: tuple[OddEncoding, ...],
    samples: Samples,
    feeds: Feeds,
) -> RepairedVariant | None:
    """Quantizes again with what should help; None where nothing fails.

    Encodings that were given and are odd come first. Where there are none: the bits of the worst activations,
    one scale for each channel of weights, 32 bits for biases.
    """
    overrides, actions = _drop_odd(variant, odd)
    request = replace(variant.request, overrides=overrides)
    if not odd:
        request, actions = _widen_failures(variant, rows)
    if not actions:
        return None
    repaired = generator.quantize(f"{variant.name}_repaired", request, samples)
    source = generator.model
    before, after = (
        measure_outputs(source, Model.of(each.quantized), feeds[:MOST_COMPARED])
        for each in (variant, repaired)
    )
    return RepairedVariant(repaired, tuple(actions), before, after)


def _drop_odd(variant: Variant, odd: tuple[OddEncoding, ...]) -> tuple[EncodingSet | None, list[str]]:
    """The overrides without those that a calibration betters."""
    overrides = variant.request.overrides
    if overrides is None or not odd:
        return overrides, []
    # An encoding may have been given by the name of any tensor that has it.
    graph = variant.quantized
    shared = {
        value
        for entry in odd
        for value in ([entry.tensor] if entry.is_weight else list_shared_values(graph, entry.tensor))
    }
    names = shared | {graph.source_names.get(value, value) for value in shared} | {e.source for e in odd}
    kept = tuple(entry for entry in overrides.tensors if entry.name not in names)
    dropped = [entry.name for entry in overrides.tensors if entry.name in names]
    text = f"calibrated afresh, in place of the overrides: {quote_names(dropped)}"
    return replace(overrides, tensors=kept), [text] if dropped else []


def _widen_failures(
    variant: Variant, rows: tuple[ComparedTensor, ...]
) -> tuple[QuantizationRequest, list[str]]:
    request, actions = variant.request, list[str]()
    kinds = {row.kind for row in rows if row.is_failure}
    per_channel = WEIGHT in kinds and not request.per_channel
    bias_bw = 32 if BIAS in kinds else request.bias_bw
    if per_channel:
        actions.append("weights: one encoding for each channel")
    if bias_bw != request.bias_bw:
        actions.append("biases: 32 bits")
    worst = _list_worst(rows) if request.act_bw < WIDE_BITS else []
    if worst:
        widened = tuple(TensorEncoding(name, WIDE_BITS, is_param=False) for name in worst)
        known = request.overrides or EncodingSet()
        kept = tuple(entry for entry in known.tensors if entry.name not in worst)
        request = replace(request, overrides=replace(known, tensors=(*kept, *widened)))
        actions.append(f"activations: {WIDE_BITS} bits for {quote_names(worst)}")
    return widen(request, per_channel=per_channel, bias_bw=bias_bw), actions


def _list_worst(rows: tuple[ComparedTensor, ...]) -> list[str]:
    """The activations with the lowest SQNR among those that fail."""
    failing = {row.tensor for row in rows if row.kind == ACTIVATION and row.is_failure}
    noises: dict[str, float] = {}
    for row in rows:
        if row.tensor in failing and row.algorithm == "sqnr" and row.kind == ACTIVATION and row.text != "N/A":
            noises[row.tensor] = min(noises.get(row.tensor, 999.0), float(row.text))
    order = sorted(failing, key=lambda name: (noises.get(name, 999.0), name))
    return order[:MOST_WIDENED]
