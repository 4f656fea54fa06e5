"""Files of strangers: told by their content, never unpickled, read within limits."""

import contextlib
import io
import json
import random
import re
import stat
import zipfile

import pytest

from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature
from edgewright.frontends.pytorch.archive import Archive, Kind, identify_file
from edgewright.frontends.pytorch.load import open_program

OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def marking(path):
    """A pickle that makes a file where it is read."""
    return f"cbuiltins\nopen\n(V{path}\nVw\ntR.".encode()


def zipped(path, members, **kwargs):
    with zipfile.ZipFile(path, "w", **kwargs) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def checkpoint(path, mark):
    return zipped(path, {"m/data.pkl": marking(mark), "m/version": "3"})


def script(path, **more):
    members = {"m/constants.pkl": b"\x80\x02).", "m/code/__torch__/m.py": "", "m/data.pkl": b"\x80\x02)."}
    return zipped(path, members | more)


@pytest.mark.parametrize("name", ["model.pt", "model.onnx", "model"])
def test_a_checkpoint_is_refused_with_an_explanation_and_nothing_is_unpickled(name, tmp_path):
    path = checkpoint(tmp_path / name, tmp_path / "mark")
    with pytest.raises(BadInput, match="the file is a checkpoint") as found:
        open_program(path)
    assert "torch.jit.trace" in found.value.do
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("data", [OLD + b"\x80\x02]K\x01a.", b"\x80\x04}."], ids=["old", "plain"])
def test_a_bare_pickle_is_a_checkpoint_too(data, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    assert identify_file(path) is Kind.CHECKPOINT


@pytest.mark.parametrize(
    "data", [b"", b"garbage of some length", b"\0" * 600], ids=["empty", "text", "zeros"]
)
def test_garbage_under_a_name_of_pytorchs_is_called_so(data, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match="nothing that PyTorch writes"):
        open_program(path)


@pytest.mark.parametrize("start", [b"\x08\x07", b"\x1c\0\0\0TFL3"], ids=["onnx", "tflite"])
def test_other_formats_keep_their_readers_under_any_name(start, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(start + b"\0" * 30)
    assert identify_file(path) is None


def test_the_kind_of_an_archive_follows_from_its_members(tmp_path):
    kinds = {
        Kind.SCRIPT: {"m/constants.pkl": b"", "m/code/a.py": b""},
        Kind.EXPORTED: {"m/archive_format": b"pt2", "m/models/model.json": b"{}"},
        Kind.OLD_EXPORTED: {"serialized_exported_program.json": b"{}"},
        Kind.MOBILE: {"m/bytecode.pkl": b"", "m/data.pkl": b""},
    }
    for kind, members in kinds.items():
        assert identify_file(zipped(tmp_path / "model.any", members)) is kind
    assert identify_file(zipped(tmp_path / "arrays.npz", {"x.npy": b""})) is None


def test_an_old_export_says_how_to_write_a_new_one(tmp_path):
    path = zipped(tmp_path / "m.pt2", {"serialized_exported_program.json": b"{}"})
    with pytest.raises(UnsupportedFeature, match=r"before torch 2\.8"):
        open_program(path)


@pytest.mark.parametrize("name", ["m/../../etc/passwd", "/etc/passwd", "C:/windows/a", "m/\\..\\a"])
def test_members_that_point_outside_are_refused(name, tmp_path):
    with pytest.raises(BadInput, match="points outside the archive"):
        Archive(script(tmp_path / "m.pt", **{name: b""}))


def test_links_encrypted_and_repeated_members_are_refused(tmp_path):
    link = zipfile.ZipInfo("m/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.pt", "w") as file:
        file.writestr(link, "/etc/passwd")
    with pytest.raises(BadInput, match="points outside"):
        Archive(tmp_path / "link.pt")
    raw = bytearray(script(tmp_path / "m.pt").read_bytes())
    place = raw.rindex(b"PK\x01\x02")
    raw[place + 8] |= 1
    (tmp_path / "locked.pt").write_bytes(bytes(raw))
    with pytest.raises(BadInput, match="is encrypted"):
        Archive(tmp_path / "locked.pt")
    with zipfile.ZipFile(tmp_path / "twice.pt", "w") as file:
        file.writestr("m/a", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("m/a", "2")
    with pytest.raises(BadInput, match="two members have the same name"):
        Archive(tmp_path / "twice.pt")


def test_a_bomb_is_refused_by_its_sizes_before_anything_is_unpacked(tmp_path):
    path = zipped(tmp_path / "m.pt", {"m/code/a.py": b"0" * (1 << 24)}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(EdgewrightError, match="unpacks to") as found:
        Archive(path)
    assert found.value.exit_code == 3


def test_a_cut_archive_is_a_clean_error(tmp_path):
    whole = script(tmp_path / "m.pt").read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.pt").write_bytes(whole[:length])
        with pytest.raises(BadInput):
            open_program(tmp_path / "cut.pt")


def exported(torch, path, **changes):
    """The members of a small exported program, some of them changed."""
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(2, 3).eval(), (torch.ones(1, 2),)), buffer)
    with zipfile.ZipFile(buffer) as file:
        members = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    for name, change in changes.items():
        real = {"graph": "models/model.json", "weights": "data/weights/model_weights_config.json"}[name]
        members[real] = change(members[real])
    return zipped(path, {f"m/{name}": data for name, data in members.items()})


def edited(change):
    def apply(data):
        tree = json.loads(data)
        change(tree)
        return json.dumps(tree)

    return apply


def first_weight(key, value):
    return edited(lambda tree: next(iter(tree["config"].values())).update({key: value}))


DAMAGE = {
    "no json": {"graph": lambda _data: b"{"},
    "no graph": {"graph": lambda _data: b"{}"},
    "deep json": {"graph": lambda _data: b"[" * 100_000},
    "no weights": {"weights": edited(lambda tree: tree["config"].clear())},
    "pickled weights": {"weights": first_weight("use_pickle", True)},
    "a path outside": {"weights": first_weight("path_name", "../../../etc/passwd")},
    "huge sizes": {
        "weights": edited(
            lambda tree: tree["config"]["weight"]["tensor_meta"].update(
                sizes=[{"as_int": 1 << 40}, {"as_int": 1 << 40}]
            )
        )
    },
    "repeated elements": {
        "weights": edited(
            lambda tree: tree["config"]["weight"]["tensor_meta"].update(
                sizes=[{"as_int": 1 << 20}, {"as_int": 1 << 20}], strides=[{"as_int": 0}, {"as_int": 0}]
            )
        )
    },
    "negative strides": {
        "weights": edited(
            lambda tree: tree["config"]["weight"]["tensor_meta"].update(
                strides=[{"as_int": -2}, {"as_int": 1}]
            )
        )
    },
    "an unknown value": {
        "graph": edited(
            lambda tree: tree["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"]["as_tensor"].update(
                name="nobody"
            )
        )
    },
    "an unknown type": {
        "graph": edited(
            lambda tree: [v.update(dtype=99) for v in tree["graph_module"]["graph"]["tensor_values"].values()]
        )
    },
    "no signature": {"graph": edited(lambda tree: tree["graph_module"]["signature"].clear())},
    "negative sizes": {
        "graph": edited(
            lambda tree: [
                v.update(sizes=[{"as_int": -1}])
                for v in tree["graph_module"]["graph"]["tensor_values"].values()
            ]
        )
    },
    "an op with side effects": {
        "graph": edited(
            lambda tree: tree["graph_module"]["graph"]["nodes"][0].update(target="os.system", inputs=[])
        )
    },
    "a strange op": {
        "graph": edited(
            lambda tree: tree["graph_module"]["graph"]["nodes"][0].update(
                target="torch.ops.aten.nope.default"
            )
        )
    },
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_export_is_a_clean_error(torch, name, tmp_path):
    from edgewright import convert

    path = exported(torch, tmp_path / "m.pt2", **DAMAGE[name])
    with pytest.raises(EdgewrightError) as found:
        convert(path)
    assert found.value.exit_code in {3, 4}


def test_texts_of_symbolic_sizes_are_not_computed(torch, tmp_path):
    mark = tmp_path / "mark"
    text = f"open('{mark}', 'w')"

    def change(tree):
        for value in tree["graph_module"]["graph"]["tensor_values"].values():
            value["sizes"][0] = {"as_expr": {"expr_str": text, "hint": None}}

    from edgewright import convert

    convert(exported(torch, tmp_path / "m.pt2", graph=edited(change)))
    assert not mark.exists()


def test_edited_code_of_a_script_ends_in_a_result_or_a_message(torch, tmp_path):
    from edgewright import convert

    torch.jit.script(torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.LSTM(6, 4)).eval()).save(
        str(tmp_path / "whole.pt")
    )
    with zipfile.ZipFile(tmp_path / "whole.pt") as file:
        members = {name: file.read(name) for name in file.namelist()}
    choice = random.Random(0)
    words = (
        "torch.add",
        "torch.zeros",
        "torch.nonzero",
        "torch.cat",
        "0",
        "-1",
        "99999999999",
        "None",
        "True",
    )
    for _ in range(80):
        name = choice.choice([name for name in members if name.endswith(".py")])
        code = members[name].decode()
        word = choice.choice(list(re.finditer(r"torch\.\w+|\b\w+\b", code)))
        edited_code = code[: word.start()] + choice.choice(words) + code[word.end() :]
        with contextlib.suppress(EdgewrightError):
            convert(
                zipped(tmp_path / "m.pt", members | {name: edited_code.encode()}),
                input_shapes={"x": (1, 2, 8)},
            )
