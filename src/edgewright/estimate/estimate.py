"""Estimates how long a network takes on chips: four tiers, each time with its interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.estimate.chip_factors import find_pair_factor
from edgewright.estimate.cliffs import find_cliffs
from edgewright.estimate.graph_layers import read_graph
from edgewright.estimate.known import find_known, find_measurements
from edgewright.estimate.layer_shares import share_layers, sum_groups
from edgewright.estimate.memory import measure_memory
from edgewright.estimate.parameters import (
    STAND_INS,
    find_change_interval,
    find_constants,
    find_fitted,
    find_interval,
    is_fitted,
    list_fitted_chips,
    list_refits,
    load_parameters,
)
from edgewright.estimate.public_data import RELEASE, Chip, list_chips, read_networks
from edgewright.estimate.records import (
    GENERATION,
    MEASURED,
    MODELLED,
    SCALED,
    Change,
    Estimate,
    TargetEstimate,
    TimeRange,
)
from edgewright.estimate.validation import find_kind
from edgewright.estimate.work import BYTES, Network, count_all
from edgewright.ir.graph import Graph
from edgewright.targets.soc import Soc, find_soc

# What is estimated where no precision is named.
PRECISIONS = ("w8a8", "w8a16", "float")
# The same job again: 90 of 100 are within this share (public records, two runs of one job).
NOISE = 0.18
# How much further (both ways) ranges of networks reach that are smaller or larger than all public ones.
EXTRAPOLATION_MARGIN = 1.3
# The precision that every fitted chip has times in.
_KNOWN_BEST = "w8a8"
_SPELLINGS = {"fp16": "float", "float16": "float", "fp32": "float"}


@dataclass(frozen=True)
class MeasuredTime:
    """A time that the user has, and the chip that it was measured on."""

    microseconds: float
    chip: str


def read_precision(text: str) -> str:
    """The name of a precision as the public records spell it."""
    name = _SPELLINGS.get(text.lower(), text.lower())
    if name not in BYTES:
        others = ", ".join(each for each in BYTES if each != "float")
        raise UsageError(f"precision is '{shown(text)}', expected one of: fp16, {others}")
    return name


def estimate_graph(
    graph: Graph,
    targets: Sequence[str],
    precisions: Sequence[str] = PRECISIONS,
    *,
    measured: MeasuredTime | None = None,
    context_bytes: int | None = None,
) -> Estimate:
    """Times of a graph on chips, all of them ranges; the layers and memory of each."""
    network = read_graph(graph)
    if not network.layers:
        raise UsageError("the graph has no op that takes time, nothing can be estimated")
    names = find_known(network)
    chips = [find_soc(target) for target in targets]
    results = [
        _add_details(graph, network, chip, result, context_bytes)
        for chip in chips
        for precision in precisions
        for result in (_estimate_one(network, names, chip, precision, measured),)
    ]
    return Estimate(
        graph.name,
        find_kind(network),
        len(network.layers),
        network.macs,
        " or ".join(names),
        tuple(results),
        notes=tuple(_list_notes(network, precisions)),
    )


def _list_notes(network: Network, precisions: Sequence[str]) -> Iterator[str]:
    if extrapolation := describe_extrapolation(network):
        yield extrapolation
    share = load_parameters()["coverage"]
    yield (
        f"ranges hold the times of {share:.0%} of networks that no fit has seen (docs/latency.md); times are "
        f"those of whole runs on the NPU alone, as release {RELEASE} of qai-hub-models has them"
    )
    for precision in precisions:
        if precision in STAND_INS:
            yield (
                f"{precision} has no public times: it is estimated as {STAND_INS[precision]} with smaller "
                "weights, and its range is wider"
            )


def estimate_network(network: Network, soc: Soc, precision: str) -> TargetEstimate:
    """The time on one chip in one precision, without its layers and memory."""
    return _estimate_one(network, find_known(network), soc, precision, None)


def list_known_targets(precision: str = "w8a8") -> list[str]:
    """The chips that are fitted."""
    return list_fitted_chips(precision)


def predict_time(network: Network, chip: str, precision: str) -> TimeRange:
    """The modelled time on a fitted chip."""
    time = float(count_all(network, precision) @ find_constants(chip, precision))
    low, high = find_interval(precision, find_kind(network))
    margin = EXTRAPOLATION_MARGIN if describe_extrapolation(network) else 1.0
    return TimeRange(time, time * low / margin, time * high * margin)


def describe_extrapolation(network: Network) -> str:
    """Why a network is beyond what the fit has seen; empty where it is not."""
    sizes = [each.macs for each in read_networks().values()]
    if min(sizes) <= network.macs <= max(sizes):
        return ""
    word, size = ("smaller", min(sizes)) if network.macs < min(sizes) else ("larger", max(sizes))
    return f"{word} than every public network ({size / 1e6:,.0f} M MACs): extrapolated, with a wider range"


def compare_networks(
    name: str, text: str, before: Network, after: Network, chip: str, precision: str
) -> Change:
    """What a change of the graph does to the time: a range over fits that each left a family out."""
    works = [count_all(network, precision) for network in (before, after)]
    factors = [
        float(works[1] @ constants) / float(works[0] @ constants)
        for constants in (find_constants(chip, precision), *list_refits(chip, precision))
    ]
    return Change(name, text, factors[0], min(factors), max(factors))


def compare_precisions(network: Network, chip: str, source: str, target: str) -> Change:
    """What another precision does to the time."""
    times = [predict_time(network, chip, each).microseconds for each in (source, target)]
    factor = times[1] / times[0]
    low, high = find_change_interval(source, target)
    text = f"{_spell(target)} in place of {_spell(source)}"
    return Change(f"precision={_spell(target)}", text, factor, factor * low, factor * high)


def find_fitted_chip(soc: Soc) -> Chip | None:
    """The chip with public times that this one is."""
    for chip in list_chips().values():
        if soc.name == chip.name or {chip.soc_model, *chip.soc_models} & set(soc.soc_models):
            return chip
    return None


def _estimate_one(
    network: Network, names: tuple[str, ...], soc: Soc, precision: str, measured: MeasuredTime | None
) -> TargetEstimate:
    chip = find_fitted_chip(soc)
    if measured is not None:
        return _scale_measured(measured, soc, chip, precision)
    rows = find_measurements(names, precision)
    if chip is not None and chip.soc_model in rows:
        row = rows[chip.soc_model]
        time = TimeRange(row.microseconds, row.microseconds * (1 - NOISE), row.microseconds * (1 + NOISE))
        basis = (
            f"'{row.network}' of qai-hub-models {RELEASE} on {chip.devices[0]}, runtime {row.runtime}; the "
            "range is that of the same job run again"
        )
        return _make_result(soc, precision, MEASURED, time, basis)
    if chip is not None and is_fitted(chip.name, precision):
        fit = load_parameters()["validation"][find_fitted(precision)]
        error = f"{fit['median_error']:.0%}"
        basis = f"fitted to {fit['networks']} networks; left out by family, their median error is {error}"
        return _make_result(soc, precision, MODELLED, predict_time(network, chip.name, precision), basis)
    return _estimate_generation(network, soc, precision)


def _scale_measured(measured: MeasuredTime, soc: Soc, chip: Chip | None, precision: str) -> TargetEstimate:
    source = find_fitted_chip(find_soc(measured.chip))
    fitted = find_fitted(precision)
    if source is None or chip is None:
        missing = measured.chip if source is None else soc.name
        raise UnsupportedFeature(
            f"there are no public times of '{shown(missing)}' that a time could be scaled with",
            do=f"chips with such times: {', '.join(c.name for c in list_chips().values())}",
        )
    time = TimeRange(measured.microseconds, measured.microseconds, measured.microseconds)
    if source.soc_model == chip.soc_model:
        noisy = time.scale(1.0, 1 - NOISE, 1 + NOISE)
        return _make_result(
            soc,
            precision,
            SCALED,
            noisy,
            "the time that was given; the range is that of the same job run again",
        )
    pair = find_pair_factor(source.soc_model, chip.soc_model, fitted)
    if pair is None:
        raise UnsupportedFeature(
            f"too few networks were measured on both {source.name} and {chip.name} in {_spell(precision)}",
            do="name another precision or chip",
        )
    basis = (
        f"{measured.microseconds / 1e3:.3g} ms on {source.name} times {pair.factor:.3g}, the median of "
        f"{pair.networks} networks on both (errors: median {pair.median_error:.0%}, 90th percentile "
        f"{pair.p90_error:.0%})"
    )
    return _make_result(soc, precision, SCALED, time.scale(pair.factor, pair.low, pair.high), basis)


def _estimate_generation(network: Network, soc: Soc, precision: str) -> TargetEstimate:
    """The range over the fitted chips of the same architecture, or of the nearest ones."""
    fitted = [chip for chip in list_chips().values() if is_fitted(chip.name, precision)]
    if not soc.arch:
        relatives = fitted
        words = "no architecture is known: all chips with data"
    else:
        distance = min(abs(chip.arch - soc.arch) for chip in fitted)
        relatives = [chip for chip in fitted if abs(chip.arch - soc.arch) == distance]
        archs = ", ".join(sorted({f"v{chip.arch}" for chip in relatives}))
        words = f"chips of {archs}: {', '.join(chip.name for chip in relatives)}"
    same_chip = find_fitted_chip(soc)
    times = [predict_time(network, chip.name, precision) for chip in relatives]
    if same_chip is not None and is_fitted(same_chip.name, _KNOWN_BEST):
        # The chip is known in 8 bits: how it compares with the others there holds here, too.
        times = [
            time.scale(_compare_chips(network, same_chip, chip))
            for time, chip in zip(times, relatives, strict=True)
        ]
        words = f"no public times in {_spell(precision)}; scaled as it is in w8a8 from {words}"
    middle = float(np.exp(np.mean(np.log([time.microseconds for time in times]))))
    time = TimeRange(middle, min(each.low for each in times), max(each.high for each in times))
    basis = f"{words}; within one architecture chips differ by up to 8 times"
    return _make_result(soc, precision, GENERATION, time, basis)


def _compare_chips(network: Network, chip: Chip, other: Chip) -> float:
    times = [predict_time(network, each.name, _KNOWN_BEST).microseconds for each in (chip, other)]
    return times[0] / times[1]


def _make_result(soc: Soc, precision: str, tier: str, time: TimeRange, basis: str) -> TargetEstimate:
    return TargetEstimate(soc.name, f"v{soc.arch}" if soc.arch else "", precision, tier, time, basis)


def _add_details(
    graph: Graph, network: Network, soc: Soc, result: TargetEstimate, context_bytes: int | None
) -> TargetEstimate:
    chip = find_fitted_chip(soc)
    name = chip.name if chip is not None and is_fitted(chip.name, result.precision) else None
    name = name or list_fitted_chips(result.precision)[0]
    return replace(
        result,
        precision=_spell(result.precision),
        cliffs=tuple(find_cliffs(network, result.precision)),
        memory=measure_memory(graph, result.precision, soc.vtcm_mb, context_bytes),
        layers=tuple(share_layers(network, name, result.precision)),
        bounds=tuple(sum_groups(network, name, result.precision).items()),
    )


def _spell(precision: str) -> str:
    return "fp16" if precision == "float" else precision
