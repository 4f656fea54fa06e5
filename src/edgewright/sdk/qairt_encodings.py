"""Encodings on their way through a float DLC: put in by the converter, taken out by the quantizer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from edgewright.artifacts.description import Description
from edgewright.artifacts.encodings import parse_encodings, write_encodings
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import read_limited
from edgewright.ir.graph import Graph
from edgewright.model.saving import SaveOptions
from edgewright.quantize.overrides import resolve_encodings
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

LARGEST_FILE = 1 << 25


@dataclass(frozen=True)
class KeptEncodings:
    """Encodings as the texts that a DLC keeps, and what there is to say about them."""

    source: str = ""
    overrides: str = ""
    notes: tuple[str, ...] = ()

    def encodings(self) -> EncodingSet:
        """What a quantizer will use: overrides come before the source's own."""
        tensors: dict[str, TensorEncoding] = {}
        for text in filter(None, (self.source, self.overrides)):
            tensors |= {tensor.name: tensor for tensor in parse_encodings(text.encode(), "encodings").tensors}
        return EncodingSet(tuple(tensors.values()))

    def add_to(self, options: SaveOptions) -> SaveOptions:
        """The options of a file that holds them."""
        return replace(options, source_encodings=self.source, override_encodings=self.overrides)


def keep_encodings(
    graph: Graph, known: Collection[str], taken: Sequence[TensorEncoding], file: str | None
) -> KeptEncodings:
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
    text = "" if file is None else _read_text(file)
    if file is not None:
        overrides = parse_encodings(text.encode(), file)
        resolved = resolve_encodings(graph, overrides.tensors, set(known))
        notes.append(f"{len(overrides.tensors)} overrides are kept for qairt-quantizer")
        if resolved.ignored:
            notes.append(f"{len(resolved.ignored)} of them name tensors that conversion folded away")
    return KeptEncodings(write_encodings(EncodingSet(tuple(taken))) if taken else "", text, tuple(notes))


def read_kept_encodings(description: Description, file: str) -> tuple[EncodingSet, EncodingSet]:
    """The encodings that a DLC keeps: those of the source model, and those of a user."""
    texts = (description.source_encodings, description.override_encodings)
    source, overrides = (
        parse_encodings(text.encode(), f"{file} (its encodings)") if text else EncodingSet() for text in texts
    )
    return source, overrides


def _read_text(file: str) -> str:
    try:
        return read_limited(file, LARGEST_FILE).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"the file of overrides is not UTF-8 text (byte {problem.start})", Where(file=file)
        ) from None
