"""Where each tensor of a source model went: its QNN tensor, or why it has none."""

from dataclasses import dataclass

from edgewright.ir.graph import Graph
from edgewright.lower.lower import lower


@dataclass(frozen=True)
class SourceTensor:
    """A tensor of the source model; ``tensor`` is empty where it was removed, and ``why`` says why."""

    name: str
    tensor: str = ""
    why: str = ""


def map_source_tensors(graph: Graph) -> tuple[SourceTensor, ...]:
    """Every tensor of the graph's source, if it has one; those that still exist come first."""
    record = lower(graph)
    tensors_by_source: dict[str, str] = {}
    for name in record.tensors:
        own = record.source_names.get(name, name)
        for source in (own, record.forms.get(name, own)):
            tensors_by_source.setdefault(source, name)
    known = graph.sources.made_of
    tensors = [
        SourceTensor(name, tensor) for name, tensor in tensors_by_source.items() if not known or name in known
    ]
    return (*tensors, *(SourceTensor(name, "", why) for name, why in record.gone.items()))
