"""What the measurements of a build suggest: each finding with the exact override that fixes it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.comparison_points import list_comparison_points
from edgewright.analyse.records import Finding, Layer, TensorView
from edgewright.core.errors import shown
from edgewright.ir.graph import Graph
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.roles import find_roles
from edgewright.quantize.rules import RULES

# Noise that an op adds by itself and that is smaller than this is rarely the cause.
WEAK_DB = 33.0
# Noise that is so much smaller than what comes in anyway does not matter.
HIDDEN_DB = 15.0
# A part that is so much smaller than the whole is not the cause.
BLAME_DB = 3.0
MOST_CLIPPED = 0.001
# A range that is so many times as wide as its values wastes steps.
WIDEST_RANGE = 3.0
MOST_FINDINGS = 6
# The emulator is not the simulation where it is so much farther from the float model.
EMULATOR_DB = 3.0
FEW_BITS, WIDE_BITS = 8, 16
# Encodings by the names of tensors, as a file has them.
Entries = dict[str, Mapping[str, Any]]


def list_findings(
    source: Graph,
    quantized: Graph,
    layers: Sequence[Layer],
    tensors: Sequence[TensorView],
    report: QuantizationReport | None = None,
) -> tuple[Finding, ...]:
    """What costs accuracy and what fixes it, the most serious first; then what is worth knowing.

    Args:
        source: the float graph.
        quantized: the graph that was measured.
        layers: its layers, as ``measure_layers`` gives them.
        tensors: the tensors that lose most, as ``view_worst_tensors`` gives them.
        report: what the quantizer said.
    """
    rules = {} if report is None else report.rules
    advisor = _OverrideAdvisor(source, quantized, tensors)
    findings = advisor.list_weak_layers(layers)
    return (
        *advisor.combine_overrides(),
        *findings,
        *_find_emulator_gap(layers),
        *_list_rules(rules),
        *advisor.count_left_out(source),
    )


def format_override(activations: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """An encodings file, as every converter and quantizer takes it with --quantization_overrides."""
    sections = {"activation_encodings": activations, "param_encodings": params}
    listed = {key: {name: [entry] for name, entry in part.items()} for key, part in sections.items()}
    return json.dumps(listed, ensure_ascii=False)


class _OverrideAdvisor:
    """Finds results and weights with too few steps, and the overrides that widen them."""

    def __init__(self, source: Graph, quantized: Graph, tensors: Sequence[TensorView]) -> None:
        self._quantized = quantized
        self._gains = find_channel_gains(source, quantized)
        self._views = {view.tensor: view for view in tensors}
        self._activations: Entries = {}
        self._params: Entries = {}

    def list_weak_layers(self, layers: Sequence[Layer]) -> list[Finding]:
        """The most serious findings, each with its override."""
        own = {layer.tensor: layer.own_db for layer in layers if layer.own_db is not None}
        worst = sorted((layer for layer in layers if layer.tensor in own), key=lambda x: own[x.tensor])
        findings: list[Finding] = []
        for layer in worst:
            finding = self._advise_on_weights(layer) or self._advise_on_result(layer)
            if finding is not None:
                findings.append(finding)
            if len(findings) == MOST_FINDINGS:
                break
        return findings

    def combine_overrides(self) -> Iterator[Finding]:
        """All of them at once, where there are several."""
        count = len(self._activations) + len(self._params)
        if count > 1:
            what = f"{count} tensors have too few steps for what they hold: this override widens all of them"
            yield Finding("warning", "override", what, do=format_override(self._activations, self._params))

    def count_left_out(self, source: Graph) -> Iterator[Finding]:
        """How many ops have no figures."""
        points = [
            s for s in list_comparison_points(source, self._quantized) if s.value not in self._gains.unknown
        ]
        compared = {name for point in points for node in point.nodes for name in node.outputs}
        others = [node for node in self._quantized.nodes if not compared & set(node.outputs)]
        if others:
            what = f"{len(others)} of {len(self._quantized)} ops are not compared with the float model:"
            what += " they only move or convert data, or their results have no counterpart there"
            yield Finding("note", "layers", what)

    def _advise_on_result(self, layer: Layer) -> Finding | None:
        view = self._views.get(layer.tensor)
        if (
            view is None
            or layer.bits != FEW_BITS
            or not (view.clipped > MOST_CLIPPED or _is_significant(layer, layer.own_db))
        ):
            return None
        name = layer.source
        entry = {"bitwidth": WIDE_BITS, **self._find_limits(view)}
        self._activations[name] = entry
        what = f"the result of {layer.op} '{shown(name)}' keeps {layer.own_db:.1f} dB by itself"
        what += f": {_explain_noise(view)}"
        return Finding("warning", "range", what, name, format_override({name: entry}, {}))

    def _find_limits(self, view: TensorView) -> dict[str, float]:
        """The range of all values; where channels were scaled, an override restores their own scales."""
        if not self._gains.is_plain(view.tensor):
            return {}
        low, high = _find_value_range(view)
        limits = {"min": min(view.low, low, 0.0), "max": max(view.high, high, 0.0)}
        return {key: float(f"{end:.6g}") for key, end in limits.items()}

    def _advise_on_weights(self, layer: Layer) -> Finding | None:
        """Weights of 4 bits that cost more than the rounding of the result."""
        is_blamed = layer.weight_db is not None and layer.own_db is not None
        if (
            not is_blamed
            or (layer.weight_bits or FEW_BITS) >= FEW_BITS
            or not _is_significant(layer, layer.weight_db)
        ):
            return None
        assert layer.weight_db is not None
        assert layer.own_db is not None
        if layer.weight_db - layer.own_db > BLAME_DB:
            return None
        node = self._quantized.node(layer.node)
        places = sorted(find_roles(self._quantized, node).weights)
        value = node.inputs[places[0]]
        name = self._quantized.source_names.get(value, value)
        entry = {"bitwidth": FEW_BITS}
        self._params[name] = entry
        what = f"the weights '{shown(name)}' of {layer.op} have {layer.weight_bits} bits"
        what += f" and alone leave its result {layer.weight_db:.1f} dB"
        return Finding("warning", "weights", what, name, format_override({}, {name: entry}))


def _is_significant(layer: Layer, noise_db: float | None) -> bool:
    """Whether noise is large, and large beside what comes in."""
    if noise_db is None or noise_db >= WEAK_DB:
        return False
    return layer.sim_db is None or noise_db < layer.sim_db + HIDDEN_DB


def _find_value_range(view: TensorView) -> tuple[float, float]:
    """The range of the bins that are not empty."""
    filled = [place for place, count in enumerate(view.counts) if count]
    return (view.edges[filled[0]], view.edges[filled[-1] + 1]) if filled else (0.0, 0.0)


def _explain_noise(view: TensorView) -> str:
    low, high = _find_value_range(view)
    held, values = f"its range is {view.low:.3g} to {view.high:.3g}", f"values of {low:.3g} to {high:.3g}"
    if view.clipped > MOST_CLIPPED or (view.own_db or 0.0) < (view.rounding_db or 0.0) - BLAME_DB:
        return f"{held}, and {100 * view.clipped:.2g} % of its {values} are cut"
    wide = (view.high - view.low) / max(high - low, 1e-30)
    if wide > WIDEST_RANGE:
        return f"{held}, {wide:.1f} times as wide as its {values}"
    return f"{1 << view.bits} steps are few for its {values}"


def _find_emulator_gap(layers: Sequence[Layer]) -> Iterator[Finding]:
    """Where the emulator begins to be farther away than the simulation says."""
    for layer in layers:
        if layer.sim_db is None or layer.emulator_db is None:
            continue
        if layer.emulator_db < layer.sim_db - EMULATOR_DB:
            what = f"from '{shown(layer.source)}' on, the emulator is {layer.emulator_db:.1f} dB"
            what += f" from the float model, the simulation {layer.sim_db:.1f}: trust the emulator"
            yield Finding("note", "emulator", what, layer.source)
            return


def _list_rules(rules: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    for name, places in rules.items():
        if name in RULES and places:
            times = "once" if len(places) == 1 else f"{len(places)} times"
            yield Finding("note", "rule", f"{RULES[name].text} (applied {times})")
