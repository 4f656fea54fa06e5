"""The tensors of a source model and what is computed from them, to report where each went."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

CONSTANT = "a constant, computed when the model was converted"
UNREAD = "no output depends on it"
WEIGHT = "stored: part of other constants now, or of the parameters of an op"


@dataclass(frozen=True)
class SourceFlow:
    """Tensors of the source in order, with the tensors computed from each."""

    made_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Tensors that do not depend on the inputs: stored ones, and what is computed from them.
    stored: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    # Tensors that are missing in an artifact, and why.
    gone: Mapping[str, str] = field(default_factory=dict)

    def missing(self, found: Collection[str]) -> dict[str, str]:
        """The tensors that are not in ``found``, each with the reason."""
        places = self._places(found)
        reasons = {name: self._why(name, places) for name in self.made_of if name not in found}
        return {**{name: why for name, why in self.gone.items() if name not in found}, **reasons}

    def _why(self, name: str, places: Mapping[str, str]) -> str:
        if name in self.computed:
            return CONSTANT
        if name not in places:
            return UNREAD
        return WEIGHT if name in self.stored else f"part of the op that makes '{places[name]}'"

    def _places(self, found: Collection[str]) -> dict[str, str]:
        """For each tensor the nearest one after it that is in ``found``."""
        makers: dict[str, list[str]] = {}
        for name, results in self.made_of.items():
            for result in results:
                makers.setdefault(result, []).append(name)
        places = {name: name for name in self.made_of if name in found}
        front = deque(places)
        while front:
            here = front.popleft()
            for name in makers.get(here, ()):
                if name not in places:
                    places[name] = places[here]
                    front.append(name)
        return places


def flow_of(
    nodes: Iterable[tuple[Sequence[str], Sequence[str]]], inputs: Collection[str], tensors: Iterable[str]
) -> SourceFlow:
    """The flow through nodes, each given as its inputs and outputs."""
    made_of: dict[str, list[str]] = {name: [] for name in sorted(tensors) if name}
    live, made = set(inputs), set[str]()
    for reads, makes in nodes:
        results = [name for name in makes if name]
        made.update(results)
        if live.intersection(reads):
            live.update(results)
        for name in filter(None, reads):
            made_of.setdefault(name, []).extend(results)
        for name in results:
            made_of.setdefault(name, [])
    known = made_of.keys() - live
    return SourceFlow(
        {name: tuple(dict.fromkeys(after)) for name, after in made_of.items()},
        frozenset(known - made),
        frozenset(known & made),
    )
