"""ONNX pools become QNN's, or what is exactly the same, and keep ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

SIZES = {1: (11,), 2: (9, 8), 3: (5, 6, 7)}
DIMS = ["N", "C", "D", "H", "W"]


def pool(kind: str, attributes: str, dims: str, opset: int = 21, outputs: str = "y") -> Any:
    rank = dims.count(",") + 1
    places = ",".join("PQRST"[:rank])
    listed = f"float[{places}] y" + (f", int64[{places}] i" if "i" in outputs else "")
    text = f"g (float[{dims}] x) => ({listed}) {{ {outputs} = {kind}<{attributes}>(x) }}"
    return model_of(text.replace("<>", ""), opsets={"": opset})


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_plain_pools_are_one_op_for_any_size(kind: str, axes: int) -> None:
    window, stride, pads = [3, 2, 2][:axes], [2, 1, 2][:axes], [1, 0, 1, 1, 1, 0][: 2 * axes]
    model = pool(kind, f"kernel_shape={window}, strides={stride}, pads={pads}", ",".join(DIMS[: axes + 2]))
    converted = agree(model, {"x": normal(2, 3, *SIZES[axes])}, {"x": normal(1, 2, *SIZES[axes][::-1])})
    assert f"Pool{'Max' if kind == 'MaxPool' else 'Avg'}{max(axes, 2)}d" in op_names(converted)


@pytest.mark.parametrize(
    ("kind", "opset"),
    [
        ("MaxPool", 10),
        ("MaxPool", 21),
        ("AveragePool", 10),
        ("AveragePool", 21),
        ("LpPool", 18),
        ("LpPool", 22),
    ],
)
@pytest.mark.parametrize("padding", ["pads=[0,0,1,1]", "pads=[1,1,1,1]", ""])
def test_rounding_up_leaves_out_windows_that_start_in_the_padding(
    kind: str, padding: str, opset: int
) -> None:
    attributes = "kernel_shape=[2,2], strides=[3,3], ceil_mode=1" + (f", {padding}" if padding else "")
    shapes = [(1, 2, 7, 8), (1, 2, 9, 6), (1, 2, 5, 10)]
    for shape in shapes:
        dims = ",".join(map(str, shape)) if kind == "LpPool" else "1,2,H,W"
        agree(pool(kind, attributes, dims, opset), {"x": normal(*shape)})


def test_symbolic_sizes_round_up_as_numbers_do() -> None:
    model = pool("MaxPool", "kernel_shape=[2,2], strides=[3,3], ceil_mode=1, pads=[0,0,1,1]", "1,2,H,W")
    converted = ew.convert(model)
    (height, width) = converted.outputs[0].shape[2:]
    assert not isinstance(height, int)
    assert not isinstance(width, int)
    agree(model, {"x": normal(1, 2, 7, 8)}, {"x": normal(1, 2, 9, 6)}, {"x": normal(1, 2, 5, 10)})


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("ceil", [0, 1])
def test_dilated_averages_count_what_onnx_counts(counted: int, ceil: int) -> None:
    attributes = (
        f"kernel_shape=[3,2], strides=[2,2], dilations=[2,3], pads=[1,1,2,1], ceil_mode={ceil}, "
        f"count_include_pad={counted}"
    )
    converted = agree(pool("AveragePool", attributes, "2,3,10,9"), {"x": normal(2, 3, 10, 9)})
    assert "DepthWiseConv2d" in op_names(converted)


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
def test_automatic_padding_keeps_symbolic_sizes(kind: str, pad: str) -> None:
    model = pool(kind, f'kernel_shape=[3,2], strides=[2,2], auto_pad="{pad}"', "N,3,H,W")
    converted = agree(model, {"x": normal(1, 3, 9, 8)}, {"x": normal(2, 3, 8, 7)})
    assert converted.graph is not None


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_dilated_maxima_are_gathered_and_pooled(axes: int) -> None:
    attributes = (
        f"kernel_shape={[2] * axes}, dilations={[3, 2, 2][:axes]}, pads={[1] * (2 * axes)}, ceil_mode=1"
    )
    dims = ",".join(map(str, (2, 3, *SIZES[axes])))
    converted = agree(pool("MaxPool", attributes, dims), {"x": normal(2, 3, *SIZES[axes])})
    assert {"Gather", f"PoolMax{max(axes, 2)}d"} <= set(op_names(converted))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dilation", [1, 2])
def test_places_of_the_maxima_agree_where_elements_tie(order: int, dilation: int) -> None:
    attributes = (
        f"kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1], dilations=[{dilation},1], storage_order={order}"
    )
    x = np.round(normal(2, 3, 9, 8))
    converted = agree(pool("MaxPool", attributes, "2,3,9,8", outputs="y, i"), {"x": x})
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_p_norms_of_windows_agree(p: int) -> None:
    padded = pool("LpPool", f"kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1], p={p}", "1,3,9,8")
    agree(padded, {"x": normal(1, 3, 9, 8)})
    plain = agree(pool("LpPool", f"kernel_shape=[3,2], p={p}", "1,3,9,8"), {"x": normal(1, 3, 9, 8)})
    assert ("L2Pool2d" in op_names(plain)) == (p == 2)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("dims", ["N,C,W", "N,C,H,W", "2,3,5,6", "N,C,D,H,W"])
def test_global_pools_agree_for_known_and_symbolic_sizes(kind: str, dims: str, opset: int) -> None:
    shape = (2, 3, 5, 6, 4)[: dims.count(",") + 1]
    converted = agree(pool(kind, "", dims, opset), {"x": normal(*shape)})
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "kernel_shape=[0,2]",
        "kernel_shape=[2]",
        "kernel_shape=[2,2], strides=[0,1]",
        "kernel_shape=[2,2], pads=[0,0,0]",
        "kernel_shape=[2,2], pads=[0,-1,0,0]",
        "kernel_shape=[99,2]",
        'kernel_shape="two"',
        "kernel_shape=[2,2], dilations=[0,0]",
        "kernel_shape=[2,2], dilations=[99,1]",
        "kernel_shape=[2,2,2,2,2,2,2,2,2]",
        "kernel_shape=[1073741824,2], pads=[1073741823,0,1073741823,0], dilations=[1,1]",
        "kernel_shape=[2,2], pads=[1073741823,1073741823,0,0]",
        "kernel_shape=[1073741824,2], pads=[1073741824,0,1073741824,0], dilations=[1,2]",
    ],
)
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
def test_hostile_attributes_are_refused_without_a_traceback(kind: str, attributes: str) -> None:
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(pool(kind, attributes, "1,2,8,8", 22))
    assert caught.value.exit_code in {3, 4}
