"""Hostile configurations: YAML, JSON, XML, encodings."""

import json
from collections.abc import Iterator
from typing import Any

from tests.hostile.artifacts import INPUT, sound
from tests.hostile.case import Case
from tests.hostile.onnx_cases import SOUND

MODEL = {"in/m.onnx": SOUND.SerializeToString()}
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def list_yaml() -> Iterator[Case]:
    """The YAML of qairt-converter."""
    for label, text in {
        "python objects": "Converted Graph: !!python/object/apply:os.system ['touch pwned']\n",
        "a thousand laughs": LAUGHS, "twice the same key": "Input Tensor Configuration:\nInput Tensor Configuration:\n",
        "deep lists": "[" * 100_000, "deep tables": "".join(" " * n + "a:\n" for n in range(2000)), "tabs": "a:\n\t- b\n",
        "not UTF-8": "\udcff", "empty": "", "a number": "7", "a list": "- a\n- b\n", "an unknown key": "Nonsense: 1\n",
        "a word for a table": "Input Tensor Configuration: none\n", "a date": "Input Tensor Configuration: 2020-01-01\n",
        "control characters": "a: \x01\x02\n", "two documents": "a: 1\n---\nb: 2\n", "a merge": "<<: {a: 1}\n",
        "a number of 5,000 digits": "Input Tensor Configuration:\n  - Name: " + "9" * 5000 + "\n",
        "a shape of words": "Input Tensor Configuration:\n  - Name: x\n    Src Model Parameters:\n      DataType: float32\n      Layout: NCHW\n    Desired Model Parameters:\n      DataType: float32\n      Shape: a,b,c\n",
        "a scale of 0": "Input Tensor Configuration:\n  - Name: x\n    Desired Model Parameters:\n      DataType: uint8\n      QuantParams:\n        Scale: 0\n        Offset: 0\n",
    }.items():  # fmt: skip
        words = ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--io_config", "in/io.yaml")
        content = text.encode("utf-8", "surrogateescape")
        yield Case(f"io_config: {label}", words, {**MODEL, "in/io.yaml": content}, (2, 3, 4))
        words = ("qnn-onnx-converter", "-i", "in/m.onnx", "-o", "out/m.cpp", "--custom_io", "in/io.yaml")
        yield Case(f"custom_io: {label}", words, {**MODEL, "in/io.yaml": content}, (2, 3, 4))
    yield Case(
        "io_config: a byte order mark",
        ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--io_config", "in/io.yaml"),
        {**MODEL, "in/io.yaml": b"\xef\xbb\xbfInput Tensor Configuration:\n  - Name: x\n"},
        (0, 2, 3),
    )


def op(**more: str) -> str:
    """An op of a package, parts of it replaced."""
    parts = {
        "name": "Thing",
        "input": "in",
        "output": "out",
        "rank": "4D",
        "type": "QNN_DATATYPE_FLOAT_32",
        "backend": "CPU",
        **more,
    }
    return (
        "<OpDef><Name>{name}</Name><Description><Content>c</Content></Description>"
        "<Input><Name>{input}</Name><Mandatory>true</Mandatory><Datatype>{type}</Datatype><Shape><Rank>{rank}</Rank></Shape></Input>"
        "<Output><Name>{output}</Name><Mandatory>true</Mandatory><Datatype>{type}</Datatype><Shape><Rank>{rank}</Rank></Shape></Output>"
        "<SupportedBackend>{backend}</SupportedBackend></OpDef>"
    ).format(**parts)


def package(
    *ops: str, name: str = "Pack", before: str = '<?xml version="1.0" encoding="utf-8"?>', rest: str = ""
) -> str:
    """The XML of a package."""
    return f'{before}<OpDefCollection PackageName="{name}" Domain="d" Version="1.0">{rest}<OpDefList>{"".join(ops)}</OpDefList></OpDefCollection>'


