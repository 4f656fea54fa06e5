"""Encodings that other converters can use: they keep ops apart that we have put together."""

from collections.abc import Collection

from edgewright.ir.graph import Graph
from edgewright.quantize.groups import is_real
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding, list_encodings


def list_portable_encodings(
    quantized: Graph, source: Graph, plain: Graph, known: Collection[str]
) -> EncodingSet:
    """The encodings of a quantized graph, for the model as a converter that was given a file sees it.

    Such a converter leaves rewrites out, so that names stay (guide 10562). Names that rewrites made are left
    out; a value that they took away gets the width of what is made of it, and constants that they changed
    keep their width alone.

    Args:
        quantized: the graph whose encodings are wanted.
        source: the float graph that was quantized.
        plain: the float graph without rewrites.
        known: the names of the source model's tensors.
    """
    entries = {entry.name: entry for entry in list_encodings(quantized).tensors}
    named = {plain.source_names.get(value, value): value for value in plain.types}
    names = {name: value for name, value in named.items() if name in known}
    kept = {name: entry for name, entry in entries.items() if name in names}
    constants = {source.source_names.get(value, value): value for value in source.constants}
    for name, entry in kept.items():
        value = names[name]
        if value in plain.constants and not _is_same(plain, value, source, constants.get(name)):
            kept[name] = _keep_width(name, entry, is_param=True)
    for node in reversed(plain.nodes):
        for value in node.outputs:
            name = plain.source_names.get(value, value)
            reader = (
                None
                if name in kept or not is_real(plain, value)
                else _find_reader_encoding(plain, value, kept)
            )
            if reader is not None:
                kept[name] = _keep_width(name, reader, is_param=False)
    return EncodingSet(tuple(entry for name, entry in kept.items() if name in names))


def _is_same(plain: Graph, value: str, source: Graph, other: str | None) -> bool:
    if other is None:
        return False
    one, two = plain.constants[value], source.constants[other]
    return one.shape == two.shape and bool((one == two).all())


def _find_reader_encoding(
    graph: Graph, value: str, known: dict[str, TensorEncoding]
) -> TensorEncoding | None:
    """The encoding of what the first reader of a value makes."""
    for node in graph.consumers(value):
        for output in node.outputs:
            encoding = known.get(graph.source_names.get(output, output))
            if encoding is not None:
                return encoding
    return None


def _keep_width(name: str, entry: TensorEncoding, *, is_param: bool) -> TensorEncoding:
    return TensorEncoding(name, entry.bits, is_param, is_float=entry.is_float)
