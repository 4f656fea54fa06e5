"""DLC files of strangers: damaged, cut off, lying; each is read or refused with a message."""

import io
import json
import struct
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader, tables, writer, zip_writer
from edgewright.artifacts.dlc.flat_writer import FlatWriter
from edgewright.artifacts.dlc.writer import DlcVersion
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import TensorKind
from tests.unit.artifacts.graphs import conv_graph, graph_of, quantized_graph, same_graph, static, tensor

ABOUT = Description(command="a-tool k=v")
HEADER = bytes.fromhex("d50a040000000000")


def contents(graph=None, version=DlcVersion.V4_0):
    raw = b"".join(writer.to_chunks(conv_graph() if graph is None else graph, ABOUT, version))
    with zipfile.ZipFile(io.BytesIO(raw)) as found:
        return {name: found.read(name) for name in found.namelist()}


def zipped(members):
    return b"".join(zip_writer.to_chunks([zip_writer.Member(n, lambda c=c: [c]) for n, c in members]))


def without_checksums(raw):
    """As genuine writers leave them: 0. Damage then reaches the tables."""
    raw = bytearray(raw)
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as found:
        offsets = [item.header_offset for item in found.infolist()]
        entry = found.start_dir
    for offset in offsets:
        raw[offset + 14 : offset + 18] = bytes(4)
        raw[entry + 16 : entry + 20] = bytes(4)
        entry += 46 + sum(struct.unpack_from("<HHH", raw, entry + 28))
    return bytes(raw)


def read_bytes(folder, raw):
    path = folder / "m.dlc"
    path.write_bytes(raw)
    return reader.read(path)


def with_model(folder, root, **others):
    """Reads a file whose model was written by `root`, a function that gets a FlatWriter."""
    flat = FlatWriter()
    model = HEADER + bytes(flat.finished(root(flat), b"NETD"))
    return read_bytes(folder, zipped({**contents(), "model": model, **others}.items()))


def test_a_file_without_checksums_is_read(tmp_path):
    raw = without_checksums(zipped(contents().items()))
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(raw)).read("model")
    same_graph(read_bytes(tmp_path, raw).graphs[0], conv_graph())


def test_a_changed_bit_is_found_by_its_checksum(tmp_path):
    raw = bytearray(zipped(contents().items()))
    raw[raw.index(conv_graph().tensors["w"].data.tobytes()) + 5] ^= 1
    with pytest.raises(BadInput, match=r"member 'model\.params' has the checksum"):
        read_bytes(tmp_path, raw)


# --- the zip -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../model", "/etc/passwd", "a/../../b", "..\\b", "a//b", "a\nb"])
def test_a_member_that_leads_out_of_the_container_is_refused(name, tmp_path):
    with pytest.raises(BadInput, match="leads out of the container"):
        read_bytes(tmp_path, zipped([*contents().items(), (name, b"x")]))


def test_two_members_of_one_name_are_refused(tmp_path):
    with pytest.raises(BadInput, match="there are two members 'model'"):
        read_bytes(tmp_path, zipped([*contents().items(), ("model", b"x")]))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (24, 10**6, r"has .* bytes, and .* when read"),
        (42, 0, "is not at byte 0"),
        (42, 10**9, "past the end"),
        (10, 8, "compressed by method 8"),
        (8, 1, "is encrypted"),
    ],
    ids=["size", "offset-of-another", "offset-past-the-end", "deflated", "encrypted"],
)
def test_an_entry_that_lies_is_refused(place, value, message, tmp_path):
    raw = bytearray(zipped(contents().items()))
    entry = zipfile.ZipFile(io.BytesIO(bytes(raw))).start_dir
    entry += 46 + len("dlc.metadata")  # the second: model
    width = "<H" if place in {8, 10} else "<I"
    struct.pack_into(width, raw, entry + place, value)
    with pytest.raises((BadInput, UnsupportedFeature), match=message):
        read_bytes(tmp_path, raw)


def test_members_larger_than_the_file_or_in_each_other_are_refused(tmp_path):
    raw = bytearray(zipped(contents().items()))
    entry = zipfile.ZipFile(io.BytesIO(bytes(raw))).start_dir + 46 + len("dlc.metadata")
    struct.pack_into("<III", raw, entry + 16, 0, 10**9, 10**9)
    with pytest.raises(BadInput, match=r"'model' has 1000000000 bytes, \d+ are there"):
        read_bytes(tmp_path, raw)
    size = len(contents()["model"]) + 50
    struct.pack_into("<III", raw, entry + 16, 0, size, size)
    with pytest.raises(BadInput, match=r"members 'model' and 'model\.params' overlap"):
        read_bytes(tmp_path, raw)