def list_xml() -> Iterator[Case]:
    """The XML of op packages."""
    plain = package(op())
    entity = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    outside = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    for label, content in {
        "a DTD": package(op(), before='<?xml version="1.0"?><!DOCTYPE x>'), "entities": package(op(name="&b;"), before=entity),
        "an outer entity": package(op(name="&a;"), before=outside), "truncated": plain[:100], "empty": "", "no XML": "hello",
        "another root": "<a/>", "no ops": package(), "two ops of one name": package(op(), op()),
        "a name with ../": package(op(name="../../x")), "a package with ../": package(op(), name="../../x"),
        "an absolute package": package(op(), name="/etc/x"), "a name that is code": package(op(name='x"; system("id"); //')),
        "an input that is code": package(op(input="int x; }")), "a name of 5,000 letters": package(op(name="x" * 5000)),
        "no name": package(op(name="")), "an unknown type": package(op(type="QNN_DATATYPE_BOGUS")), "a rank of 9D": package(op(rank="9D")),
        "an unknown backend": package(op(backend="TPU")), "no backend": package(op(backend="")),
        "input and output of one name": package(op(output="in")), "a package without a name": package(op(), name=""),
        "deep elements": "<a>" * 50_000, "NUL": "\0" + plain,
    }.items():  # fmt: skip
        yield Case(
            f"op package: {label}",
            ("qnn-op-package-generator", "-p", "in/p.xml", "-o", "out"),
            {"in/p.xml": content},
            (3,),
        )
    for encoding in (
        "utf-16",
        "utf-32",
        "bogus",
        "utf-7",
        "ebcdic-cp-us",
        "rot13",
        "base64",
        "idna",
        "ucs-4",
        "punycode",
        "hex",
        "cp037",
    ):
        content = package(op(), before=f'<?xml version="1.0" encoding="{encoding}"?>')
        yield Case(
            f"op package: declared as {encoding}",
            ("qnn-op-package-generator", "-p", "in/p.xml", "-o", "out"),
            {"in/p.xml": content},
            (0, 3),
        )
    for label, name in {
        "../": "../../up",
        "a slash": "a/b",
        "code": 'x"; //',
        "nothing": "",
        "5,000 letters": "x" * 5000,
    }.items():
        words = ("qnn-onnx-converter", "-i", "in/m.onnx", "-o", "out/m.cpp", "--package_name", name)
        yield Case(f"--package_name with {label}", words, MODEL, (2, 3))


def entry(**more: Any) -> dict[str, Any]:
    """An encoding of version 0.x."""
    return {
        "bitwidth": 8,
        "min": 0.0,
        "max": 1.0,
        "scale": 1 / 255,
        "offset": 0,
        "is_symmetric": "False",
        **more,
    }


def legacy(item: Any, name: str = "mid") -> dict[str, Any]:
    """A file of version 0.x."""
    return {"activation_encodings": {name: [item]}, "param_encodings": {}}


def listed(**more: Any) -> dict[str, Any]:
    """A file of version 1.0.0."""
    item = {
        "name": "mid",
        "enc_type": "PER_TENSOR",
        "dtype": "INT",
        "bw": 8,
        "is_sym": False,
        "scale": [0.1],
        "offset": [-128],
        **more,
    }
    return {"version": "1.0.0", "activation_encodings": [item], "param_encodings": []}


def typed(**more: Any) -> dict[str, Any]:
    """A file of version 2.0.0."""
    return {
        "version": "2.0.0",
        "encodings": [{"name": "mid", "output_dtype": "uint8", "y_scale": 0.1, "y_zero_point": 3, **more}],
    }


