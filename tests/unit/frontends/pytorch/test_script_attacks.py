"""TorchScript of strangers: its code is followed, its pickles are data, its sizes are checked."""

import contextlib
import struct
import zipfile
import zlib

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.pytorch import evaluation
from tests.unit.frontends.pytorch import hostile
from tests.unit.frontends.pytorch.hostile import make_code, module, module_with_state, name, push, tensor

pytestmark = pytest.mark.usefixtures("torch")
SHAPES = {"x": (4,)}


def refuse(path, match=None, codes=(3, 4)):
    """Converting must end in one error of this kind."""
    with pytest.raises(EdgewrightError, match=match) as problem:
        ew.convert(path, input_shapes=SHAPES)
    assert problem.value.exit_code in codes


def test_an_archive_written_by_hand_is_read(tmp_path):
    model = ew.convert(hostile.write(tmp_path / "m.pt"), input_shapes=SHAPES)
    (sums,) = model.run({"x": np.ones(4, np.float32)}).values()
    assert sums.tolist() == [2, 3, 4, 5]


WRITES = {
    "a tensor": "torch.save(x, '{mark}')",
    "with a space": "torch.save ([x], '{mark}')",
    "over lines": "torch.save(\n      [x], '{mark}')",
    "as an op": "ops.aten.save([x], '{mark}')",
    "by a name": "f = torch.save\nf([x], '{mark}')",
    "by getattr": "getattr(torch, 'save')([x], '{mark}')",
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("place", ["forward", "setstate"])
def test_nothing_is_written_by_what_a_program_calls(way, place, tmp_path):
    mark = tmp_path / "mark"
    lines = WRITES[way].format(mark=mark)
    if place == "forward":
        path = hostile.write(tmp_path / "m.pt", code=make_code(f"{lines}\nreturn x"))
    else:
        lines = lines.replace("x", "state")
        data = module_with_state(hostile.WEIGHT)
        path = hostile.write(tmp_path / "m.pt", code=make_code(setstate=f"{lines}\nreturn None"), data=data)
    refuse(path)
    assert not mark.exists()


READS = {
    "from_file": "return torch.from_file('{secret}', False, 4, dtype=0)",
    "as an op": "return ops.aten.from_file('{secret}', False, 4, dtype=0)",
    "through a list": "y = [torch.from_file('{secret}', False, 4, dtype=0)]\nreturn torch.cat(y)",
}


@pytest.mark.parametrize("way", READS)
def test_no_other_file_is_read_into_weights(way, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"password")
    code = make_code(READS[way].format(secret=secret))
    refuse(hostile.write(tmp_path / "m.pt", code=code), "reaches outside of the model")


def test_memory_that_nothing_filled_is_zeros(tmp_path):
    code = make_code("return torch.add(x, torch.empty([4], dtype=6, layout=None, device=None))")
    model = ew.convert(hostile.write(tmp_path / "m.pt", code=code), input_shapes=SHAPES)
    (values,) = model.run({"x": np.ones(4, np.float32)}).values()
    assert values.tolist() == [1, 1, 1, 1]


def test_a_tensor_is_not_made_larger_than_its_memory(tmp_path):
    code = make_code("w = self.w\ny = torch.resize_(w, [64])\nreturn y")
    refuse(hostile.write(tmp_path / "m.pt", code=code), "reaches outside of the model")


def test_noise_is_not_frozen_into_the_model(tmp_path):
    code = make_code("return torch.add(x, torch.rand([4], dtype=6, layout=None, device=None))")
    refuse(hostile.write(tmp_path / "m.pt", code=code), "its results are random", codes=(4,))


ENDLESS = {
    "while": "while True:\n  pass\nreturn None",
    "nested": "for i in range(10000):\n  for j in range(10000):\n    pass\nreturn None",
    "raising": "ops.prim.RaiseException('no')\nreturn None",
    "a huge range": "for i in range(99999999999):\n  pass\nreturn None",
    "doubling a list": "a = [1, 2]\nfor i in range(60):\n  a = torch.add(a, a)\nreturn None",
    "doubling a text": "a = 'ab'\nfor i in range(60):\n  a = torch.add(a, a)\nreturn None",
    "doubling a tensor": "a = state\nfor i in range(60):\n  a = torch.cat([a, a])\nreturn None",
    "a long text": "a = torch.ljust('a', 99999999999)\nreturn None",
    "a large constant": "a = torch.zeros([99999, 99999], dtype=6)\nreturn None",
    "repeated elements": "a = torch.repeat_interleave(torch.tensor([99999999999]))\nreturn None",
    "calling itself": "return (self).__setstate__(state)",
}


@pytest.mark.parametrize("way", ENDLESS)
def test_a_setstate_that_does_not_end_well_ends_cleanly(way, tmp_path):
    data = module_with_state(hostile.WEIGHT)
    refuse(hostile.write(tmp_path / "m.pt", code=make_code(setstate=ENDLESS[way]), data=data))


WORK = {
    "matmul": "a = torch.matmul(a, a)",
    "sort": "a, b, = torch.sort(a)",
    "append": "b = torch.append(kept, torch.add(a, 1))",
}


@pytest.mark.parametrize("way", WORK)
def test_constants_that_take_too_long_to_compute_are_refused(way, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "MOST_WORK", 1 << 24)
    lines = f"kept = []\na = torch.ones([64, 64], dtype=6)\nwhile True:\n  {WORK[way]}\nreturn None"
    path = hostile.write(
        tmp_path / "m.pt", code=make_code(setstate=lines), data=module_with_state(hostile.WEIGHT)
    )
    refuse(path, "computing the model's constants takes more than")


DEEP = 200_000
NESTED = {
    "calls": f"return {'torch.neg(' * DEEP}x{')' * DEEP}",
    "lists": f"y = {'[' * DEEP}{']' * DEEP}\nreturn x",
    "signs": f"return {'-' * DEEP}1",
    "words": f"return {'not ' * DEEP}x",
    "attributes": f"return x{'.a' * DEEP}",
    "sums": f"return x{' + x' * DEEP}",
    "powers": f"return x{' ** x' * DEEP}",
    "choices": f"return {'x if x else ' * DEEP}x",
    "functions": f"return {'lambda: ' * DEEP}x",
    "items": f"return x{'[0]' * DEEP}",
    "comparisons": f"return x{' < x' * DEEP}",
    "blocks": "\n".join(f"{'  ' * i}if x:" for i in range(500)) + "\n" + "  " * 500 + "pass\nreturn x",
}


@pytest.mark.parametrize("way", NESTED)
def test_deep_nesting_ends_in_an_error_and_not_in_a_crash(way, tmp_path):
    refuse(hostile.write(tmp_path / "m.pt", code=make_code(NESTED[way])))


def test_functions_that_call_each_other_without_end_are_refused(tmp_path):
    chain = "\n".join(f"def f{i}(x: Tensor) -> Tensor:\n  return __torch__.f{i + 1}(x)" for i in range(5000))
    code = make_code("return __torch__.f0(x)") + chain + "\n"
    refuse(hostile.write(tmp_path / "m.pt", code=code), "nested more than 60 levels deep")


def test_functions_that_call_another_twice_do_not_take_forever(tmp_path):
    twice = "\n".join(
        f"def f{i}(x: int) -> int:\n  y = __torch__.f{i + 1}(x)\n  return __torch__.f{i + 1}(y)"
        for i in range(50)
    )
    code = make_code("y = __torch__.f0(1)\nreturn x") + twice + "\ndef f50(x: int) -> int:\n  return x\n"
    refuse(hostile.write(tmp_path / "m.pt", code=code), "takes more than")


TENSORS = {
    "beyond its storage": (tensor((1000,), (1,)), "16 bytes are stored, expected at least 4000"),
    "a long step": (tensor((2,), (100,)), "expected at least 404"),
    "an offset": (tensor((4,), (1,), offset=1), "expected at least 20"),
    "a negative step": (tensor((4,), (-1,)), "no number below 0"),
    "a negative size": (tensor((-4,), (1,)), "no number below 0"),
    "a negative offset": (tensor((1,), (1,), offset=-3), "no number below 0"),
    "huge": (tensor((1 << 62, 1 << 62), (0, 0)), "no number below 0"),
    "missing steps": (tensor((2, 2), (1,)), "as many strides as sizes"),
    "a short storage": (tensor((4,), (1,), count=1000), "has 16 bytes, expected 4000"),
    "a negative storage": (tensor((4,), (1,), count=-1), "expected -4"),
    "no storage": (tensor((4,), (1,), key="7"), "no member 'data/7'"),
    "a storage elsewhere": (tensor((4,), (1,), key="../../../etc/passwd"), "no member"),
    "an unknown type": (tensor((4,), (1,), kind="NoStorage"), "names 'torch.NoStorage'"),
}


@pytest.mark.parametrize("way", TENSORS)
def test_a_tensor_that_does_not_fit_its_bytes_is_refused(way, tmp_path):
    data, match = TENSORS[way]
    refuse(hostile.write(tmp_path / "m.pt", data=module({"w": data})), match)


def test_elements_that_repeat_stay_small_when_written_out(tmp_path):
    weight = tensor((1 << 20, 1 << 20), (0, 0))
    refuse(hostile.write(tmp_path / "m.pt", data=module({"w": weight})))


PICKLES = {
    "a call": b"\x80\x02" + name("builtins", "open") + push(("{mark}", "w")) + b"R.",
    "an object": b"\x80\x02" + name("subprocess", "Popen") + push(("touch {mark}",)) + b"\x81.",
    "the old way": b"(S'{mark}'\nS'w'\nibuiltins\nopen\n.",
    "by the stack": b"\x80\x04\x8c\x08builtins\x8c\x04open\x93(S'{mark}'\nS'w'\ntR.",
    "a registered name": b"\x80\x02\x82\x01.",
    "numbers alone": b"\x80\x02K\x01.",
    "a mark": b"\x80\x02(.",
    "nothing": b"",
    "no end": b"\x80\x02N",
    "no stack": b"\x80\x02R.",
    "no mark": b"\x80\x02K\x01t.",
    "a state for a text": b"\x80\x02" + push("a") + b"Nb.",
    "a far memo": b"\x80\x02N" + b"r" + struct.pack("<I", 1 << 31) + b"j" + struct.pack("<I", 5) + b".",
    "a long text": b"\x80\x02X" + struct.pack("<I", 1 << 31) + b"abc.",
}


@pytest.mark.parametrize("way", PICKLES)
def test_pickles_are_read_as_data(way, tmp_path):
    mark = tmp_path / "mark"
    data = PICKLES[way].replace(b"{mark}", str(mark).encode()) or b" "
    refuse(hostile.write(tmp_path / "m.pt", data=data))
    assert not mark.exists()


def test_values_that_hold_themselves_or_multiply_are_no_trouble(tmp_path):
    itself = b"]q\x00h\x00a"
    doubled = b"]q\x01" + b"".join(
        b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(1, 60)
    )
    nested = b")" + b"\x85" * 100_000
    for value in (itself, doubled, nested):
        data = module({"w": hostile.WEIGHT, "v": value})
        path = hostile.write(tmp_path / "m.pt", data=data, code=make_code("v = self.v\nreturn x"))
        with contextlib.suppress(EdgewrightError):
            ew.convert(path, input_shapes=SHAPES)


def test_a_second_folder_in_the_archive_is_refused(tmp_path):
    path = hostile.write(tmp_path / "m.pt")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("n/code/__torch__.py", make_code())
    refuse(path, "expected one folder with all members")


def test_a_member_beside_the_folder_is_refused(tmp_path):
    path = hostile.write(tmp_path / "m.pt")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("m.py", "")
    refuse(path, "expected one folder with all members")


def patch(path, member, change):
    """The archive with its bytes from the head of a member on changed."""
    with zipfile.ZipFile(path) as file:
        place = file.getinfo(member).header_offset
    raw = bytearray(path.read_bytes())
    change(raw, place)
    path.write_bytes(bytes(raw))
    return path


def rename_locally(raw, place):
    raw[place + 30 : place + 38] = b"m/data/9"


def change_a_byte(raw, place):
    raw[place + 30 + 8] ^= 1


def compress_locally(raw, place):
    raw[place + 8] = zipfile.ZIP_DEFLATED


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (rename_locally, "not where the archive's list says"),
        (compress_locally, "not where the archive's list says"),
        (change_a_byte, "another checksum"),
    ],
)
def test_a_member_that_is_not_what_the_list_says_is_refused(change, match, tmp_path):
    path = hostile.write(tmp_path / "m.pt")
    refuse(patch(path, "m/data/0", change), match)


