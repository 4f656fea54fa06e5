"""ONNX convolutions become QNN's, of any rank, padding and grouping, and keep ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

SIZES = {1: (11,), 2: (9, 8), 3: (5, 6, 7)}


def conv(
    attributes: str, filters: Array, dims: str, kind: str = "Conv", opset: int = 21, **more: Array
) -> Any:
    rank = filters.ndim
    places = ",".join("ABCDE"[:rank])
    extra = "".join(f", {name}" for name in more)
    text = f"g (float[{dims}] x) => (float[{places}] y) {{ y = {kind}<{attributes}>(x, w{extra}) }}"
    return model_of(text.replace("<>", ""), {"w": filters, **more}, {"": opset, "com.microsoft": 1})


@pytest.mark.parametrize("opset", [7, 11, 21])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding_of_a_strided_window_keeps_symbolic_sizes(axes: int, pad: str, opset: int) -> None:
    strides = [2, 3, 1][:axes]
    dims = ",".join(["N", "4", "D", "H", "W"][: 2 + axes])
    model = conv(f'auto_pad="{pad}", strides={strides}', normal(5, 4, *[3] * axes), dims, opset=opset)
    sizes = SIZES[axes]
    feeds = [{"x": normal(n, 4, *(size + n for size in sizes))} for n in (1, 2, 3)]
    converted = agree(model, *feeds)
    assert f"Conv{max(axes, 2)}d" in op_names(converted)


def test_even_windows_with_a_bias_and_symbolic_sizes_agree() -> None:
    model = conv('auto_pad="SAME_LOWER", strides=[2,3]', normal(3, 2, 2, 4), "1,2,H,W", b=normal(3))
    agree(model, {"x": normal(1, 2, 9, 13)}, {"x": normal(1, 2, 12, 10)})


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("axes", [1, 2])
def test_one_group_a_channel_is_depthwise(axes: int, multiplier: int) -> None:
    model = conv(
        "group=4", normal(4 * multiplier, 1, *[3] * axes), ",".join(["N", "4", "H", "W"][: 2 + axes])
    )
    converted = agree(model, {"x": normal(2, 4, *SIZES[axes])})
    assert "DepthWiseConv2d" in op_names(converted)


def test_filters_that_are_inputs_need_not_be_known() -> None:
    text = "g (float[1,2,H,W] x, float[3,2,3,3] w) => (float[1,3,P,Q] y) { y = Conv(x, w) }"
    converted = agree(model_of(text), {"x": normal(1, 2, 6, 7), "w": normal(3, 2, 3, 3)})
    assert "Conv2d" in op_names(converted)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    "attributes",
    [
        "strides={s}, output_padding={p}",
        "strides={s}, pads={q}, group=2",
        'strides={s}, auto_pad="SAME_UPPER"',
        'strides={s}, auto_pad="SAME_LOWER"',
        "dilations={s}",
    ],
)
def test_transposed_convolutions_agree_for_symbolic_sizes(axes: int, attributes: str) -> None:
    lists = {"s": [2, 3, 2][:axes], "p": [1, 2, 1][:axes], "q": [1, 0, 1, 1, 0, 1][: 2 * axes]}
    dims = ",".join(["N", "4", "D", "H", "W"][: 2 + axes])
    model = conv(attributes.format(**lists), normal(4, 3, *[4] * axes), dims, kind="ConvTranspose")
    agree(model, {"x": normal(2, 4, *(4, 3, 2)[:axes])}, {"x": normal(1, 4, *(2, 5, 3)[:axes])})


@pytest.mark.parametrize("pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
def test_an_output_shape_says_the_padding(pad: str) -> None:
    attributes = f'strides=[3,2], output_shape=[8,9], auto_pad="{pad}"'
    agree(conv(attributes, normal(1, 2, 3, 3), "1,1,3,4", kind="ConvTranspose"), {"x": normal(1, 1, 3, 4)})


def test_a_fused_sum_and_activation_are_ops_of_their_own() -> None:
    text = (
        "g (float[1,2,5,5] x, float[1,3,3,3] z) => (float[1,3,3,3] y) "
        '{ y = com.microsoft.FusedConv<activation="LeakyRelu", activation_params=[0.3]>(x, w, b, z) }'
    )
    model = model_of(text, {"w": normal(3, 2, 3, 3), "b": normal(3)}, {"com.microsoft": 1})
    converted = agree(model, {"x": normal(1, 2, 5, 5), "z": normal(1, 3, 3, 3)})
    assert "SourceOp" not in op_names(converted)


def test_folding_columns_keeps_a_symbolic_batch() -> None:
    text = "g (float[N,12,9] x) => (float[N,C,H,W] y) { y = Col2Im<strides=[1,2], pads=[0,1,0,0]>(x, s, b) }"
    weights = {"s": np.asarray([4, 7], np.int64), "b": np.asarray([2, 3], np.int64)}
    converted = agree(model_of(text, weights), {"x": normal(2, 12, 9)}, {"x": normal(1, 12, 9)})
    assert "Col2Im" in op_names(converted)


def test_a_one_dimensional_fold_is_a_transposed_convolution() -> None:
    text = "g (float[2,6,4] x) => (float[2,2,L] y) { y = Col2Im<strides=[2], dilations=[1]>(x, s, b) }"
    weights = {"s": np.asarray([10], np.int64), "b": np.asarray([3], np.int64)}
    agree(model_of(text, weights), {"x": normal(2, 6, 4)})


@pytest.mark.parametrize(
    "attributes",
    [
        "strides=[0,1]",
        "strides=[1]",
        "strides=[1,1,1]",
        "dilations=[0,1]",
        "group=0",
        "group=3",
        "group=-2",
        "pads=[1,1]",
        "pads=[-1,0,0,0]",
        "kernel_shape=[2,2]",
        'auto_pad="WRONG"',
        'strides="text"',
        "group=1.5",
        "strides=[1.5,2.5]",
        "pads=[1073741824,1073741824,0,0]",
    ],
)
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_hostile_attributes_are_refused_without_a_traceback(kind: str, attributes: str) -> None:
    model = conv(attributes, normal(4, 4, 3, 3), "1,4,8,8", kind=kind)
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model)
    assert caught.value.exit_code in {3, 4}


def test_a_stride_that_asks_for_more_than_any_machine_has_is_refused() -> None:
    model = conv("strides=[1073741824,1073741824]", normal(4, 4, 3, 3), "1,4,8,8", kind="ConvTranspose")
    with pytest.raises(EdgewrightError, match="is above"):
        ew.convert(model)


@pytest.mark.parametrize("dims", ["4,4", "1,3,8,8", "1,4,2,2", "1,4,8,8,8", "1,4,8"])
def test_an_activation_that_does_not_fit_the_filters_is_refused(dims: str) -> None:
    with pytest.raises(EdgewrightError):
        ew.convert(conv("", normal(4, 4, 3, 3), dims))
