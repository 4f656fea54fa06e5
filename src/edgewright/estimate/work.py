"""What a layer gives an NPU to do: the amounts that times are fitted to and estimated from."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The HTP keeps and multiplies channels in blocks of this many.
BLOCK = 32
# Bytes of what a layer reads and writes that stay beside the units; the rest goes to memory outside.
FAST_BYTES = 4_000_000
# Bytes of an element of the weights and of the activations.
BYTES: dict[str, tuple[float, float]] = {
    "float": (2, 2),
    "w8a16": (1, 2),
    "w8a8": (1, 1),
    "w4a16": (0.5, 2),
    "w4a8": (0.5, 1),
}
# The amounts, and which factor of a chip each is multiplied by.
COMPUTE, MOVEMENT, OVERHEAD = "compute", "movement", "overhead"
GROUPS = (COMPUTE, MOVEMENT, OVERHEAD)
AMOUNTS: dict[str, str] = {
    "product_macs": COMPUTE,
    "grouped_macs": COMPUTE,
    "depthwise_macs": COMPUTE,
    "attention_macs": COMPUTE,
    "attention_elements": MOVEMENT,
    "elements": MOVEMENT,
    "statistics_elements": MOVEMENT,
    "transposed_elements": MOVEMENT,
    "weight_bytes": MOVEMENT,
    "spilled_bytes": MOVEMENT,
    "io_bytes": MOVEMENT,
    "ops": OVERHEAD,
    "runs": OVERHEAD,
}
_PLACE = {name: place for place, name in enumerate(AMOUNTS)}
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """One op as far as its time goes; sizes are elements of one run."""

    name: str
    # As a user knows the op, e.g. Conv2d.
    op: str
    # product, grouped, depthwise, attention, elements, curve, statistics, transpose, placement
    kind: str
    read: int
    written: int
    weights: int = 0
    macs: int = 0
    # Channels that one sum reads, and that are made.
    channels: tuple[int, int] = (1, 1)
    groups: int = 1


@dataclass(frozen=True)
class Network:
    """The layers of a network in the order in which they run, and the elements that go in and out."""

    layers: tuple[Layer, ...]
    elements_in: int
    elements_out: int
    # Relu and similar: they cost nothing by themselves, but tell networks apart.
    clamps: int = 0

    @property
    def macs(self) -> int:
        """All multiply-accumulates."""
        return sum(layer.macs for layer in self.layers)


def count_work(layer: Layer, precision: str) -> Vector:
    """The amounts of one layer."""
    amounts = np.zeros(len(AMOUNTS))
    weight_bytes, element_bytes = BYTES[precision]
    elements = layer.read + layer.written
    macs = pad_macs(layer)
    if layer.kind in ("product", "grouped", "depthwise"):
        amounts[_PLACE[f"{layer.kind}_macs"]] = macs
    elif layer.kind == "attention":
        amounts[_PLACE["attention_macs"]] = macs
        amounts[_PLACE["attention_elements"]] = elements
    elif layer.kind == "transpose":
        # Exporters write more or fewer of them for one network: their number says little.
        amounts[_PLACE["transposed_elements"]] = elements
        return amounts
    elif layer.kind == "statistics":
        amounts[_PLACE["statistics_elements"]] = elements
    elif layer.kind in ("elements", "curve"):
        amounts[_PLACE["elements"]] = elements
    amounts[_PLACE["weight_bytes"]] = layer.weights * weight_bytes if layer.macs else 0
    amounts[_PLACE["spilled_bytes"]] = max(0.0, elements * element_bytes - FAST_BYTES)
    amounts[_PLACE["ops"]] = 1
    return amounts


def count_run(network: Network, precision: str) -> Vector:
    """What a run costs beside its layers: to start it, and to bring tensors in and out."""
    amounts = np.zeros(len(AMOUNTS))
    size = (network.elements_in + network.elements_out) * BYTES[precision][1]
    amounts[_PLACE["runs"]] = 1
    amounts[_PLACE["io_bytes"]] = min(size, FAST_BYTES)
    amounts[_PLACE["spilled_bytes"]] = max(0.0, size - FAST_BYTES)
    return amounts


def count_all(network: Network, precision: str) -> Vector:
    """The amounts of a whole run."""
    parts = [count_work(layer, precision) for layer in network.layers]
    return np.asarray(np.sum([count_run(network, precision), *parts], axis=0))


def pad_macs(layer: Layer) -> float:
    """Multiply-accumulates with channels filled up to whole blocks."""
    if not layer.macs:
        return 0.0
    read, made = layer.channels
    if layer.kind == "grouped":
        return layer.macs * max(1.0, BLOCK / (made / layer.groups))
    factor = fill_block(made) / made
    if layer.kind != "depthwise":
        factor *= fill_block(read) / read
    return layer.macs * factor


def fill_block(channels: int) -> int:
    """Channels with those that fill the last block."""
    return math.ceil(channels / BLOCK) * BLOCK
