"""Artifacts that declare other sizes than they store: refused before anything is read or allocated."""

import json
import struct

import numpy as np
import pytest

from edgewright.artifacts.context import reader as context_reader
from edgewright.artifacts.cpp.bin import open_weights
from edgewright.artifacts.dlc import reader as dlc_reader
from edgewright.artifacts.dlc.writer import DlcVersion
from edgewright.artifacts.encodings import load_encodings
from edgewright.artifacts.net_json import reader as json_reader
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnNode, TensorKind
from tests.declared_sizes import SIX, WIDE, check_refused, each
from tests.unit.artifacts import test_context, test_net_json, test_weight_tar
from tests.unit.artifacts.graphs import graph_of, static, tensor
from tests.unit.artifacts.test_dlc_hostile import contents, zipped

NUMBERS = (0, 1, 23, 25, 2**31, 2**32, 2**62, 2**63 - 1, -1, -24)


def sum_graph(weight=SIX, dtype=None):
    """A sum with six weights."""
    tensors = [
        tensor("x", TensorKind.APP_WRITE, dims=weight.shape),
        static("w", weight, dtype),
        tensor("y", TensorKind.APP_READ, dims=weight.shape),
    ]
    return graph_of(
        "sum", tensors, [QnnNode("add", "qti.aisw", "ElementWiseAdd", {}, {}, ("x", "w"), ("y",))]
    )


STORED = {
    "floats": sum_graph(),
    "bytes": sum_graph(np.ones(6, np.int8)),
    "nibbles": sum_graph(np.ones(6, np.int8), DType.SFIXED_POINT_4),
    "flags": sum_graph(np.ones(6, np.bool_)),
}


# net.json and its model.bin


def changed_json(folder, graph, size):
    path = test_net_json.save(folder, graph)
    document = json.loads(path.read_bytes())
    document["graph"]["tensors"]["w"]["dims"] = list(size)
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("graph", list(STORED.values()), ids=list(STORED))
@each(WIDE)
def test_dims_of_a_net_json_agree_with_its_weights(graph, size, tmp_path):
    path = changed_json(tmp_path, graph, size)
    if size == (5,) and graph is STORED["nibbles"]:
        return  # takes three bytes as well
    check_refused(lambda: json_reader.read(path))


@pytest.mark.parametrize("count", [0, 1, 23, 25, 28, 48])
def test_members_of_a_model_bin_have_the_size_of_their_tensor(count, tmp_path):
    path = test_net_json.save(tmp_path, sum_graph())
    content = (SIX.tobytes() * 2)[:count]
    (tmp_path / "m.bin").write_bytes(test_weight_tar.tar_of(("w.raw", content)))
    check_refused(lambda: json_reader.read(path))


@pytest.mark.parametrize("size", [1, 23, 600, 2**31, 2**33 - 1])
def test_members_of_a_model_bin_lie_within_it(size, tmp_path):
    raw = bytearray(test_weight_tar.tar_of(("w.raw", SIX.tobytes())))
    raw[124:136] = f"{size:011o}\0".encode()
    raw[148:156] = b" " * 8
    raw[148:156] = f"{sum(raw[:512]):06o}\0 ".encode()
    (tmp_path / "m.bin").write_bytes(raw)
    check_refused(lambda: open_weights(tmp_path / "m.bin").array("w", DType.FLOAT_32, (6,)))


# context binaries


def changed_context(folder, graph, **fields):
    def change(document):
        (found,) = (item for item in document["graphs"][0]["tensors"] if item["name"] == "w")
        found |= fields

    return test_context.resealed(test_context.save(folder, graph), change)


# Data is padded, and nothing else says how much of it there is: a few elements make another right file.
NEAR = {(5,), (1,), (0,), (6, 0), (7,), (6, 2)}


@pytest.mark.parametrize("graph", list(STORED.values()), ids=list(STORED))
@each({name: size for name, size in WIDE.items() if size not in NEAR})
def test_dims_of_a_context_agree_with_its_data(graph, size, tmp_path):
    path = changed_context(tmp_path, graph, dims=size)
    check_refused(lambda: context_reader.read(path))


