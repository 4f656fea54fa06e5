"""What the measurements of a build ask for: each finding with the exact override that fixes it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgewright.analyse.gains import channel_gains
from edgewright.analyse.records import Finding, Layer, TensorView
from edgewright.analyse.spots import spots_of
from edgewright.core.errors import shown
from edgewright.ir.graph import Graph
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.roles import find_roles
from edgewright.quantize.rules import RULES

__all__ = ["findings_of", "override"]

# What an op adds by itself is rarely the trouble where it is smaller.
WEAK_DB = 33.0
# Noise that is so much smaller than what comes in anyway does not matter.
HIDDEN_DB = 15.0
# What costs this much less than the whole is not to blame.
BLAME_DB = 3.0
CLIPPED = 0.001
# A range that is so many times as wide as its values wastes steps.
TOO_WIDE = 3.0
MOST = 6
# The emulator is not the simulation where it is so much farther from the float model.
EMULATOR_DB = 3.0
FEW_BITS, WIDE = 8, 16
# Encodings by the names of tensors, as a file has them.
Entries = dict[str, Mapping[str, Any]]


def findings_of(
    source: Graph,
    quantized: Graph,
    layers: Sequence[Layer],
    tensors: Sequence[TensorView],
    report: QuantizationReport | None = None,
) -> tuple[Finding, ...]:
    """What costs accuracy and what fixes it, the gravest first; then what is worth knowing.

    Args:
        source: the float graph.
        quantized: the graph that was measured.
        layers: its layers, as ``layers_of`` gives them.
        tensors: the tensors that lose most, as ``tensor_views`` gives them.
        report: what the quantizer said.
    """
    rules = {} if report is None else report.rules
    weak = _Weak(source, quantized, tensors)
    found = weak.findings(layers)
    return (*weak.together(), *found, *_gap(layers), *_rules(rules), *weak.left_out(source))


def override(activations: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """An encodings file, as every converter and quantizer takes it with --quantization_overrides."""
    sections = {"activation_encodings": activations, "param_encodings": params}
    listed = {key: {name: [entry] for name, entry in part.items()} for key, part in sections.items()}
    return json.dumps(listed, ensure_ascii=False)


class _Weak:
    """Looks for results and weights with too few steps."""

    def __init__(self, source: Graph, quantized: Graph, tensors: Sequence[TensorView]) -> None:
        self._quantized = quantized
        self._gains = channel_gains(source, quantized)
        self._views = {view.tensor: view for view in tensors}
        self._activations: Entries = {}
        self._params: Entries = {}

    def findings(self, layers: Sequence[Layer]) -> list[Finding]:
        """The gravest, each with its override."""
        own = {layer.tensor: layer.own_db for layer in layers if layer.own_db is not None}
        worst = sorted((layer for layer in layers if layer.tensor in own), key=lambda x: own[x.tensor])
        found: list[Finding] = []
        for layer in worst:
            finding = self._weights(layer) or self._result(layer)
            if finding is not None:
                found.append(finding)
            if len(found) == MOST:
                break
        return found

    def together(self) -> Iterator[Finding]:
        """All of them at once, where there are several."""
        count = len(self._activations) + len(self._params)
        if count > 1:
            what = f"{count} tensors have too few steps for what they hold: this override widens all of them"
            yield Finding("warning", "override", what, do=override(self._activations, self._params))

    def left_out(self, source: Graph) -> Iterator[Finding]:
        """How many ops have no figures."""
        spots = [s for s in spots_of(source, self._quantized) if s.value not in self._gains.unknown]
        compared = {name for spot in spots for node in spot.nodes for name in node.outputs}
        others = [node for node in self._quantized.nodes if not compared & set(node.outputs)]
        if others:
            what = f"{len(others)} of {len(self._quantized)} ops are not compared with the float model:"
            what += " they only move or convert data, or their results have no counterpart there"
            yield Finding("note", "layers", what)

    def _result(self, layer: Layer) -> Finding | None:
        view = self._views.get(layer.tensor)
        if (
            view is None
            or layer.bits != FEW_BITS
            or not (view.clipped > CLIPPED or _shows(layer, layer.own_db))
        ):
            return None
        name = layer.source
        entry = {"bitwidth": WIDE, **self._ends(view)}
        self._activations[name] = entry
        what = f"the result of {layer.op} '{shown(name)}' keeps {layer.own_db:.1f} dB by itself: {_why(view)}"
        return Finding("warning", "range", what, name, override({name: entry}, {}))

    def _ends(self, view: TensorView) -> dict[str, float]:
        """All that was seen; where channels were scaled, an override gives them back their own scales."""
        if not self._gains.is_plain(view.tensor):
            return {}
        low, high = _seen(view)
        ends = {"min": min(view.low, low, 0.0), "max": max(view.high, high, 0.0)}
        return {key: float(f"{end:.6g}") for key, end in ends.items()}

    def _weights(self, layer: Layer) -> Finding | None:
        """Weights of 4 bits that cost more than the rounding of the result."""
        is_blamed = layer.weight_db is not None and layer.own_db is not None
        if not is_blamed or (layer.weight_bits or FEW_BITS) >= FEW_BITS or not _shows(layer, layer.weight_db):
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
        return Finding("warning", "weights", what, name, override({}, {name: entry}))


def _shows(layer: Layer, found: float | None) -> bool:
    """Whether noise is large, and large beside what comes in."""
    if found is None or found >= WEAK_DB:
        return False
    return layer.sim_db is None or found < layer.sim_db + HIDDEN_DB


def _seen(view: TensorView) -> tuple[float, float]:
    """The ends of the bins that hold something."""
    filled = [place for place, count in enumerate(view.counts) if count]
    return (view.edges[filled[0]], view.edges[filled[-1] + 1]) if filled else (0.0, 0.0)


def _why(view: TensorView) -> str:
    low, high = _seen(view)
    held, values = f"its range is {view.low:.3g} to {view.high:.3g}", f"values of {low:.3g} to {high:.3g}"
    if view.clipped > CLIPPED or (view.own_db or 0.0) < (view.rounding_db or 0.0) - BLAME_DB:
        return f"{held}, and {100 * view.clipped:.2g} % of its {values} are cut"
    wide = (view.high - view.low) / max(high - low, 1e-30)
    if wide > TOO_WIDE:
        return f"{held}, {wide:.1f} times as wide as its {values}"
    return f"{1 << view.bits} steps are few for its {values}"


def _gap(layers: Sequence[Layer]) -> Iterator[Finding]:
    """Where the emulator begins to be farther away than the simulation says."""
    for layer in layers:
        if layer.sim_db is None or layer.emulator_db is None:
            continue
        if layer.emulator_db < layer.sim_db - EMULATOR_DB:
            what = f"from '{shown(layer.source)}' on, the emulator is {layer.emulator_db:.1f} dB"
            what += f" from the float model, the simulation {layer.sim_db:.1f}: trust the emulator"
            yield Finding("note", "emulator", what, layer.source)
            return


def _rules(rules: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    for name, places in rules.items():
        if name in RULES and places:
            times = "once" if len(places) == 1 else f"{len(places)} times"
            yield Finding("note", "rule", f"{RULES[name].text} (applied {times})")