@pytest.mark.parametrize(
    ("place", "form", "value", "message"),
    [
        (10, "<H", 2**16 - 1, "large end record is missing"),
        (10, "<H", 2000, "lists 2000 members, at most 1000"),
        (10, "<H", 9, "the list of 9 members ends early"),
        (16, "<I", 2**32 - 1, "large end record is missing"),
        (16, "<I", 10**9, "the list of members takes bytes"),
        (12, "<I", 10**9, "the list of members takes bytes"),
        (0, "<I", 0, "the end of the zip is missing"),
    ],
)  # fmt: skip
def test_an_end_of_the_zip_that_lies_is_refused(place, form, value, message, tmp_path):
    raw = bytearray(zipped(contents().items()))
    struct.pack_into(form, raw, len(raw) - 22 + place, value)
    with pytest.raises((BadInput, LimitExceeded), match=message):
        read_bytes(tmp_path, raw)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", bytes(22), np.random.default_rng(7).bytes(500), b'{"graph": {}}' * 9],
    ids=["empty", "magic", "zeros", "random", "json"],
)
def test_what_is_no_dlc_is_refused(content, tmp_path):
    with pytest.raises(BadInput, match=r"a DLC has at least 22|end of the zip is missing"):
        read_bytes(tmp_path, content)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        reader.read(tmp_path / "m.dlc")
    with pytest.raises(BadInput, match="is a folder"):
        reader.read(tmp_path)


# --- members -----------------------------------------------------------------------------------------------

