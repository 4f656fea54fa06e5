"""Which tensor of an inference belongs to which reference, both brought into the same axes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.comparison_points import align_layout
from edgewright.core.errors import ShapeMismatch, Where
from edgewright.core.numbers import Array
from edgewright.lower.names import sanitize_name
from edgewright.sdk.debugger.graph_structure import Structure, resolve_orders
from edgewright.sdk.debugger.tensor_folder import TensorFile


@dataclass(frozen=True)
class TensorPair:
    """A tensor of the inference and its reference."""

    name: str
    golden: TensorFile
    target: TensorFile


class TensorMatcher:
    """Finds the reference of each tensor, and brings the tensor into its shape."""

    def __init__(
        self,
        golden: Mapping[str, TensorFile],
        targets: Mapping[str, TensorFile],
        mapping: Mapping[str, str],
        structure: Structure,
    ) -> None:
        self._golden, self._targets, self.structure = golden, targets, structure
        # Mappings are written from either side: by the inference's names, or by the framework's.
        self._names = {**{value: key for key, value in mapping.items()}, **mapping}
        self._sanitized = {sanitize_name(name): name for name in golden}
        self._spellings = {
            spelling: name
            for name in golden
            for spelling in (name.removesuffix(":0"), f"{name}:0", name.strip("/"))
        }
        known = {name: golden[other].dims for name in structure if (other := self.find_golden(name))}
        self.structure = resolve_orders(structure, {name: dims for name, dims in known.items() if dims})

    def list_pairs(self) -> list[TensorPair]:
        """All tensors that both sides have, in the order of the graph."""
        ordered = [name for name in self.structure if name in self._targets]
        ordered += [name for name in self._targets if name not in self.structure]
        pairs = [(name, self.find_golden(name)) for name in ordered]
        return [
            TensorPair(name, self._golden[other], self._targets[name])
            for name, other in pairs
            if other is not None
        ]

    def list_unmatched(self) -> list[str]:
        """Tensors of the inference without a reference."""
        return [name for name in self._targets if self.find_golden(name) is None]

    def find_golden(self, name: str) -> str | None:
        """The reference of a tensor of the inference."""
        source = self.structure[name].source if name in self.structure else name
        spellings = (self._names.get(name), source, name, self._sanitized.get(name))
        for spelling in filter(None, spellings):
            other = self._spellings.get(spelling) or self._sanitized.get(sanitize_name(spelling))
            for known in (spelling, other):
                if known in self._golden:
                    return known
        return None

    def find_pair(self, name: str) -> TensorPair | None:
        """The pair that either side knows by a name."""
        for pair in self.list_pairs():
            if name in {pair.name, pair.golden.name, pair.golden.name.removesuffix(":0")}:
                return pair
        return None

    def read_pair(self, pair: TensorPair) -> tuple[Array, Array]:
        """Reference and tensor in the same shape: that of the source where it is known."""
        golden, target = pair.golden.read(), pair.target.read()
        if golden.size != target.size:
            raise ShapeMismatch(
                f"the reference has {golden.size} elements, the inference {target.size}",
                Where(tensor=pair.name),
            )
        facts = self.structure.get(pair.name)
        if facts is not None and target.size == int(np.prod(facts.dims)):
            turned = facts.to_source(target.reshape(facts.dims))
            if pair.golden.dims is None or turned.shape == golden.shape:
                return golden.reshape(turned.shape), turned
            target = target.reshape(facts.dims)
        if pair.golden.dims is not None and pair.target.dims is not None:
            target = align_layout(target, golden.shape)
        return golden, target.reshape(golden.shape)
