"""Whether a network is one of the public ones: told by its graph, not by its name."""

from collections import Counter
from functools import cache

from edgewright.estimate.public_data import Measurement, read_networks, read_times
from edgewright.estimate.work import Network

Fingerprint = tuple[object, ...]
_PRODUCTS = ("product", "grouped", "depthwise", "attention")


def find_known(network: Network) -> tuple[str, ...]:
    """The public networks with the same graph: products in order, norms, activations, inputs and outputs.

    One layer more or less is another network: near matches are not matches.
    """
    return _map_fingerprints().get(take_fingerprint(network), ())


def take_fingerprint(network: Network) -> Fingerprint:
    """What is the same however a network was exported, and differs between networks."""
    products = tuple(
        (layer.kind, layer.macs, layer.written) for layer in network.layers if layer.kind in _PRODUCTS
    )
    statistics = Counter(layer.written for layer in network.layers if layer.kind == "statistics")
    curves = Counter(
        layer.written for layer in network.layers if layer.kind == "curve" and layer.written > 4096
    )
    return (
        products,
        tuple(sorted(statistics.items())),
        tuple(sorted(curves.items())),
        network.clamps,
        network.elements_in,
        network.elements_out,
    )


@cache
def _map_fingerprints() -> dict[Fingerprint, tuple[str, ...]]:
    names: dict[Fingerprint, tuple[str, ...]] = {}
    for name, network in read_networks().items():
        key = take_fingerprint(network)
        names[key] = (*names.get(key, ()), name)
    return names


def find_measurements(names: tuple[str, ...], precision: str) -> dict[int, Measurement]:
    """Public times of the first of these networks that has some, by SoC number."""
    for name in names:
        rows = {key[2]: row for key, row in read_times().items() if key[:2] == (name, precision)}
        if rows:
            return rows
    return {}