MEMBERS = {
    "no-model": ({"model": None}, "no member 'model'"),
    "model-empty": ({"model": b""}, "'model' has 0 bytes"),
    "model-header-only": ({"model": HEADER}, "'model' has 0 bytes, a FlatBuffer"),
    "model-magic": ({"model": b"\0" * 40}, "starts with 0000, expected d50a"),
    "version-3": ({"model": b"\xd5\x0a\x03\0\0\0\0\0" + bytes(40)}, r"version 3\.0, 4\.0 and 4\.1 are read"),
    "other-kind": ({"model": contents()["model.params"]}, "of the kind b'NETP', expected b'NETD'"),
    "params-64-bits": ({"model.params": HEADER + b"\x08\0\0\0NR64" + bytes(8)}, "kind b'NR64'"),
    "no-params": ({"model.params": None}, "there is no data for it among 0 tensors"),
    "no-raw-data": ({"model.params.bin": None}, r"bytes 0 to 96 of 'model\.params\.bin', which has 0"),
    "raw-data-cut": ({"model.params.bin": b"12345678"}, r"bytes 0 to 96 of .* which has 8"),
    "notes-not-json": ({"dlc.metadata": b"edgewright={"}, "not JSON"),
    "notes-a-list": ({"dlc.metadata": b"edgewright=[]"}, "a list, expected an object"),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_a_member_that_is_not_what_it_must_be_is_refused(case, tmp_path):
    changes, message = MEMBERS[case]
    old = contents(version=DlcVersion.V4_1 if case in {"no-raw-data", "raw-data-cut"} else DlcVersion.V4_0)
    members = [(name, content) for name, content in {**old, **changes}.items() if content is not None]
    with pytest.raises((BadInput, UnsupportedFeature), match=message):
        read_bytes(tmp_path, zipped(members))


def test_words_of_other_tools_about_the_file_never_matter(tmp_path):
    members = {**contents(), "dlc.metadata": b"\xff\xfe = \n\n=\nconverter-command=snpe a=b\r\nx"}
    assert read_bytes(tmp_path, zipped(members.items())).description.command == "snpe a=b"


def test_the_history_of_newer_tools_names_the_command(tmp_path):
    step = {"converterCommand": {"tool": "qairt-converter", "args": {"a": "b"}}}
    history = json.dumps({"header": {}, "dlcGenerationInfo": [step]}).encode()
    members = contents(version=DlcVersion.V4_1)
    del members["dlc.metadata2.0.0"]
    members |= {"dlc.metadata.history.2.3.0": history, "dlc.metadata2.3.0": b'{"header": {}}'}
    assert read_bytes(tmp_path, zipped(members.items())).description.command == "qairt-converter a=b"


NOTES = {
    "order": ({"layouts": {"x": ["NFC", [0, 0, 1, 2]]}}, "expected one of the 4 axes"),
    "layout": ({"layouts": {"x": "NFC"}}, "expected a name and an order"),
    "axis": ({"layouts": {"x": ["NFC", [-1]]}}, "expected 0 to 31"),
    "macs": ({"macs": {"conv": -1}}, "'macs' is -1"),
    "names": ({"source_names": {"x": 5}}, "'x' is '5', expected a text"),
}


@pytest.mark.parametrize("case", NOTES)
def test_notes_that_cannot_be_are_refused(case, tmp_path):
    notes, message = NOTES[case]
    line = "edgewright=" + json.dumps({"texts": {}, "graphs": {"tiny_conv": notes}})
    with pytest.raises(BadInput, match=message):
        read_bytes(tmp_path, zipped({**contents(), "dlc.metadata": line.encode()}.items()))


# --- tables ------------------------------------------------------------------------------------------------


def graph_table(flat, tensors=(), nodes=(), name="tiny_conv"):
    return flat.table(
        {
            tables.GraphSlot.NAME: ("o", flat.text(name)),
            tables.GraphSlot.NODES: ("o", flat.vector(nodes)),
            tables.GraphSlot.TENSORS: ("o", flat.vector(tensors)),
        }
    )


def model_of(*graphs):
    return lambda flat: flat.table({0: ("o", flat.vector([graph(flat) for graph in graphs]))})


def one_tensor(**changes):
    """A model of one tensor, with fields of its table replaced."""

    def root(flat):
        slots = tables.TensorSlot
        fields = {
            slots.NAME: ("o", flat.text("w")),
            slots.KIND: ("i", 4),
            slots.DIMS: ("o", flat.numbers(changes.get("dims", (2, 2, 3, 2)))),
            slots.DTYPE: ("I", changes.get("dtype", 0x232)),
        }
        if "kind" in changes:
            fields[slots.KIND] = ("i", changes["kind"])
        if "encoding" in changes:
            fields[slots.ENCODING] = ("o", changes["encoding"](flat))
        if "name" in changes:
            fields[slots.NAME] = ("o", flat.text(changes["name"]))
        return model_of(lambda f: graph_table(f, [f.table(fields)] * changes.get("times", 1)))(flat)

    return root


def encoding(code, step=None, axis=None):
    def root(flat):
        fields = {0: ("I", code)}
        if step is not None:
            fields[2] = ("o", flat.table(step))
        if axis is not None:
            steps = [flat.table({0: ("I", width), 3: ("f", 1.0)}) for width in axis[1]]
            fields[3] = ("o", flat.table({0: ("i", axis[0]), 1: ("o", flat.vector(steps))}))
        return flat.table(fields)

    return root


TENSORS = {
    "kind": ({"kind": 9}, "tensor type is 9, expected 0 to 5"),
    "kind-negative": ({"kind": -1}, "tensor type is -1"),
    "dtype": ({"dtype": 563}, "data type 563"),
    "rank": ({"dims": (1,) * 40}, "a list of 40, expected at most 32"),
    "size": ({"dims": (2**31, 2**31, 2**31)}, "at most .* fit"),
    "bytes": ({"dims": (7,)}, r"the data has 96 bytes, FLOAT_32 \[7\] needs 28"),
    "text": ({"dtype": 0x608}, "holds strings"),
    "name": ({"name": "a\nb"}, "expected a name of 1 to 4096"),
    "long-name": ({"name": "a" * 5000}, "expected a name of 1 to 4096"),
    "huge-name": ({"name": "a" * (1 << 21)}, "a text of 2097152 bytes"),
    "unknown-data": ({"name": "v"}, "no data for it among 2 tensors"),
    "twice": ({"times": 2}, "two tensors of that name"),
    "encoding": ({"encoding": encoding(99)}, "encoding is 99, expected 0 to 7"),
    "blocks": ({"encoding": encoding(4)}, r"encoding 4 \(scales of blocks, or vectors\) is not read"),
    "no-axis": ({"encoding": encoding(1)}, "names none"),
    "axis": ({"encoding": encoding(1, axis=(4, [8]))}, "axis is 4, the tensor has 4 axes"),
    "axis-negative": ({"encoding": encoding(1, axis=(-1, [8]))}, "axis is -1"),
    "count": ({"encoding": encoding(1, axis=(0, [8] * 3))}, "3 scales along axis 0, the tensor has 2"),
    "widths": ({"encoding": encoding(3, axis=(0, [8, 4]))}, r"bit widths differ along the axis: \[4, 8\]"),
    "width": ({"encoding": encoding(0, {0: ("I", 64), 3: ("f", 1.0)})}, "64 bits, expected at most 32"),
    "scale": ({"encoding": encoding(0, {3: ("f", -1.0)})}, "the scale is -1.0"),
    "scale-nan": ({"encoding": encoding(0, {3: ("f", float("nan"))})}, "the scale is nan"),
}


@pytest.mark.parametrize("case", TENSORS)
def test_a_tensor_that_cannot_be_is_refused(case, tmp_path):
    changes, message = TENSORS[case]
    with pytest.raises((BadInput, LimitExceeded, UnsupportedFeature), match=message):
        with_model(tmp_path, one_tensor(**changes))


def test_no_graph_and_two_of_one_name_are_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no graph"):
        with_model(tmp_path, model_of())
    with pytest.raises(BadInput, match="2 graphs are named"):
        with_model(tmp_path, model_of(graph_table, graph_table))


def test_nodes_that_do_not_fit_their_tensors_are_refused(tmp_path):
    def root(flat):
        node = flat.table(
            {0: ("o", flat.text("n")), 1: ("o", flat.text("Relu")), 2: ("o", flat.texts(["q"]))}
        )
        return graph_table(flat, nodes=[node])

    with pytest.raises(BadInput, match="input 'q' is not among the tensors"):
        with_model(tmp_path, model_of(root))


def test_a_small_file_that_describes_a_huge_tree_is_refused(tmp_path):
    def root(flat):
        node = flat.table({0: ("o", flat.text("n" * 4000)), 1: ("o", flat.text("Relu"))})
        graph = graph_table(flat, nodes=[node] * 20_000)
        return flat.table({0: ("o", flat.vector([graph] * 20_000))})

    with pytest.raises(LimitExceeded, match="refers to its parts too often"):
        with_model(tmp_path, root)


def test_many_flags_at_one_place_are_not_copied_out_of_a_small_file(tmp_path):
    flags = np.zeros(1 << 16, np.bool_)
    graph = graph_of("g", [static(f"w{i}", flags, DType.BOOL_8) for i in range(300)], [])
    members = contents(graph, DlcVersion.V4_1)
    # All of them at the first place: 19 MB of tensors out of 64 kB.
    raw = bytearray(members["model.params"])
    for i in range(1, 300):
        place = raw.index(struct.pack("<qq", *_offset_and_size(raw, i)))
        raw[place : place + 16] = struct.pack("<qq", *_offset_and_size(raw, 0))
    members |= {"model.params": bytes(raw), "model.params.bin": members["model.params.bin"][: 1 << 16]}
    with pytest.raises(LimitExceeded, match="tensors need more than"):
        read_bytes(tmp_path, zipped(members.items()))


def _offset_and_size(raw, index):
    pair = (index << 16, 1 << 16)
    swapped = pair[::-1]
    return pair if struct.pack("<qq", *pair) in raw else swapped


# --- anything ----------------------------------------------------------------------------------------------


def quantized_and_plain():
    return [quantized_graph(), replace(conv_graph(), name="plain")]


@pytest.mark.parametrize("version", list(DlcVersion))
def test_a_file_cut_off_anywhere_is_refused(version, tmp_path):
    raw = without_checksums(zipped(contents(quantized_and_plain(), version).items()))
    for size in range(0, len(raw), 97):
        with pytest.raises(EdgewrightError):
            read_bytes(tmp_path, raw[:size])


@pytest.mark.parametrize("version", list(DlcVersion))
@pytest.mark.parametrize("name", ["model", "model.params"])
def test_tables_with_any_number_anywhere_are_read_or_refused(name, version, tmp_path):
    members = contents(quantized_and_plain(), version)
    rng = np.random.default_rng(0)
    numbers = [0, 1, 2, 4, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 8, len(members[name])]
    for _ in range(400):
        changed = bytearray(members[name])
        for place in rng.integers(0, len(changed) // 4, rng.integers(1, 4)):
            struct.pack_into("<I", changed, 4 * int(place), numbers[rng.integers(len(numbers))])
        # Any other exception fails the test.
        with suppress(EdgewrightError):
            read_bytes(tmp_path, zipped({**members, name: bytes(changed)}.items()))


@pytest.mark.parametrize("version", list(DlcVersion))
def test_a_file_with_random_bytes_changed_is_read_or_refused(version, tmp_path):
    raw = without_checksums(zipped(contents(quantized_and_plain(), version).items()))
    rng = np.random.default_rng(1)
    for _ in range(600):
        changed = bytearray(raw)
        for place in rng.integers(0, len(raw), rng.integers(1, 6)):
            changed[place] = rng.integers(256)
        with suppress(EdgewrightError):
            read_bytes(tmp_path, changed)


def test_an_input_left_out_is_kept_as_a_null_tensor(tmp_path):
    graph = graph_of("g", [tensor("x", TensorKind.NULL, dims=(1,))], [])
    same_graph(read_bytes(tmp_path, zipped(contents(graph).items())).graphs[0], graph)
