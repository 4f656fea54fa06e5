"""ONNX ops that cut, pad, repeat and reshape: every opset, and sizes that only a run decides."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError, ShapeMismatch
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names


def ints(*values: int) -> Array:
    return np.asarray(values, np.int64)


SIZES = (1, 2, 5, 9)


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (0, 3, 1),
        (1, 2**63 - 1, 1),
        (-3, -1, 1),
        (-4, 2**31 - 1, 2),
        (2, -1, 3),
        (-1, -(2**63), -1),
        (-2, -7, -2),
        (7, 1, -1),
        (5, 2, 1),
    ],
)
def test_slices_of_a_symbolic_axis_take_what_onnx_takes(start: int, end: int, step: int) -> None:
    model = model_of(
        "g (float[B,N] x) => (float[B,M] y, int64[2] s) { y = Slice(x, a, b, c, d)  s = Shape(y) }",
        {"a": ints(start), "b": ints(end), "c": ints(-1), "d": ints(step)},
    )
    converted = agree(model, *({"x": normal(2, size)} for size in (0, *SIZES)))
    assert "StridedSlice" in op_names(converted)


def test_slice_bounds_may_be_computed_from_sizes_of_either_sign() -> None:
    text = """g (float[N,M] x) => (float[K,L] y, int64[2] s) {
        n = Shape<start=0, end=1>(x)  m = Shape<start=1, end=2>(x)
        gap = Sub(n, m)  one = Constant<value_ints=[1]>()  many = Constant<value_ints=[100]>()
        zero = Constant<value_ints=[0]>()
        y = Slice(x, gap, many, zero, one)  s = Shape(y) }"""
    agree(model_of(text), *({"x": normal(n, m)} for n, m in ((5, 2), (2, 5), (4, 4), (7, 1))))


def test_slices_before_opset_10_have_attributes() -> None:
    text = "g (float[4,5] x) => (float[2,3] y) { y = Slice<starts=[1,-4], ends=[3,4], axes=[0,1]>(x) }"
    assert op_names(agree(model_of(text, opsets={"": 9}), {"x": normal(4, 5)})) == ["StridedSlice"]


def test_a_slice_of_everything_is_left_out() -> None:
    model = model_of(
        "g (float[N] x) => (float[N] y) { z = Slice(x, a, b)  y = Relu(z) }",
        {"a": ints(0), "b": ints(2**63 - 1)},
    )
    assert op_names(agree(model, {"x": normal(3)})) == ["Relu"]


def test_slice_bounds_that_are_inputs_are_bound_at_run_time() -> None:
    model = model_of("g (float[6] x, int64[1] a, int64[1] b) => (float[K] y) { y = Slice(x, a, b) }")
    x = normal(6)
    agree(model, *({"x": x, "a": ints(a), "b": ints(b)} for a, b in ((0, 3), (-2, 9), (4, 1))))


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_splits_of_a_symbolic_axis_add_up_again(opset: int) -> None:
    count = ", num_outputs=3" if opset >= 18 else ""
    text = f"""g (float[N,2] x) => (float[A,2] y) {{
        a, b, c = Split<axis=0{count}>(x)  y = Concat<axis=0>(c, a, b) }}"""
    sizes = (3, 6, 7, 8) if opset >= 18 else (3, 6)
    agree(model_of(text, opsets={"": opset}), *({"x": normal(n, 2)} for n in sizes))


def test_split_sizes_may_be_an_attribute_or_an_input() -> None:
    text = "g (float[7] x) => (float[2] a, float[5] b) {{ a, b = Split{}(x{}) }}"
    agree(model_of(text.format("<split=[2,5]>", ""), opsets={"": 11}), {"x": normal(7)})
    converted = agree(model_of(text.format("", ", s"), {"s": ints(2, 5)}), {"x": normal(7)})
    assert op_names(converted) == ["Split"]


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(1, 2, 0, 1), (0, -1, 2, 2), (-1, -1, -1, 0)])
def test_padding_of_every_mode_crops_where_it_is_negative(mode: str, pads: tuple[int, ...]) -> None:
    text = f'g (float[A,B] x) => (float[C,D] y) {{ y = Pad<mode="{mode}">(x, p) }}'
    model = model_of(text, {"p": ints(*pads)})
    agree(model, *({"x": normal(a, b)} for a, b in ((4, 6), (5, 5))))


def test_mirroring_an_open_axis_is_left_to_the_engine() -> None:
    model = model_of(
        'g (float[A,B] x) => (float[A,C] y) { y = Pad<mode="reflect">(x, p) }', {"p": ints(0, 3, 0, 2)}
    )
    converted = agree(model, *({"x": normal(2, b)} for b in (4, 9)))
    assert set(converted.placement().values()) == {"engine"}


def test_squeezing_all_ones_looks_at_the_sizes_of_the_run() -> None:
    model = model_of("g (float[B,1,N] x) => (float[M] y) { z = Squeeze(x)  y = Relu(z) }")
    agree(model, *({"x": normal(b, 1, n)} for b, n in ((1, 4), (3, 1), (2, 5))))


def test_padding_may_name_axes_and_a_value_that_a_run_gives() -> None:
    model = model_of(
        "g (float[A,4] x, float v) => (float[A,C] y) { y = Pad(x, p, v, a) }",
        {"p": ints(1, 2), "a": ints(-1)},
    )
    agree(model, *({"x": normal(3, 4), "v": np.asarray(v, np.float32)} for v in (0.5, -2)))


def test_padding_before_opset_11_has_attributes() -> None:
    text = "g (float[2,3] x) => (float[4,6] y) { y = Pad<pads=[1,1,1,2], value=1.5>(x) }"
    assert op_names(agree(model_of(text, opsets={"": 10}), {"x": normal(2, 3)})) == ["Pad"]


def test_padding_to_a_multiple_follows_the_size() -> None:
    text = """g (float[2,N] x) => (float[2,M] y, float[2,K,4] z) {
        n = Shape<start=1, end=2>(x)  four = Constant<value_ints=[4]>()  rest = Mod(n, four)
        lack = Sub(four, rest)  extra = Mod(lack, four)  none = Constant<value_ints=[0, 0, 0]>()
        pads = Concat<axis=0>(none, extra)  y = Pad(x, pads)
        wanted = Constant<value_ints=[2, -1, 4]>()  z = Reshape(y, wanted) }"""
    agree(model_of(text), *({"x": normal(2, n)} for n in (1, 4, 6, 7, 8)))


def test_reshape_by_gathered_sizes_as_torch_writes_it() -> None:
    text = """g (float[B,T,6] x) => (float[B,2,T,3] y) {
        s = Shape(x)  zero = Constant<value_int=0>()  one = Constant<value_int=1>()
        b = Gather<axis=0>(s, zero)  t = Gather<axis=0>(s, one)
        first = Constant<value_ints=[0]>()  bb = Unsqueeze(b, first)  tt = Unsqueeze(t, first)
        rest = Constant<value_ints=[2, 3]>()  shape = Concat<axis=0>(bb, tt, rest)
        split = Reshape(x, shape)  y = Transpose<perm=[0,2,1,3]>(split) }"""
    converted = agree(model_of(text), *({"x": normal(b, t, 6)} for b, t in ((1, 4), (3, 7), (2, 0))))
    assert converted.graph is not None
    assert [n for n in op_names(converted) if n in {"Reshape", "Transpose"}] == ["Reshape", "Transpose"]


def test_known_sizes_in_a_symbolic_shape_leave_no_arithmetic_behind() -> None:
    text = """g (float[B,6] x) => (float[B,2,3] y) {
        s = Shape(x)  one = Constant<value_int=1>()  d = Gather<axis=0>(s, one)  two = Constant<value_int=2>()
        half = Div(d, two)  first = Constant<value_ints=[0]>()  h = Unsqueeze(half, first)
        head = Constant<value_ints=[-1, 2]>()  shape = Concat<axis=0>(head, h)  y = Reshape(x, shape) }"""
    assert not {"Gather", "ElementWiseDivide", "Concat"} & set(
        op_names(agree(model_of(text), {"x": normal(4, 6)}))
    )


def test_expand_by_a_sliced_shape_as_torch_writes_it() -> None:
    text = """g (float[B,T,4] x, float[1,1,4] token) => (float[B,S,4] y) {
        s = Shape(x)  a = Constant<value_ints=[0]>()  b = Constant<value_ints=[1]>()
        batch = Slice(s, a, b)  rest = Constant<value_ints=[-1, -1]>()  raw = Concat<axis=0>(batch, rest)
        three = Constant<value_ints=[3]>()  ones = ConstantOfShape<value=int64[1] {1}>(three)
        minus = Constant<value_int=-1>()  marks = Mul(ones, minus)  is_open = Equal(raw, marks)
        shape = Where(is_open, ones, raw)  many = Expand(token, shape)  y = Concat<axis=1>(many, x) }"""
    feeds = [{"x": normal(b, t, 4), "token": normal(1, 1, 4)} for b, t in ((1, 3), (4, 2))]
    converted = agree(model_of(text), *feeds)
    assert "Tile" in op_names(converted)


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (1, 1), (3, 1)])
def test_expand_between_two_unrelated_sizes_broadcasts_as_onnx_does(shape: tuple[int, int]) -> None:
    text = """g (float[A,B] x, float[C,D] like) => (float[E,F] y) { s = Shape(like)  y = Expand(x, s) }"""
    model = model_of(text)
    agree(model, {"x": normal(*shape), "like": normal(3, 4)}, {"x": normal(3, 4), "like": normal(*shape)})


def test_tiles_repeat_by_symbolic_counts() -> None:
    text = """g (float[2,1] x, float[N] like) => (float[2,M] y) {
        one = Constant<value_ints=[1]>()  n = Shape(like)  r = Concat<axis=0>(one, n)  y = Tile(x, r) }"""
    agree(model_of(text), *({"x": normal(2, 1), "like": normal(n)} for n in (1, 5)))


@pytest.mark.parametrize(("opset", "form"), [(11, "<axes=[0,-1]>({})"), (13, "({}, a)")])
def test_squeeze_and_unsqueeze_undo_each_other(opset: int, form: str) -> None:
    text = f"""g (float[N,3] x) => (float[1,N,3,1] y, float[N,3] z) {{
        y = Unsqueeze{form.format("x")}  z = Squeeze{form.format("y")} }}"""
    weights = {"a": ints(0, -1)} if opset >= 13 else {}
    agree(model_of(text, weights, {"": opset}), *({"x": normal(n, 3)} for n in (1, 4)))


def test_squeeze_without_axes_keeps_sizes_that_a_run_decides() -> None:
    model = model_of("g (float[N,1,3] x) => (float[N,3] y) { y = Squeeze(x) }")
    agree(model, {"x": normal(4, 1, 3)})


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten_cuts_at_any_axis(axis: int) -> None:
    text = f"g (float[A,2,B] x) => (float[M,N] y) {{ y = Flatten<axis={axis}>(x) }}"
    agree(model_of(text), *({"x": normal(a, 2, b)} for a, b in ((3, 4), (1, 2))))


def test_range_over_a_symbolic_size_counts_up_to_it() -> None:
    text = """g (float[2,N] x) => (int64[N] y, float[2,N] z) {
        s = Shape(x)  one = Constant<value_int=1>()  zero = Constant<value_int=0>()
        n = Gather<axis=0>(s, one)  y = Range(zero, n, one)
        f = Cast<to=1>(y)  z = Add(x, f) }"""
    converted = agree(model_of(text), *({"x": normal(2, n)} for n in (1, 5, 0)))
    assert converted.graph is not None


def test_a_range_after_a_past_starts_where_the_past_stops() -> None:
    text = """g (float[P] past, float[N] x) => (int64[N] y) {
        p = Size(past)  n = Size(x)  one = Constant<value_int=1>()  end = Add(p, n)
        y = Range(p, end, one) }"""
    agree(model_of(text), *({"past": normal(p), "x": normal(n)} for p, n in ((0, 3), (4, 1))))


@pytest.mark.parametrize("step", [-1, 2])
def test_range_with_steps_is_specialised_on_the_size(step: int) -> None:
    text = f"""g (float[N] x) => (int64[M] y) {{
        n = Size(x)  zero = Constant<value_int=0>()  step = Constant<value_int={step}>()
        y = Range({"n, zero" if step < 0 else "zero, n"}, step) }}"""
    agree(model_of(text), *({"x": normal(n)} for n in (1, 4, 5)))


def test_range_of_broken_numbers_counts_each_from_the_first() -> None:
    weights = {k: np.asarray(v, np.float32) for k, v in (("a", 0.1), ("b", 5.0), ("c", 0.3))}
    agree(model_of("g () => (float[M] y) { y = Range(a, b, c) }", weights), {})


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles_of_symbolic_matrices_keep_their_diagonal(upper: int, k: int) -> None:
    text = f"g (float[B,N,M] x) => (float[B,N,M] y) {{ y = Trilu<upper={upper}>(x, k) }}"
    model = model_of(text, {"k": np.asarray(k, np.int64)})
    converted = agree(model, *({"x": normal(2, n, m)} for n, m in ((4, 4), (3, 5), (1, 2))))
    assert converted.graph is not None


def test_a_causal_mask_as_torch_writes_it_grows_with_the_sequence() -> None:
    text = """g (float[1,T] x) => (bool[T,T] y) {
        s = Shape(x)  one = Constant<value_int=1>()  t = Gather<axis=0>(s, one)
        first = Constant<value_ints=[0]>()  tt = Unsqueeze(t, first)  shape = Concat<axis=0>(tt, tt)
        full = ConstantOfShape<value=float[1] {1}>(shape)  low = Trilu<upper=0>(full)
        y = Cast<to=9>(low) }"""
    agree(model_of(text), *({"x": normal(1, t)} for t in (1, 4)))


def test_sizes_of_a_symbolic_tensor_are_counted() -> None:
    text = """g (float[N,3] x) => (int64 y, int64[1] s, int64[2] e) {
        y = Size(x)  s = Shape<start=-2, end=-1>(x)  e = Shape(x) }"""
    agree(model_of(text), *({"x": normal(n, 3)} for n in (2, 5)))


def test_blocks_move_between_depth_and_space_in_both_orders() -> None:
    text = """g (float[N,8,H,W] x) => (float[N,2,H2,W2] y, float[N,2,H2,W2] z, float[N,8,H,W] back) {
        y = DepthToSpace<blocksize=2, mode="DCR">(x)  z = DepthToSpace<blocksize=2, mode="CRD">(x)
        back = SpaceToDepth<blocksize=2>(y) }"""
    agree(model_of(text), *({"x": normal(n, 8, 3, w)} for n, w in ((1, 2), (2, 5))))


def test_dropout_in_inference_is_nothing_but_a_mask() -> None:
    text = "g (float[N] x) => (float[N] y, bool[N] m) { z, m = Dropout(x)  y = Relu(z) }"
    agree(model_of(text), *({"x": normal(n)} for n in (1, 4)))


def test_microsofts_own_spellings_are_known() -> None:
    text = """g (float[2,3] x) => (float[2,1,3] y, float[4,3] z) {
        y = com.microsoft.ExpandDims(x, a)  z = com.microsoft.Pad(x, p) }"""
    model = model_of(text, {"a": np.asarray(1, np.int32), "p": ints(1, 0, 1, 0)}, {"com.microsoft": 1})
    agree(model, {"x": normal(2, 3)})


@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform"])
def test_random_tensors_are_drawn_anew_and_never_folded(op: str) -> None:
    converted = ew.convert(model_of(f"g () => (float[50] y) {{ y = {op}<shape=[50]>() }}"))
    assert op_names(converted) == [f"{op}Like"]
    first, second = (converted.run({})["y"] for _ in range(2))
    assert first.shape == (50,)
    assert not np.array_equal(first, second)


HOSTILE = [
    ("float[M] y", "y = Slice<starts=[0], ends=[1], axes=[7]>(x)", 9),
    (
        "float[M] y",
        "a = Constant<value_ints=[0]>()  b = Constant<value_ints=[0,1]>()  y = Slice(x, a, b)",
        21,
    ),
    ("float[M] y", "a = Constant<value_ints=[0]>()  y = Slice(x, a, a, a, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[1,2]>()  y, z = Split<axis=0>(x, a)", 21),
    ("float[M] y", "y, z = Split<axis=0, num_outputs=900000000>(x)", 21),
    ("float[M] y", "a = Constant<value_ints=[1]>()  y = Pad(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[-9,-9,-9,-9]>()  y = Pad(x, a)", 21),
    ("float[M] y", 'a = Constant<value_ints=[1,1,1,1]>()  y = Pad<mode="spiral">(x, a)', 21),
    ("float[M] y", "a = Constant<value_ints=[1000000000,1000000000]>()  b = Tile(x, a)  y = Tile(b, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[-2,3]>()  y = Tile(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[5,3]>()  y = Expand(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[-1,-1]>()  y = Reshape(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[0,0,0,2]>()  y = Reshape(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[0]>()  y = Squeeze(x, a)", 21),
    ("float[M] y", "a = Constant<value_ints=[1,1]>()  y = Unsqueeze(x, a)", 21),
    ("float[M] y", "y = Flatten<axis=4>(x)", 21),
    ("float[M] y", "y = Transpose<perm=[0,0]>(x)", 21),
    ("float[M] y", "y = Concat<axis=5>(x, x)", 21),
    ("float[M] y", "y = DepthToSpace<blocksize=0>(x)", 21),
    ("float[M] y", "a = Constant<value_ints=[-3]>()  y = ConstantOfShape(a)", 21),
    ("float[M] y", "a = Constant<value_ints=[1000000,1000000,1000000]>()  y = ConstantOfShape(a)", 21),
    ("int64[M] y", "a = Constant<value_int=0>()  y = Range(a, a, a)", 21),
    (
        "int64[M] y",
        "a = Constant<value_int=1>()  b = Constant<value_int=4000000000000>()  y = Range(a, b, a)",
        21,
    ),
    ("float[M] y", "y = CenterCropPad<axes=[0,1,2]>(x, s)", 21),
]


@pytest.mark.parametrize(("output", "body", "opset"), HOSTILE, ids=[body for _, body, _ in HOSTILE])
def test_what_makes_no_sense_is_one_clear_error(output: str, body: str, opset: int) -> None:
    model = model_of(f"g (float[2,3] x) => ({output}) {{ {body} }}", {"s": ints(1, 1)}, {"": opset})
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model)
    assert caught.value.exit_code in {3, 4}
    assert "Traceback" not in str(caught.value)


def test_a_wrong_slice_says_what_was_found_and_expected() -> None:
    model = model_of(
        "g (float[2,3] x) => (float[2,M] y) { y = Slice(x, a, b) }", {"a": ints(0), "b": ints(1, 2)}
    )
    with pytest.raises(ShapeMismatch, match="1 starts, 2 ends, 1 axes and 1 steps are given"):
        ew.convert(model)


def test_a_parameter_that_depends_on_data_is_refused_by_its_name() -> None:
    text = "g (float[6] x) => (float[M] y) { i = NonZero(x)  s = Shape<start=1>(i)  y = ConstantOfShape(s) }"
    with pytest.raises(EdgewrightError, match="only a run can tell"):
        ew.convert(model_of(text))
