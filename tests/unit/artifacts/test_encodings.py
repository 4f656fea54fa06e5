"""Encodings files: what goes in comes out, in every version, and what is wrong is said."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.artifacts.encodings import (
    VERSIONS,
    describe_encodings,
    parse_encodings,
    read_encodings,
    write_encodings,
)
from edgewright.core.errors import EdgewrightError, UnsupportedFeature, UsageError
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

WHOLE = {
    "dtype": "int",
    "bitwidth": 8,
    "is_symmetric": "False",
    "scale": 0.02,
    "offset": -103,
    "min": -2.06,
    "max": 3.04,
}
CHANNEL = {"dtype": "int", "bitwidth": 8, "is_symmetric": "True", "offset": -128, "min": -0.7, "max": 0.69}
ARGS = {
    "activation_bitwidth": 8,
    "dtype": "int",
    "is_symmetric": True,
    "param_bitwidth": 8,
    "per_channel_quantization": True,
    "quant_scheme": "post_training_tf",
}
FILES = {
    "0.5.0": {
        "version": "0.5.0",
        "activation_encodings": {"20": [WHOLE], "fp": [{"bitwidth": 16, "dtype": "float"}]},
        "param_encodings": {"conv.weight": [{**CHANNEL, "scale": s} for s in (0.005, 0.004, 0.006)]},
    },
    "0.6.1": {
        "version": "0.6.1",
        "activation_encodings": {"20": [WHOLE]},
        "param_encodings": {
            "conv.weight": [{**CHANNEL, "scale": 0.005}],
            "b": [{"bitwidth": 32, "dtype": "float"}],
        },
        "quantizer_args": ARGS,
        "excluded_layers": ["head"],
    },
    "1.0.0": {
        "version": "1.0.0",
        "activation_encodings": [
            {"name": "20", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 16, "is_sym": False}
            | {"scale": [0.001], "offset": [-40000]},
            {"name": "fp", "enc_type": "PER_TENSOR", "dtype": "FLOAT", "bw": 16},
        ],
        "param_encodings": [
            {"name": "w", "enc_type": "PER_CHANNEL", "dtype": "INT", "bw": 4, "is_sym": True}
            | {"scale": [0.1, 0.2], "offset": [-8, -8]},
            {
                "name": "blocks",
                "enc_type": "PER_BLOCK",
                "dtype": "INT",
                "bw": 4,
                "is_sym": True,
                "block_size": 32,
            }
            | {"scale": [0.1, 0.2, 0.3, 0.4], "offset": [-8] * 4},
            {"name": "low", "enc_type": "LPBQ", "dtype": "INT", "bw": 8, "compressed_bw": 4, "is_sym": True}
            | {
                "block_size": 64,
                "scale": [0.01, 0.02],
                "offset": [-128, -128],
                "per_block_int_scale": [1, 16, 7, 3],
            },
            {"name": "two", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 4, "is_sym": True}
            | {"scale": [0.1], "offset": [-8], "zero_point_shift": [0.5]},
        ],
        "quantizer_args": ARGS,
        "excluded_layers": [],
    },
    "2.0.0": {
        "version": "2.0.0",
        "producer": "aimet-onnx 2.42",
        "encodings": [
            {"name": "20", "output_dtype": "uint8", "y_scale": 0.02, "y_zero_point": 103},
            {"name": "relu", "output_dtype": "uint16", "y_scale": 0.001},
            {"name": "signed", "output_dtype": "int8", "y_scale": 0.02, "y_zero_point": -5},
            {"name": "w", "output_dtype": "int8", "y_scale": [0.1, 0.2, 0.3], "axis": 0},
            {
                "name": "asym",
                "output_dtype": "uint8",
                "y_scale": [0.1, 0.2],
                "y_zero_point": [3, 4],
                "axis": 1,
            },
            {"name": "blocks", "output_dtype": "int4", "y_scale": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
            | {"axis": 1, "block_size": 16},
            {"name": "turned", "output_dtype": "int4", "y_scale": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
            | {"axis": 0, "block_size": 16},
            {"name": "low", "output_dtype": "int4", "per_channel_float_scale": [[0.1], [0.2]]}
            | {"per_block_int_scale": [[1, 2, 3], [4, 5, 16]], "axis": 1, "block_size": 16},
            {"name": "low turned", "output_dtype": "int4", "per_channel_float_scale": [[0.1, 0.2]]}
            | {"per_block_int_scale": [[1, 4], [2, 5], [3, 16]], "axis": 0, "block_size": 16},
        ],
    },
}


def parsed(document) -> EncodingSet:
    return parse_encodings(json.dumps(document).encode(), "my.encodings")


def tensor(encodings: EncodingSet, name: str) -> TensorEncoding:
    return next(t for t in encodings.tensors if t.name == name)


@pytest.mark.parametrize("version", FILES)
def test_a_file_comes_back_as_it_was(version):
    found = parsed(FILES[version])
    assert found.version == version
    assert describe_encodings(found, version) == FILES[version]


@pytest.mark.parametrize("version", FILES)
@pytest.mark.parametrize("other", VERSIONS)
def test_every_version_can_be_written_as_every_other_that_has_room_for_it(version, other):
    found = parsed(FILES[version])
    kept = [
        t
        for t in found.tensors
        if not (t.block_size and other[0] == "0") and not (t.block_size and version != other)
    ]
    kept = [
        t
        for t in kept
        if not t.extra and (t.is_symmetric or len(t.scales) == 1 or version == "2.0.0" or t.is_float)
    ]
    back = parse_encodings(write_encodings(EncodingSet(tuple(kept)), other).encode())
    plain = [(t.name, t.bits, t.is_float, t.scales, t.offsets) for t in back.tensors]
    assert sorted(plain) == sorted((t.name, t.bits, t.is_float, t.scales, t.offsets) for t in kept)


@pytest.mark.parametrize("version", VERSIONS)
@given(
    scales=st.lists(st.floats(2**-20, 8, width=32), min_size=1, max_size=4),
    bits=st.sampled_from((4, 8, 16)),
    data=st.data(),
)
def test_numbers_survive_to_the_last_bit(version, scales, bits, data):
    half = 1 << (bits - 1)
    offset = -half if len(scales) > 1 else data.draw(st.integers(-2 * half + 1, 0))
    entry = TensorEncoding("w", bits, True, scales=tuple(scales), offsets=(offset,) * len(scales))
    (back,) = parse_encodings(write_encodings(EncodingSet((entry,)), version).encode()).tensors
    assert (back.scales, back.offsets, back.bits) == (entry.scales, entry.offsets, bits)


def test_the_same_encodings_make_the_same_file():
    found = parsed(FILES["1.0.0"])
    assert write_encodings(found) == write_encodings(parsed(json.loads(write_encodings(found))))


def test_signed_zero_points_become_offsets_of_unsigned_integers():
    found = parsed(FILES["2.0.0"])
    assert tensor(found, "20").offsets == (-103,)
    assert tensor(found, "relu").offsets == (0,)
    assert tensor(found, "signed").offsets == (-123,)
    assert set(tensor(found, "w").offsets) == {-128}


def test_blocks_are_listed_channel_by_channel_whatever_their_axis():
    found = parsed(FILES["2.0.0"])
    assert tensor(found, "blocks").scales == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    assert tensor(found, "turned").scales == (0.1, 0.4, 0.2, 0.5, 0.3, 0.6)
    assert (
        tensor(found, "low").block_scales == tensor(found, "low turned").block_scales == (1, 2, 3, 4, 5, 16)
    )
    low = tensor(parsed(FILES["1.0.0"]), "low")
    assert (low.bits, low.expanded_bits, low.block_scales, low.offsets) == (4, 8, (1, 16, 7, 3), (-8, -8))


def test_the_example_of_the_guide_with_positive_offsets_is_read_by_its_range():
    document = {
        "activation_encodings": {
            "Conv1:0": [
                {
                    "bitwidth": 8,
                    "max": 12.82344407824954,
                    "min": 0.0,
                    "offset": 0,
                    "scale": 0.050288015993135454,
                }
            ],
            "input:0": [
                {"bitwidth": 8, "max": 0.9960872825108046, "min": -1.0039304197656937}
                | {"offset": 127, "scale": 0.007843206675594112}
            ],
        },
        "param_encodings": {
            "Conv2d/weights": [
                {"bitwidth": 8, "max": 1.700559472933134, "min": -2.1006477158567995}
                | {"offset": 140, "scale": 0.01490669485799974}
            ]
        },
    }
    found = parsed(document)
    assert tensor(found, "Conv1:0").offsets == (0,)
    assert tensor(found, "input:0").offsets == (-128,)
    assert tensor(found, "Conv2d/weights").offsets == (-141,)


COURSE = b"""// quantization_config.json
{
  "activation_encodings": {
    "conv1/Relu:0": { "bitwidth": 8, "max": 6.0, "min": 0.0, "scale": 0.023529, "offset": 0 }
  },
  "param_encodings": { // weights
    "http://a//b": { "bitwidth": 8, "max": 2.5, "min": -2.5, "scale": 0.019608, "offset": 127 }
  },
  "activation_bitwidth": 16,
  "param_bitwidth": 8,
  "bias_bitwidth": 32
}
"""


def test_a_hand_written_file_with_comments_and_plain_objects_is_read(tmp_path):
    path = tmp_path / "quantization_config.json"
    path.write_bytes(COURSE)
    found = read_encodings(path)
    assert tensor(found, "conv1/Relu:0").scales == (0.023529,)
    assert tensor(found, "http://a//b").offsets == (-127,)
    assert (found.act_bits, found.weight_bits, found.bias_bits) == (16, 8, 32)


def test_a_range_without_scale_is_turned_into_one_as_the_guide_says():
    entry = {"bitwidth": 8, "min": -1.8, "max": 0.5}
    found = parsed({"activation_encodings": {"x": [entry]}, "param_encodings": {}})
    assert found.tensors[0].scales[0] == pytest.approx(0.00902, abs=1e-6)
    assert found.tensors[0].offsets == (-200,)


def test_an_entry_with_a_width_alone_is_a_wish():
    found = parsed({"activation_encodings": {"x": [{"bitwidth": 16, "dtype": "int"}]}, "param_encodings": {}})
    assert found.tensors[0].is_wish
    with pytest.raises(UnsupportedFeature, match="only a width"):
        write_encodings(found, "1.0.0")
    assert describe_encodings(found, "0.6.1")["activation_encodings"]["x"] == [
        {"bitwidth": 16, "dtype": "int"}
    ]


def test_blocks_cannot_be_written_into_old_versions():
    with pytest.raises(UnsupportedFeature, match="blocks do not exist before version"):
        write_encodings(parsed(FILES["1.0.0"]), "0.6.1")


def test_a_version_that_does_not_exist_cannot_be_written():
    with pytest.raises(UsageError, match="there is no version"):
        write_encodings(EncodingSet(), "3.0")


def legacy(**fields):
    entry = {"bitwidth": 8, "dtype": "int", "scale": 0.1, "offset": -3, **fields}
    return {
        "activation_encodings": {"x": [{k: v for k, v in entry.items() if v is not ...}]},
        "param_encodings": {},
    }


def listed(**fields):
    entry = {
        "name": "x",
        "enc_type": "PER_TENSOR",
        "dtype": "INT",
        "bw": 8,
        "scale": [0.1],
        "offset": [-3],
        **fields,
    }
    return {"version": "1.0.0", "activation_encodings": [entry], "param_encodings": []}


def typed(**fields):
    return {
        "version": "2.0.0",
        "encodings": [{"name": "x", "output_dtype": "uint8", "y_scale": 0.1, **fields}],
    }


BAD = {
    "one section": ({"activation_encodings": {}}, "has no 'param_encodings', expected both"),
    "no object": ([1, 2], "the file is a list, expected an object"),
    "version": ({"version": "7.0", "activation_encodings": {}, "param_encodings": {}}, "version '7.0'"),
    "zero scale": (legacy(scale=0.0), "a scale is 0.0, expected a finite number above 0"),
    "negative scale": (legacy(scale=-0.5), "a scale is -0.5, expected a finite number above 0"),
    "text as scale": (legacy(scale="much"), "a scale is 'much', expected a number"),
    "no width": (legacy(bitwidth=...), "has no 'bitwidth'"),
    "width 0": (legacy(bitwidth=0), "'bitwidth' is 0, expected 1 to 32"),
    "width 64": (legacy(bitwidth=64), "'bitwidth' is 64, expected 1 to 32"),
    "far offset": (legacy(offset=-300), "an offset is -300, expected -255 to 0 in 8 bits"),
    "half an offset": (legacy(offset=-2.5), "'offset' is '-2.5', expected a whole number"),
    "crossed range": (legacy(scale=..., offset=..., min=3.0, max=1.0), "the range is 3.0 to 1.0"),
    "endless range": (legacy(scale=..., offset=..., min=0.0, max=1e999), "'max' is inf, expected a finite"),
    "unknown type": (legacy(dtype="complex"), "'dtype' is 'complex', expected 'int' or 'float'"),
    "nothing": ({"activation_encodings": {"x": []}, "param_encodings": {}}, "the list of encodings is empty"),
    "mixed": (
        {
            "activation_encodings": {},
            "param_encodings": {"w": [{**CHANNEL, "scale": 0.005}, {"bitwidth": 8, "dtype": "float"}]},
        },
        "differ in width or type",
    ),
    "layers": (
        {"activation_encodings": {"conv": {"output": {"0": WHOLE}}}, "param_encodings": {}},
        "nested by layers",
    ),
    "listed scale": (listed(scale=[0.0]), "a scale is 0.0"),
    "listed no scales": (listed(scale=[]), "the list of scales is empty"),
    "listed offsets": (listed(offset=[-1, -2]), "2 offsets come with 1 scales"),
    "listed type": (listed(dtype="TEXT"), "'dtype' is 'TEXT', expected 'INT' or 'FLOAT'"),
    "listed flag": (listed(is_sym="maybe"), "'is_sym' is 'maybe', expected true or false"),
    "block factor": (
        listed(per_block_int_scale=[0], compressed_bw=4),
        "a factor of a block is 0, expected 1",
    ),
    "block factor of two bytes": (
        listed(per_block_int_scale=[1, 256], compressed_bw=4),
        "a factor of a block is 256, expected 1 to 255",
    ),
    "block factor that is no number": (
        listed(per_block_int_scale=[1, True], compressed_bw=4),
        "a factor of a block is ",
    ),
    "typed kind": (typed(output_dtype="bfloat16"), "'output_dtype' is 'bfloat16', expected int4 to uint32"),
    "typed shapes": (typed(y_zero_point=[1, 2]), "expected whole numbers of one shape"),
    "ragged": (typed(y_scale=[[1], [1, 2]]), "nor a regular list of numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_with_a_file_is_said_with_the_file_and_the_tensor(name):
    document, message = BAD[name]
    with pytest.raises(EdgewrightError) as caught:
        parsed(document)
    assert message in str(caught.value)
    assert "my.encodings" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 100_000])
def test_bytes_that_are_no_json_are_refused(content):
    with pytest.raises(EdgewrightError, match=r"not JSON|nested too deeply"):
        parse_encodings(content, "my.encodings")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda c: (
            st.lists(c)
            | st.dictionaries(st.sampled_from(["bitwidth", "scale", "offset", "name", "bw", "dtype"]), c)
        ),
        max_leaves=8,
    )
)
def test_no_entry_makes_anything_but_an_error_of_ours(entry):
    for document in (
        {"activation_encodings": {"x": entry}, "param_encodings": {}},
        {"activation_encodings": [entry], "param_encodings": entry},
        {"encodings": [entry]},
        {"encodings": [{"name": "x", "output_dtype": "int8", "y_scale": entry}]},
    ):
        with contextlib.suppress(EdgewrightError):
            parsed(document)