def test_a_member_that_claims_more_bytes_than_the_file_has_is_refused(tmp_path):
    path = hostile.write(tmp_path / "m.pt")
    raw = bytearray(path.read_bytes())
    place = raw.index(b"m/data/0", raw.index(b"PK\x01\x02")) - 46
    raw[place + 20 : place + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    path.write_bytes(bytes(raw))
    data = module({"w": tensor((1 << 28,), (1,), count=1 << 28)})
    assert zlib.crc32(data)
    refuse(path, "ends before")


@pytest.mark.parametrize("place", [0, 3, 35, 200])
def test_bytes_that_are_missing_before_the_list_are_noticed(place, tmp_path):
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w") as file:
        # Stored first, as large storages are.
        file.writestr("m/data/0", struct.pack("<4f", 1, 2, 3, 4))
    with zipfile.ZipFile(hostile.write(tmp_path / "whole.pt")) as whole, zipfile.ZipFile(path, "a") as file:
        for item in whole.namelist():
            if item != "m/data/0":
                file.writestr(item, whole.read(item))
    raw = path.read_bytes()
    path.write_bytes(raw[:place] + raw[place + 2 :])
    refuse(path, codes=(2, 3, 4))


def test_compressed_weights_are_read_within_their_size(tmp_path):
    path = tmp_path / "m.pt"
    hostile.write(path)
    with zipfile.ZipFile(path) as file:
        members = {item: file.read(item) for item in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for item, content in members.items():
            file.writestr(item, content)
    model = ew.convert(path, input_shapes=SHAPES)
    (sums,) = model.run({"x": np.zeros(4, np.float32)}).values()
    assert sums.tolist() == [1, 2, 3, 4]


TEXTS = ("{0.__class__}", "{:>99999999999}", "{0!r}", "{}")


@pytest.mark.parametrize("text", TEXTS)
def test_braces_in_texts_are_filled_and_nothing_else(text, tmp_path):
    code = make_code(f"ops.prim.RaiseException(torch.format('{text}', 5))\nreturn x")
    shown = text.replace("{}", "5")
    with pytest.raises(EdgewrightError) as problem:
        ew.convert(hostile.write(tmp_path / "m.pt", code=code), input_shapes=SHAPES)
    assert f"refuses these inputs: {shown}" in str(problem.value)


STRANGE = {
    "a comprehension": "return [y for y in x]",
    "an import": "import os\nreturn x",
    "a class": "y = ().__class__\nreturn x",
    "a Python function": "y = eval('1')\nreturn x",
    "a missing function": "return __torch__.nobody(x)",
    "a missing constant": "return CONSTANTS.c99",
    "a missing name": "return y",
    "a missing op": "return torch.nothing_like_it(x)",
    "a missing space": "return ops.nowhere.nothing(x)",
    "a loaded library": "return ops.load_library.__call__('/tmp/x.so')",
    "a wrong call": "return torch.relu(x, x, x, x)",
    "a wrong unpacking": "a, b, c, = torch.split(x, 2)\nreturn a",
    "a deletion": "del x\nreturn x",
    "a global": "global x\nreturn x",
    "an assertion": "assert x\nreturn x",
}


@pytest.mark.parametrize("way", STRANGE)
def test_code_that_torch_does_not_write_is_refused(way, tmp_path):
    refuse(hostile.write(tmp_path / "m.pt", code=make_code(STRANGE[way])))


@pytest.mark.parametrize(
    "code",
    ["import os\nos.system('x')\n", "x = 1\n", "print(1)\n", "def f(:\n", "\0", "class M(Module): pass"],
)
def test_files_that_hold_more_than_classes_and_functions_are_refused(code, tmp_path):
    refuse(hostile.write(tmp_path / "m.pt", code=code))
