"""Records to a DLC: one file with graphs, weights and history."""

import struct
from collections.abc import Iterator, Sequence
from enum import Enum

from edgewright.artifacts.description import Description, check_unique
from edgewright.artifacts.dlc import metadata
from edgewright.artifacts.dlc.model_writer import write_model
from edgewright.artifacts.dlc.params_writer import LARGEST_INLINE, Params
from edgewright.artifacts.dlc.tables import BLOB_HEADER
from edgewright.artifacts.dlc.zip_writer import Chunks, Member
from edgewright.artifacts.dlc.zip_writer import to_chunks as zipped
from edgewright.artifacts.net_json.fields import as_name
from edgewright.core.errors import BadInput, LimitExceeded, Where
from edgewright.lower.qnn_graph import QnnGraph


class DlcVersion(Enum):
    """Major and minor version of the container."""

    V4_0 = (4, 0)
    V4_1 = (4, 1)


def to_chunks(
    graphs: QnnGraph | Sequence[QnnGraph], description: Description, version: DlcVersion | None = None
) -> Iterator[bytes | memoryview]:
    """The file; the same graphs always give the same bytes.

    Args:
        graphs: one or several, of different names.
        description: the metadata of the file.
        version: 4.0 holds weights beside their names, 4.1 in a separate member. If not given,
            4.0 up to its limit of 2 GB.
    """
    graphs = [graphs] if isinstance(graphs, QnnGraph) else list(graphs)
    _check(graphs)
    params = Params(graphs)
    version = _choose_version(params.size, version)
    model = bytes(write_model(graphs, description))
    header = struct.pack(BLOB_HEADER, b"\xd5\x0a", *version.value)
    if version == DlcVersion.V4_0:
        about = Member(metadata.TEXT_NAME, lambda: [metadata.as_text(graphs, description)])
        data = [Member("model.params", lambda: _prepend_header(header, params.inline()))]
    else:
        about = Member(metadata.JSON_NAME, lambda: [metadata.as_json(graphs, description)])
        data = [Member("model.params", lambda: _prepend_header(header, params.index()))]
        if params.size:
            data.append(Member("model.params.bin", params.raw))
    yield from zipped([about, Member("model", lambda: [header, model]), *data])


def _prepend_header(header: bytes, chunks: Chunks) -> Iterator[bytes | memoryview]:
    yield header
    yield from chunks


def _choose_version(size: int, wanted: DlcVersion | None) -> DlcVersion:
    if wanted == DlcVersion.V4_0 and size > LARGEST_INLINE:
        raise LimitExceeded(
            f"the weights have {size} bytes, a DLC 4.0 holds at most {LARGEST_INLINE}",
            do="write version 4.1, or store the weights in fewer bits",
        )
    return wanted or (DlcVersion.V4_0 if size <= LARGEST_INLINE else DlcVersion.V4_1)


def _check(graphs: Sequence[QnnGraph]) -> None:
    """Any printable name is allowed: names do not become file names or source code."""
    if not graphs:
        raise BadInput("there is no graph to write, expected at least one")
    check_unique("graph", [graph.name for graph in graphs])
    for graph in graphs:
        params = [param.name for node in graph.nodes for param in node.tensor_params.values()]
        nodes = [node.name for node in graph.nodes]
        check_unique("tensor", [*graph.tensors, *params])
        check_unique("node", nodes)
        for name in (graph.name, *graph.tensors, *params, *nodes):
            as_name(name, "a name", Where(detail=f"graph '{graph.name}'"))
