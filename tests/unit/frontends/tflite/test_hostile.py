"""Damaged and hostile TFLite files: one clear error, in bounded time, nothing else."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, Problems, UnsupportedFeature
from edgewright.core.numbers import DType
from tests.unit.frontends.tflite.cases import float_cases, ints, q8, single, weights, x
from tests.unit.frontends.tflite.flow_cases import flow_cases
from tests.unit.frontends.tflite.quantized_cases import filters, quantized_cases
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, const, model

RELU_MODEL = single("relu", "RELU", [x(2, 3)]).data


def convert(folder: Path, data: bytes) -> ew.Model:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return ew.convert(path)


def one(operator: Operator, *tensors: Tensor, inputs=(0,), outputs=(1,)) -> bytes:
    return model(Subgraph(tensors, inputs, outputs, [operator]))


def test_every_shortened_file_is_one_error(tmp_path: Path) -> None:
    for length in range(0, len(RELU_MODEL) - 1, 7):
        with pytest.raises(EdgewrightError):
            convert(tmp_path, RELU_MODEL[:length])


@pytest.mark.parametrize(
    "data", [b"", b"x", b"\0\0\0\0TFL3", b"\xff\xff\xff\xffTFL3", b"\x08\0\0\0TFL3\0\0\0\0"]
)
def test_a_file_without_a_model_is_no_model(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadInput, match=r"not a TFLite model|the TFLite model is damaged"):
        convert(tmp_path, data)


def test_a_model_is_recognised_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(RELU_MODEL)
    assert ew.convert(path).inputs[0].shape == (2, 3)


def test_random_damage_never_ends_in_a_traceback(tmp_path: Path) -> None:
    source = random.Random(7)
    models = [case.data for case in (*float_cases(), *quantized_cases(), *flow_cases())]
    for _ in range(300):
        data = bytearray(source.choice(models))
        for _ in range(source.choice([1, 2, 6])):
            place = source.randrange(len(data)) & ~3
            value = source.choice([0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(data), source.randrange(1 << 32)])
            data[place : place + 4] = value.to_bytes(4, "little")
        try:
            convert(tmp_path, bytes(data))
        except EdgewrightError:
            continue


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (one(Operator("RELU", [5], [1]), x(2), Tensor()), "'RELU' names tensor 5, the file has 2"),
        (one(Operator("RELU", [0], [-1]), x(2), Tensor()), "'RELU' names tensor -1"),
        (model(Subgraph([x(2), Tensor()], [9], [1], [])), "'input' names tensor 9"),
        (one(Operator("CALL", [0], [1], {"subgraph": 4}), x(2), Tensor()), "'CALL' names subgraph 4"),
        (
            one(Operator("RELU", [0], [1]), replace(x(2), shape=(-1, 2)), Tensor()),
            "dimensions .* out of range",
        ),
        (one(Operator("RELU", [0], [1]), q8(2, scale=float("nan")), Tensor()), "a scale is nan"),
        (one(Operator("RELU", [0], [1]), q8(2, scale=-1.0), Tensor()), "a scale is -1"),
        (one(Operator("QUANTIZE", [0], [1]), x(2), q8(2, scale=0.0)), "a scale is 0.0, expected more than 0"),
        (one(Operator("RELU", [0], [1]), q8(2, zero=900), Tensor()), "a zero point is 900"),
        (one(Operator("RELU", [0], [1]), replace(q8(2), scales=(1.0, 1.0, 1.0)), Tensor()), "3 scales"),
        (
            one(Operator("RELU", [0], [1]), replace(q8(2), scales=(1.0, 1.0), axis=7), Tensor()),
            "along axis 7",
        ),
        (one(Operator("RELU", [1], [1]), x(2), Tensor()), "read but never made"),
        (one(Operator("SPACE_TO_DEPTH", [0], [1]), x(1, 2, 2, 1), Tensor()), "block_size is 0"),
        (single("a", "CONV_2D", [x(1, 4, 4, 2), weights(1, 2, 2, 2), None]).data, "stride_w is 0"),
        (single("a", "SLICE", [x(4), ints(9), ints(2)]).data, "leaves an axis"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_nonsense_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(EdgewrightError, match=message) as caught:
        convert(tmp_path, data)
    assert str(tmp_path) in str(caught.value)


def test_filters_without_channels_are_an_error(tmp_path: Path) -> None:
    empty = const(np.zeros((1, 2, 2, 0), np.float32))
    case = single("a", "CONV_2D", [x(1, 4, 4, 2), empty, None], {"stride_w": 1, "stride_h": 1})
    with pytest.raises(EdgewrightError):
        convert(tmp_path, case.data)


def test_a_buffer_of_another_size_than_the_shape_is_an_error(tmp_path: Path) -> None:
    short = Tensor((9, 9), DType.FLOAT_32, np.zeros(4, np.float32))
    with pytest.raises(BadInput, match=r"16 bytes are stored, but FLOAT_32 .* takes 324"):
        convert(tmp_path, single("a", "ADD", [x(9, 9), short]).data)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([(0, 3, (), ()), (1, 0, (0, 2, 9), (0, 1))], "segments are listed|is named"),
        ([(0, 3, (), ()), (1, 0, (0, 1, 2, 3), (0, 77, 1))], "outside an axis"),
        ([(0, 5, (), ()), (1, 0, (0, 1, 1, 1), (0,))], "a dense level has size 5"),
        ([(0, 3, (), ())], "do not fit rank 2"),
        ([(0, 3, (), ()), (1, 0, (4, 1, 1, 1), (0,))], "do not rise"),
    ],
)
def test_a_damaged_sparse_tensor_is_an_error(tmp_path: Path, levels, message: str) -> None:
    sparse = Tensor((3, 4), DType.FLOAT_32, np.ones(4, np.float32), sparsity=((0, 1), (), levels))
    with pytest.raises(BadInput, match=message):
        convert(tmp_path, single("a", "ADD", [x(3, 4), sparse]).data)


def test_a_sparse_bomb_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    shape = (1 << 20, 1 << 20)
    levels = [(0, shape[0], (), ()), (0, shape[1], (), ())]
    bomb = Tensor(shape, DType.FLOAT_32, np.ones(1, np.float32), sparsity=((0, 1), (), levels))
    with pytest.raises(LimitExceeded, match="a sparse tensor"):
        convert(tmp_path, single("a", "ADD", [x(3, 4), bomb]).data)


def test_sparse_blocks_are_read(tmp_path: Path) -> None:
    # Two blocks of 1 x 2 in a matrix of 2 x 4: one in each row.
    levels = [(0, 2, (), ()), (1, 0, (0, 1, 2), (1, 0)), (0, 2, (), ())]
    sparse = Tensor(
        (2, 4), DType.FLOAT_32, np.asarray([1, 2, 3, 4], np.float32), sparsity=((0, 1, 2), (1,), levels)
    )
    found = convert(tmp_path, single("a", "ADD", [x(2, 4), sparse]).data)
    (made,) = found.run({"x": np.zeros((2, 4), np.float32)}).values()
    assert made.tolist() == [[0, 0, 1, 2], [3, 4, 0, 0]]


def test_all_unknown_ops_are_listed_at_once(tmp_path: Path) -> None:
    tensors = [x(3), Tensor((3,), name="a"), Tensor((3,), name="b")]
    operators = [Operator("Magic", [0], [1], custom=b"\1\2"), Operator("HASHTABLE_FIND", [1], [2])]
    with pytest.raises(Problems) as caught:
        convert(tmp_path, model(Subgraph(tensors, [0], [2], operators)))
    assert "custom op 'Magic' has no QNN equivalent" in str(caught.value)
    assert "op 'HASHTABLE_FIND' has no QNN equivalent" in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_file_of_a_later_schema_is_refused(tmp_path: Path) -> None:
    data = RELU_MODEL.replace((3).to_bytes(4, "little"), (4).to_bytes(4, "little"), 1)
    with pytest.raises((UnsupportedFeature, BadInput)):
        convert(tmp_path, data)


def test_names_that_are_used_twice_or_left_out_become_distinct(tmp_path: Path) -> None:
    twice = [Tensor((3,), name="same"), Tensor((3,), name="same"), Tensor((3,), name="same")]
    operators = [Operator("NEG", [0], [1]), Operator("ABS", [1], [2])]
    found = convert(tmp_path, model(Subgraph(twice, [0], [2], operators)))
    (made,) = found.run({"same": np.asarray([1, -2, 3], np.float32)}).values()
    assert made.tolist() == [1, 2, 3]


def test_filters_with_a_scale_for_each_channel_keep_them(tmp_path: Path) -> None:
    kernel = filters(5, 3, 2, 4, axis=0)
    options = {"stride_w": 1, "stride_h": 1}
    case = single("a", "CONV_2D", [q8(1, 7, 6, 4), kernel, None], options, [q8(name="out")])
    graph = convert(tmp_path, case.data).fixed_graph()
    (node,) = graph.nodes
    found = graph.types[node.inputs[1]].encoding
    assert found is not None
    assert (found.axis, np.float32(found.scales).tolist()) == (3, np.float32(kernel.scales).tolist())
    np.testing.assert_array_equal(graph.constants[node.inputs[1]], kernel.data.transpose(1, 2, 3, 0))
