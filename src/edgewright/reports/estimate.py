"""What `edgewright estimate` shows: ranges, where they come from, where the time goes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from edgewright.core.page import Block, Table
from edgewright.estimate.language import LanguageEstimate
from edgewright.estimate.records import Estimate, LayerShare, MemoryRange, TargetEstimate
from edgewright.reports.html.page import make_environment

MOST_LAYERS = 5
# Layers that the page draws as bars, and the size of its roofline.
MOST_BARS = 60
_WIDTH, _HEIGHT, _MARGIN = 640, 260, 46
_BAR = 24


def make_page(estimate: Estimate) -> list[Block]:
    """The page in a terminal."""
    known = f", known as {estimate.known_as}" if estimate.known_as else ""
    macs = f"{estimate.macs / 1e6:,.1f}"
    blocks: list[Block] = [
        f"{estimate.model}: {estimate.ops} ops that take time, {macs} M MACs, {estimate.kind}{known}",
        _make_table(estimate),
        *_list_bases(estimate),
    ]
    first = estimate.targets[0]
    blocks += [
        f"{result.chip} {result.precision}: {text}" for result in estimate.targets for text in result.cliffs
    ]
    blocks.append(_make_layer_table(first))
    if first.memory is not None:
        blocks.append(_make_memory_table(first, first.memory))
    if estimate.changes:
        rows = tuple((change.name, str(change), change.text) for change in estimate.changes)
        blocks.append(Table("What changes would do", ("change", "effect", ""), rows))
    return [*blocks, *(f"note: {note}" for note in estimate.notes)]


def make_language_page(results: Sequence[LanguageEstimate]) -> list[Block]:
    """What is said of a language model."""
    rows = tuple(
        (result.chip, _spell_range(result.tokens_per_second), _spell_range(result.first_token_ms))
        for result in results
    )
    first = results[0]
    title = (
        f"{first.billions:.3g} billion weights in {first.precision}, prompt of {first.prompt_tokens} tokens"
    )
    headers = ("chip", "tokens a second (range)", "first token after ms (range)")
    bases = [f"{result.chip}: from {result.basis}; 80 % of models are in these ranges" for result in results]
    return [Table(title, headers, rows), *bases]


def _spell_range(values: tuple[float, float, float]) -> str:
    middle, low, high = (f"{value:.0f}" if value >= 100 else f"{value:.3g}" for value in values)
    return f"{middle} ({low} to {high})"


def _make_table(estimate: Estimate) -> Table:
    rows = tuple(
        (result.chip, result.architecture, result.precision, str(result.time), result.tier)
        for result in estimate.targets
    )
    return Table("Estimated time of a run", ("chip", "", "precision", "time (range)", "tier"), rows)


def _list_bases(estimate: Estimate) -> Iterator[str]:
    """Where the times of each tier come from, once for each sentence."""
    yield from dict.fromkeys(f"tier ({r.tier}), {r.tier_text}: {r.basis}" for r in estimate.targets)


def _make_layer_table(result: TargetEstimate) -> Table:
    rows = tuple(
        (layer.name, layer.op, spell_share(layer), layer.bound, _draw_bar(layer, result), layer.remedy)
        for layer in result.layers[:MOST_LAYERS]
    )
    groups = ", ".join(f"{name} {share:.0%}" for name, share in result.bounds)
    where = f"{result.chip} in {result.precision}"
    title = f"Where the time goes on {where}: {groups} (layers are modelled, not measured)"
    return Table(title, ("layer", "op", "share", "bound by", "", "what would help"), rows)


def spell_share(layer: LayerShare) -> str:
    """As in: 3.8 % (3.2 to 4.2)."""
    return f"{layer.share * 100:.1f} % ({layer.share_low * 100:.1f} to {layer.share_high * 100:.1f})"


def _draw_bar(layer: LayerShare, result: TargetEstimate) -> str:
    largest = result.layers[0].share or 1.0
    return "#" * max(1, round(_BAR * layer.share / largest))


def _make_memory_table(result: TargetEstimate, memory: MemoryRange) -> Table:
    context = "context binary" if memory.is_compiled else "context binary, when compiled"
    rows = (
        (context, spell_bytes(memory.context)),
        ("inputs and outputs", spell_bytes((memory.io, memory.io))),
        ("tensors alive at one time", spell_bytes(memory.peak_activation)),
        ("spill-fill beside VTCM", spell_bytes(memory.spill_fill)),
    )
    return Table(f"Memory in {result.precision}, {memory.note}", ("", "bytes"), rows)


def spell_bytes(least_and_most: tuple[int, int]) -> str:
    """A range of bytes, or the number where it is exact."""
    low, high = (f"{size / 1e6:.2f}" for size in least_and_most)
    return f"{low} MB" if low == high else f"{low} to {high} MB"


def render_estimate(estimate: Estimate) -> Iterable[bytes]:
    """The page: one HTML file that needs nothing else; the same estimate gives the same bytes."""
    template = make_environment().get_template("estimate.html.jinja")
    first = estimate.targets[0]
    longest = max(result.time.high for result in estimate.targets)
    yield template.render(
        estimate=estimate,
        first=first,
        bars=first.layers[:MOST_BARS],
        widest=first.layers[0].share_high or 1.0,
        costliest=first.layers[:MOST_LAYERS],
        longest=longest,
        bases=list(_list_bases(estimate)),
        memory=_make_memory_table(first, first.memory).cells() if first.memory else [],
        spell_share=spell_share,
        roofline=draw_roofline(first.layers),
    ).encode("utf-8", "replace")


def draw_roofline(layers: Sequence[LayerShare]) -> dict[str, Any]:
    """Points of layers with products: MACs a byte to the right, shares of the time upwards, as logarithms."""
    points = [layer for layer in layers if layer.macs and layer.share > 0]
    if not points:
        return {"points": [], "ticks": []}
    low = math.floor(min(math.log10(max(layer.intensity, 0.1)) for layer in points))
    high = max(math.ceil(max(math.log10(max(layer.intensity, 0.1)) for layer in points)), low + 1)
    least = math.log10(min(layer.share for layer in points)) - 0.1
    most = max(math.log10(max(layer.share for layer in points)) + 0.1, least + 0.5)

    def place(value: float, first: float, last: float, size: int) -> float:
        return round((value - first) / (last - first) * (size - 2 * _MARGIN) + _MARGIN, 1)

    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "points": [
            {
                "x": place(math.log10(max(layer.intensity, 0.1)), low, high, _WIDTH),
                "y": _HEIGHT - place(math.log10(layer.share), least, most, _HEIGHT),
                "bound": layer.bound,
                "text": f"{layer.name}: {layer.intensity:.1f} MACs a byte, {spell_share(layer)}",
            }
            for layer in points
        ],
        "ticks": [
            {"x": place(power, low, high, _WIDTH), "text": f"{10.0**power:g}"}
            for power in range(low, high + 1)
        ],
    }
