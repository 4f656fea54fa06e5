"""Where the time goes: the share of each layer, what bounds it, and what would make it cheaper."""

from collections.abc import Iterator

import numpy as np

from edgewright.estimate.parameters import find_constants, list_refits
from edgewright.estimate.records import LayerShare
from edgewright.estimate.work import (
    AMOUNTS,
    BLOCK,
    BYTES,
    GROUPS,
    MOVEMENT,
    OVERHEAD,
    Layer,
    Network,
    Vector,
    count_run,
    count_work,
    pad_macs,
)

# From this factor on it is worth filling blocks of channels otherwise.
_WASTEFUL = 1.2
_IN_GROUP = {group: np.array([each == group for each in AMOUNTS.values()]) for group in GROUPS}


def share_layers(network: Network, chip: str, precision: str) -> list[LayerShare]:
    """All layers, the costliest first; what a run costs beside them is one of them."""
    works = [count_work(layer, precision) for layer in network.layers]
    run = count_run(network, precision)
    amounts = np.array([*works, run])
    constants = find_constants(chip, precision)
    shares = _share(amounts, constants)
    others = np.array([_share(amounts, each) for each in list_refits(chip, precision)])
    parts = amounts * constants
    rows = [
        LayerShare(
            layer.name,
            layer.op,
            float(shares[place]),
            float(min(others[:, place].min(), shares[place])),
            float(max(others[:, place].max(), shares[place])),
            _find_bound(parts[place]),
            _find_intensity(layer, precision),
            layer.macs,
            suggest_remedy(layer, precision, _find_bound(parts[place])),
        )
        for place, layer in enumerate(network.layers)
    ]
    run_shares = (
        float(shares[-1]),
        float(min(others[:, -1].min(), shares[-1])),
        float(max(others[:, -1].max(), shares[-1])),
    )
    rows.append(
        LayerShare(
            "a run",
            "inputs, outputs, start",
            *run_shares,
            _find_bound(parts[-1]),
            0.0,
            0,
            "smaller inputs and outputs",
        )
    )
    return sorted(rows, key=lambda row: -row.share)


def sum_groups(network: Network, chip: str, precision: str) -> dict[str, float]:
    """Shares of compute, movement and overhead in the whole."""
    works = [count_work(layer, precision) for layer in network.layers]
    parts = np.sum([*works, count_run(network, precision)], axis=0) * find_constants(chip, precision)
    return {group: float(parts[_IN_GROUP[group]].sum() / parts.sum()) for group in GROUPS}


def suggest_remedy(layer: Layer, precision: str, bound: str) -> str:
    """What would make a layer cheaper; empty where nothing simple would."""
    return next((text for is_so, text in _list_remedies(layer, precision, bound) if is_so), "")


def _list_remedies(layer: Layer, precision: str, bound: str) -> Iterator[tuple[bool, str]]:
    """Conditions and remedies; the first that holds is the one that helps most."""
    is_dense = layer.kind in ("product", "grouped")
    read, made = layer.channels
    is_padded = is_dense and pad_macs(layer) > _WASTEFUL * layer.macs
    yield is_padded, f"channels in multiples of {BLOCK}: it has {read} and {made}"
    text = "an ordinary convolution may be as fast: depthwise ones use few of the units"
    yield layer.kind == "depthwise", text
    yield layer.kind == "transpose", "keep channels last, so that nothing has to be transposed"
    is_wide = precision not in ("w8a8", "w4a8") and (is_dense or layer.kind in ("elements", "curve"))
    yield is_wide, "8 bits, where accuracy allows"
    yield bound == OVERHEAD, "fewer, larger ops: to start it takes longer than to compute it"
    is_square = layer.kind in ("attention", "statistics")
    yield is_square, "fewer positions or heads: its cost grows with their square"
    is_weighty = bound == MOVEMENT and layer.weights > layer.read + layer.written
    yield is_weighty, "fewer or narrower weights (4 bits): every run reads them from memory"
    yield True, "a smaller input or fewer channels"


def _share(
    amounts: Vector,
    constants: Vector,
) -> Vector:
    times = amounts @ constants
    return np.asarray(times / times.sum())


def _find_bound(parts: Vector) -> str:
    return max(GROUPS, key=lambda group: float(parts[_IN_GROUP[group]].sum()))


def _find_intensity(layer: Layer, precision: str) -> float:
    weight_bytes, element_bytes = BYTES[precision]
    moved = layer.weights * weight_bytes + (layer.read + layer.written) * element_bytes
    return layer.macs / moved if moved else 0.0