@pytest.mark.parametrize("place", [number for number in NUMBERS if number])
def test_data_of_a_context_lies_within_it(place, tmp_path):
    path = changed_context(tmp_path, sum_graph(), data=place + 64 if place > 0 else place)
    check_refused(lambda: context_reader.read(path))


# DLCs

CUBE = (61, 67, 71)
CHANGED = {
    "shorter": (61, 67, 70),
    "longer": (61, 67, 72),
    "none": (61, 67, 0),
    "2^31": (2**31, 1, 1),
    "2^32-1": (2**32 - 1, 1, 1),
    "wraps around 2^32": (2**31 + 61 * 67 * 71, 2, 1),
    "2^96": (2**32 - 1,) * 3,
    "nothing times much": (0, 2**32 - 1, 2**32 - 1),
}


@pytest.mark.parametrize("version", list(DlcVersion))
@pytest.mark.parametrize("dtype", [DType.INT_8, DType.SFIXED_POINT_4, DType.BOOL_8])
@each(CHANGED)
def test_dims_of_a_dlc_agree_with_its_weights(version, dtype, size, tmp_path):
    members = contents(sum_graph(np.zeros(CUBE, dtype.numpy), dtype), version)
    before = struct.pack("<4I", 3, *CUBE)
    parts = members["model"].split(before)
    assert len(parts) > 2  # x, w and y, in the order of their writing
    members["model"] = struct.pack("<4I", 3, *size).join(parts)
    (tmp_path / "m.dlc").write_bytes(zipped(members.items()))
    check_refused(lambda: dlc_reader.read(tmp_path / "m.dlc"))


@pytest.mark.parametrize("number", [0, 1, 290176, 290178, 2**31, 2**32, 2**63 - 1, -1, -(2**63)])
def test_weights_of_a_dlc_lie_within_their_member(number, tmp_path):
    members = contents(sum_graph(np.zeros(CUBE, np.int8)), DlcVersion.V4_1)
    before = struct.pack("<q", 61 * 67 * 71)
    assert members["model.params"].count(before) == 1
    members["model.params"] = members["model.params"].replace(before, struct.pack("<q", number))
    (tmp_path / "m.dlc").write_bytes(zipped(members.items()))
    check_refused(lambda: dlc_reader.read(tmp_path / "m.dlc"))


@pytest.mark.parametrize("count", [0, 1, 290176])
@pytest.mark.parametrize("version", list(DlcVersion))
def test_a_dlc_whose_weights_are_cut(version, count, tmp_path):
    members = contents(sum_graph(np.zeros(CUBE, np.int8)), version)
    name = "model.params.bin" if version == DlcVersion.V4_1 else "model.params"
    members[name] = members[name][:count]
    (tmp_path / "m.dlc").write_bytes(zipped(members.items()))
    check_refused(lambda: dlc_reader.read(tmp_path / "m.dlc"))


# files of encodings

ENTRY = {"name": "w", "dtype": "INT", "enc_type": "PER_CHANNEL", "bw": 8, "is_sym": True}
LISTS = {
    "fewer offsets": {"scale": [0.1] * 6, "offset": [-128] * 5},
    "more offsets": {"scale": [0.1] * 6, "offset": [-128] * 7},
    "no offsets": {"scale": [0.1] * 6, "offset": []},
    "a width of 0": {"bw": 0, "scale": [0.1], "offset": [-128]},
    "a negative width": {"bw": -8, "scale": [0.1], "offset": [-128]},
    "a width of 2^31": {"bw": 2**31, "scale": [0.1], "offset": [-128]},
    "an offset of 2^63": {"scale": [0.1], "offset": [2**63]},
    "blocks of 2^63": {"scale": [0.1], "offset": [-128], "block_size": 2**63},
    "blocks of -1": {"scale": [0.1], "offset": [-128], "block_size": -1},
}


@each(LISTS)
def test_encodings_have_the_sizes_that_they_declare(size, tmp_path):
    document = {"version": "1.0.0", "activation_encodings": [], "param_encodings": [ENTRY | size]}
    (tmp_path / "e.json").write_text(json.dumps(document))
    check_refused(lambda: load_encodings(tmp_path / "e.json"), values=1)
