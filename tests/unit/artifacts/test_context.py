"""Our own context binaries: what is written is read back, and nothing in a stranger's file is trusted."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from edgewright.artifacts.context import reader, writer
from edgewright.artifacts.context.frame import MAGIC, frame_file, is_framed, open_frame
from edgewright.artifacts.context.records import Context, ContextHead
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedFeature
from edgewright.core.files import write_whole
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnScalar
from tests.unit.artifacts.graphs import conv_graph, every_dtype_graph, quantized_graph, same_graph, static

GRAPHS = [conv_graph, quantized_graph, every_dtype_graph]
HEAD = ContextHead(
    "htp-sim", "edgewright 1", "SM8650", 57, 75, 8, "high", settings={"tiny_conv": {"vtcm_mb": 4}}
)


def save(folder, *graphs, head=HEAD):
    path = folder / "m.bin"
    write_whole(path, writer.to_chunks(Context(head, graphs)))
    return path


def resealed(path, change):
    """The file with another description and a checksum that fits: what a hostile writer would make."""
    frame = open_frame(path)
    document = json.loads(frame.description)
    change(document)
    write_whole(path, frame_file(json.dumps(document).encode(), [bytes(frame.data)], len(frame.data)))
    return path


@pytest.mark.parametrize("make", GRAPHS)
def test_a_context_is_read_as_it_was_written(make, tmp_path):
    found = reader.read(save(tmp_path, make()))
    same_graph(found.graphs[0], make())
    assert found.head == HEAD


def test_several_graphs_keep_their_order_and_names(tmp_path):
    first, second = conv_graph(), replace(quantized_graph(), name="second")
    found = reader.read(save(tmp_path, first, second))
    assert [graph.name for graph in found.graphs] == ["tiny_conv", "second"]
    same_graph(found.graphs[1], second)


def test_two_graphs_of_one_name_are_refused():
    with pytest.raises(BadInput, match="2 graphs are named 'tiny_conv'"):
        list(writer.to_chunks(Context(HEAD, (conv_graph(), conv_graph()))))


def test_weight_sharing_stores_the_same_weights_once(tmp_path):
    pair = (conv_graph(), replace(conv_graph(), name="other"))
    apart = save(tmp_path, *pair).stat().st_size
    path = save(tmp_path, *pair, head=replace(HEAD, is_weight_sharing=True))
    assert path.stat().st_size < apart
    for found, wanted in zip(reader.read(path).graphs, pair, strict=True):
        same_graph(found, wanted)


def test_the_same_context_gives_the_same_bytes():
    first, second = (b"".join(writer.to_chunks(Context(HEAD, (conv_graph(),)))) for _ in range(2))
    assert first == second


def test_weights_are_aligned_views_of_the_file(tmp_path):
    data = reader.read(save(tmp_path, conv_graph())).graphs[0].tensors["w"].data
    assert not data.flags.writeable
    assert not data.flags.owndata
    assert data.ctypes.data % 64 == 0


@pytest.mark.parametrize(
    "encoding",
    [
        Encoding((0.5, 0.25), (0, 0), 1, 4, 0, 2, (1, 2, 3, 4)),
        Encoding((0.5, 0.25, 1.0, 2.0), (0, 0, 0, 0), 1, 4, 0, 2),
        Encoding((0.1, 0.0), (-8, -8), 1, 4),
    ],
)
def test_blockwise_and_narrow_encodings_come_back(encoding, tmp_path):
    graph = conv_graph()
    data = np.arange(8, dtype=np.int8).reshape(4, 2)
    graph.tensors["w"] = static("w", data, DType.SFIXED_POINT_8, encoding=encoding)
    assert reader.read(save(tmp_path, graph)).graphs[0].tensors["w"].encoding == encoding


def test_four_bits_are_packed_and_come_back(tmp_path):
    graph = conv_graph()
    data = (np.arange(100_000) % 16 - 8).astype(np.int8).reshape(50, 2000)
    encoding = Encoding((0.5,), (0,), None, 4)
    graph.tensors["w"] = static("w", data, DType.SFIXED_POINT_4, encoding=encoding)
    path = save(tmp_path, graph)
    assert path.stat().st_size < 60_000
    np.testing.assert_array_equal(reader.read(path).graphs[0].tensors["w"].data, data)


def test_many_tensors_that_unpack_the_same_bytes_are_refused(tmp_path):
    graph = conv_graph()
    data = np.zeros((64, 64), np.int8)
    graph.tensors["w"] = static("w", data, DType.SFIXED_POINT_4, encoding=Encoding((0.5,), (0,), None, 4))

    def repeat(document):
        tensors = document["graphs"][0]["tensors"]
        tensors += [tensors_of(document)["w"] | {"name": f"w{number}"} for number in range(10)]

    with pytest.raises(LimitExceeded, match="bytes of memory"):
        reader.read(resealed(save(tmp_path, graph), repeat))


def test_infinite_scalars_come_back(tmp_path):
    graph = conv_graph()
    graph.nodes[1].scalar_params["max_value"] = QnnScalar(DType.FLOAT_32, float("inf"))
    found = reader.read(save(tmp_path, graph)).graphs[0].nodes[1]
    assert found.scalar_params["max_value"].value == float("inf")


def test_one_changed_byte_anywhere_is_found(tmp_path):
    path = save(tmp_path, conv_graph())
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises((BadInput, UnsupportedFeature, LimitExceeded)):
            reader.read(path)


def test_a_cut_off_or_longer_file_is_found(tmp_path):
    path = save(tmp_path, conv_graph())
    whole = path.read_bytes()
    for content in (b"", whole[:5], whole[:40], whole[:-1], whole[: len(whole) // 2], whole + b"\0"):
        path.write_bytes(content)
        with pytest.raises(BadInput):
            reader.read(path)


def test_a_newer_version_says_so(tmp_path):
    path = save(tmp_path, conv_graph())
    whole = bytearray(path.read_bytes())
    whole[8] = 2
    path.write_bytes(whole)
    with pytest.raises(UnsupportedFeature, match=r"version 2\.0, version 1 is read"):
        reader.read(path)


def test_a_description_of_a_claimed_gigabyte_is_refused_before_memory(tmp_path):
    path = save(tmp_path, conv_graph())
    whole = bytearray(path.read_bytes())
    whole[16:24] = (1 << 40).to_bytes(8, "little")
    path.write_bytes(whole)
    with pytest.raises(LimitExceeded, match="description has 1099511627776 bytes"):
        reader.read(path)


def tensors_of(document):
    return {tensor["name"]: tensor for tensor in document["graphs"][0]["tensors"]}


LIES = {
    "data beyond the file": lambda d: tensors_of(d)["w"].update(data=10**9),
    "negative place": lambda d: tensors_of(d)["w"].update(data=-1),
    "dims of an exabyte": lambda d: tensors_of(d)["w"].update(dims=[2**31, 2**31]),
    "more axes than any tensor": lambda d: tensors_of(d)["w"].update(dims=[1] * 100_000),
    "unknown datatype": lambda d: tensors_of(d)["w"].update(dtype=7),
    "unknown kind": lambda d: tensors_of(d)["w"].update(kind=99),
    "no name": lambda d: tensors_of(d)["w"].pop("name"),
    "texts as weights": lambda d: tensors_of(d)["w"].update(dtype=0x608),
    "a name to steer a terminal": lambda d: tensors_of(d)["w"].update(name="\x1b[2J"),
    "wrong order": lambda d: d["graphs"][0]["nodes"].reverse(),
    "unknown input": lambda d: d["graphs"][0]["nodes"][0]["inputs"].append("nowhere"),
    "scalar without type": lambda d: d["graphs"][0]["nodes"][0]["scalars"].update(group=5),
    "no graphs": lambda d: d.update(graphs=[]),
    "graphs are a number": lambda d: d.update(graphs=3),
    "a graph is null": lambda d: d.update(graphs=[None]),
    "the same graph twice": lambda d: d["graphs"].append(d["graphs"][0]),
    "unknown backend": lambda d: d["head"].update(backend="hta"),
    "head is a list": lambda d: d.update(head=[]),
    "soc is a text": lambda d: d["head"].update(soc_model="57"),
    "encoding of too many scales": lambda d: tensors_of(d)["w"].update(
        encoding={"bitwidth": 8, "scales": [1.0, 2.0], "offsets": [0, 0]}
    ),
    "a scale that is no number": lambda d: tensors_of(d)["w"].update(
        encoding={"bitwidth": 8, "scales": ["nan"], "offsets": [0]}
    ),
    "blocks without an axis": lambda d: tensors_of(d)["w"].update(
        encoding={
            "bitwidth": 8,
            "scales": [1.0],
            "offsets": [0],
            "blocks": {"axis": 0, "size": 1, "scales": []},
        }
    ),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_with_a_fitting_checksum_is_one_error(lie, tmp_path):
    path = resealed(save(tmp_path, conv_graph()), lie)
    with pytest.raises((BadInput, LimitExceeded)) as found:
        reader.read(path)
    assert str(path) in str(found.value)


def test_random_values_in_the_description_never_escape_as_another_error(tmp_path):
    rng = np.random.default_rng(3)
    junk = [None, -1, 2**70, 1.5, "x", [], {}, True, "inf", [[]], {"a": 1}]
    original = save(tmp_path, quantized_graph()).read_bytes()
    for _ in range(300):
        path = tmp_path / "m.bin"
        path.write_bytes(original)
        resealed(path, lambda document: _disturb(document, rng, junk))
        with suppress(EdgewrightError):
            reader.read(path)


def _disturb(document, rng, junk):
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(here[key], dict | list) or not here[key] or rng.random() < 0.1:
            here[key] = junk[int(rng.integers(len(junk)))]
            return
        here = here[key]


def test_a_file_of_ours_is_distinguished_from_others(tmp_path):
    other = tmp_path / "other.bin"
    other.write_bytes(b"\0\0\0\2" + bytes(64))
    assert is_framed(save(tmp_path, conv_graph()))
    assert not is_framed(other)
    assert MAGIC not in other.read_bytes()