def list_encodings() -> Iterator[Case]:
    """Files of encodings."""
    nan, inf = float("nan"), float("inf")
    for label, tree in {
        "a list": [], "nothing": {}, "version 99": {"version": "99.0.0", **legacy(entry())}, "version of a list": {**legacy(entry()), "version": []},
        "no bitwidth": legacy({"min": 0, "max": 1}), "bitwidth 0": legacy(entry(bitwidth=0)), "bitwidth 3": legacy(entry(bitwidth=3)),
        "bitwidth 64": legacy(entry(bitwidth=64)), "bitwidth 2^80": legacy(entry(bitwidth=1 << 80)), "scale 0": legacy(entry(scale=0)),
        "scale below 0": legacy(entry(scale=-1)), "scale nan": legacy(entry(scale=nan)), "scale inf": legacy(entry(scale=inf)),
        "scale as text": legacy(entry(scale="x")), "offset outside": legacy({"bitwidth": 8, "scale": 0.1, "offset": -999}),
        "min above max": legacy(entry(min=2.0, max=-2.0)), "min above max without scale": legacy({"bitwidth": 8, "min": 2.0, "max": -2.0}),
        "min nan": legacy(entry(min=nan)), "an unknown dtype": legacy(entry(dtype="bogus")), "a float of 7 bits": legacy({"bitwidth": 7, "dtype": "float"}),
        "two channels for an activation": {"activation_encodings": {"mid": [entry()] * 5}, "param_encodings": {}},
        "an empty list": {"activation_encodings": {"mid": []}, "param_encodings": {}}, "a number for an entry": legacy(7),
        "an unknown enc_type": listed(enc_type="BOGUS"), "an unknown INT dtype": listed(dtype="BOGUS"), "bw 0": listed(bw=0), "bw 64": listed(bw=64),
        "offset 77 for 8 bits": listed(offset=[1000]), "offsets of another count": listed(offset=[0, 0]), "no scales": listed(scale=[]),
        "block size 0": listed(enc_type="PER_BLOCK", block_size=0), "block size below 0": listed(enc_type="PER_BLOCK", block_size=-4),
        "block size 2^40": listed(enc_type="PER_BLOCK", block_size=1 << 40), "PER_BLOCK without block size": listed(enc_type="PER_BLOCK"),
        "PER_TENSOR with three scales": listed(scale=[1, 1, 1], offset=[0, 0, 0]), "LPBQ without factors": listed(enc_type="LPBQ", block_size=4, compressed_bw=4),
        "is_sym as a number": listed(is_sym=7), "twice the same name": {"version": "1.0.0", "activation_encodings": [listed()["activation_encodings"][0]] * 2, "param_encodings": []},
        "an unknown output_dtype": typed(output_dtype="bogus8"), "int99": typed(output_dtype="int99"), "y_scale 0": typed(y_scale=0), "y_scale nan": typed(y_scale=nan),
        "a zero point outside": typed(y_zero_point=300), "a zero point below": typed(y_zero_point=-1), "an int8 zero point outside": typed(output_dtype="int8", y_zero_point=200),
        "a zero point that is no whole number": typed(y_zero_point=0.5), "axis 99": typed(axis=99, y_scale=[1, 1], y_zero_point=[0, 0]),
        "y block size 0": typed(block_size=0, axis=1, y_scale=[[1], [1]], y_zero_point=[[0], [0]]), "deep lists of scales": typed(y_scale=[[[[[[[[[[1]]]]]]]]]]),
    }.items():  # fmt: skip
        words = (
            "edgewright",
            "quantize",
            "in/m.onnx",
            "--random",
            "--quantization_overrides",
            "in/e.json",
            "-o",
            "out/m.dlc",
        )
        words = (
            "qairt-converter",
            "-i",
            "in/m.onnx",
            "-o",
            "out/m.dlc",
            "--quantization_overrides",
            "in/e.json",
            "--float_fallback",
        )
        yield Case(f"encodings: {label}", words, {**MODEL, "in/e.json": json.dumps(tree)}, (2, 3, 4))
    for label, text in {
        "no JSON": "{", "twice the same key": '{"activation_encodings": {}, "activation_encodings": {}, "param_encodings": {}}', "deep": "[" * 100_000,
        "empty": "", "not UTF-8": "\udcff", "a number of 5,000 digits": '{"activation_encodings": {"mid": [{"bitwidth": ' + "9" * 5000 + "}]}, \"param_encodings\": {}}",
    }.items():  # fmt: skip
        words = (
            "qairt-converter",
            "-i",
            "in/m.onnx",
            "-o",
            "out/m.dlc",
            "--quantization_overrides",
            "in/e.json",
            "--float_fallback",
        )
        yield Case(
            f"encodings: {label}",
            words,
            {**MODEL, "in/e.json": text.encode("utf-8", "surrogateescape")},
            (3,),
        )
    unknown = json.dumps(legacy(entry(), "nobody"))
    words = ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--quantization_overrides", "in/e.json")
    yield Case("encodings: of a tensor that is not there", words, {**MODEL, "in/e.json": unknown}, (0, 2, 3))


def list_json() -> Iterator[Case]:
    """Configurations of net-run, and of a backend."""
    run = (
        "qnn-net-run",
        "--model",
        "in/m_net.json",
        "--backend",
        "cpu",
        "--input_list",
        "in/list.txt",
        "--output_dir",
        "out",
        "--config_file",
        "in/c.json",
    )
    files = {
        "in/m_net.json": sound("m_net.json"),
        "in/m.bin": sound("m.bin"),
        "in/list.txt": "in/x.raw\n",
        "in/x.raw": INPUT.tobytes(),
    }
    for label, text in {
        "no JSON": "{", "a list": "[]", "a number": "7", "deep": "[" * 100_000, "an unknown key": '{"nonsense": 1}', "empty": "",
        "words for numbers": '{"context_configs": {"async_execute_queue_depth": "many"}}', "numbers below 0": '{"context_configs": {"async_execute_queue_depth": -1}}',
        "a library that leads out": '{"backend_extensions": {"shared_library_path": "../../x.so", "config_file_path": "gone.json"}}',
        "NaN": '{"context_configs": {"async_execute_queue_depth": NaN}}', "10^30": '{"context_configs": {"async_execute_queue_depth": 1000000000000000000000000000000}}',
    }.items():  # fmt: skip
        yield Case(f"config_file: {label}", run, {**files, "in/c.json": text}, (2, 3, 4))


CASES = [*list_yaml(), *list_xml(), *list_encodings(), *list_json()]
