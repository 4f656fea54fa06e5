"""Encodings on their way through a float DLC: put in by the converter, taken out by the quantizer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from edgewright.artifacts.description import Description
from edgewright.artifacts.encodings import encodings_text, parse_encodings
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import read_limited
from edgewright.ir.graph import Graph
from edgewright.model.saving import SaveOptions
from edgewright.quantize.overrides import Resolved, resolve
from edgewright.quantize.pins import Origin
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

__all__ = ["Kept", "cached_encodings", "kept_encodings"]

LARGEST_FILE = 1 << 25


@dataclass(frozen=True)
class Kept:
    """Encodings as the texts that a DLC keeps, and what there is to say about them."""

    source: str = ""
    overrides: str = ""
    notes: tuple[str, ...] = ()

    def encodings(self) -> EncodingSet:
        """What a quantizer will use: overrides come before the source's own."""
        found: dict[str, TensorEncoding] = {}
        for text in filter(None, (self.source, self.overrides)):
            found |= {tensor.name: tensor for tensor in parse_encodings(text.encode(), "encodings").tensors}
        return EncodingSet(tuple(found.values()))

    def added_to(self, options: SaveOptions) -> SaveOptions:
        """The options of a file that holds them."""
        return replace(options, source_encodings=self.source, override_encodings=self.overrides)


def kept_encodings(
    graph: Graph, known: Collection[str], taken: Sequence[TensorEncoding], file: str | None
) -> Kept:
    """What the source's own nodes and a file of overrides say; names that the model does not have are errors.

    Args:
        graph: the converted graph.
        known: names of all tensors of the source model, those that are not in the converted one too.
        taken: the encodings of the nodes that were removed.
        file: the file of overrides, where there is one.
    """
    notes = []
    if taken:
        notes.append(f"{len(taken)} encodings of the source model are kept for qairt-quantizer")
    text = "" if file is None else _text(file)
    if file is not None:
        found = parse_encodings(text.encode(), file)
        resolved = resolve(graph, found.tensors, set(known))
        notes.append(f"{len(found.tensors)} overrides are kept for qairt-quantizer")
        if resolved.ignored:
            notes.append(f"{len(resolved.ignored)} of them name tensors that conversion folded away")
    return Kept(encodings_text(EncodingSet(tuple(taken))) if taken else "", text, tuple(notes))


def cached_encodings(graph: Graph, description: Description, file: str) -> tuple[Resolved, EncodingSet]:
    """The encodings that a DLC keeps, for the values of its graph; those of a user come before the source's.

    The set that is returned besides holds the widths that the user's file asks for.
    """
    where = f"{file} (its encodings)"
    sets = {
        origin: parse_encodings(text.encode(), where)
        for origin, text in (
            (Origin.SOURCE, description.source_encodings),
            (Origin.FILE, description.override_encodings),
        )
        if text
    }
    joined = Resolved()
    for origin, found in sets.items():
        # They were checked when they were put in; what is not there any more was folded away.
        known = {tensor.name for tensor in found.tensors}
        resolved = resolve(graph, found.tensors, known, origin=origin)
        joined.pins.update(resolved.pins)
        joined.ignored += resolved.ignored
    return joined, sets.get(Origin.FILE, EncodingSet())


def _text(file: str) -> str:
    try:
        return read_limited(file, LARGEST_FILE).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"the file of overrides is not UTF-8 text (byte {problem.start})", Where(file=file)
        ) from None
