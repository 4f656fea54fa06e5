"""ONNX ops that read and write by index agree with ONNX Runtime, for sizes and counts that a run decides."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names


def ints(*values: int) -> Array:
    return np.asarray(values, np.int64)


def places(high: int, *shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-high, high, shape)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_takes_indices_that_a_run_gives_from_a_symbolic_tensor(axis: int) -> None:
    model = model_of(
        f"g (float[A,B] x, int64[N,2] i) => (float[C,D,E] y) {{ y = Gather<axis={axis}>(x, i) }}"
    )
    feeds = [{"x": normal(a, b), "i": places(2, n, 2)} for a, b, n in ((2, 3, 4), (5, 2, 1))]
    assert op_names(agree(model, *feeds)) == ["Gather"]


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_elements_follow_the_indices_shape(axis: int) -> None:
    text = f"g (float[3,4] x, int64[N,M] i) => (float[N,M] y) {{ y = GatherElements<axis={axis}>(x, i) }}"
    agree(model_of(text), *({"x": normal(3, 4), "i": places(3, n, m)} for n, m in ((3, 2), (1, 4))))


@pytest.mark.parametrize("batch", [0, 1])
def test_gather_nd_goes_along_a_symbolic_batch(batch: int) -> None:
    text = f"""g (float[B,3,4] x, int64[B,N,1] i) => (float y) {{
        z = GatherND<batch_dims={batch}>(x, i)  y = ReduceSum(z) }}"""
    agree(model_of(text), *({"x": normal(b, 3, 4), "i": places(2, b, 5, 1)} for b in (2, 3)))


@pytest.mark.parametrize("opset", [9, 10])
def test_scatter_has_its_old_name_before_opset_11(opset: int) -> None:
    text = "g (float[3,4] x, int64[2,4] i, float[2,4] u) => (float[3,4] y) { y = Scatter<axis=0>(x, i, u) }"
    feed = {"x": normal(3, 4), "i": np.tile(ints(2, 0).reshape(2, 1), (1, 4)), "u": normal(2, 4)}
    assert op_names(agree(model_of(text, opsets={"": opset}), feed)) == ["ScatterElements"]


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scattered_elements_meet_the_data_and_each_other(reduction: str, axis: int) -> None:
    text = f"""g (float[4,5] x, int64[3,4] i, float[3,4] u) => (float[4,5] y) {{
        y = ScatterElements<axis={axis}, reduction="{reduction}">(x, i, u) }}"""
    feeds = [{"x": normal(4, 5), "i": places(4, 3, 4, seed=s), "u": normal(3, 4, seed=9)} for s in range(3)]
    assert "SourceOp" not in op_names(agree(model_of(text), *feeds))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("width", [1, 2])
def test_scattered_slices_meet_the_data_and_each_other(reduction: str, width: int) -> None:
    updates = "3,5" if width == 1 else "3"
    text = f"""g (float[4,5] x, int64[3,{width}] i, float[{updates}] u) => (float[4,5] y) {{
        y = ScatterND<reduction="{reduction}">(x, i, u) }}"""
    indices = ints(0, 2, 3) if reduction == "none" else ints(1, -1, 3)
    tuples = np.stack([indices, ints(-1, 2, 2)], axis=1)[:, :width]
    feed = {"x": normal(4, 5), "i": tuples, "u": normal(*((3, 5) if width == 1 else (3,)))}
    assert "SourceOp" not in op_names(agree(model_of(text), feed))


def test_scatters_with_max_over_symbolic_sizes_are_specialised() -> None:
    text = """g (float[N,3] x, int64[M,3] i, float[M,3] u) => (float[N,3] y) {
        y = ScatterElements<axis=0, reduction="max">(x, i, u) }"""
    feeds = [
        {"x": normal(n, 3), "i": places(2, m, 3), "u": normal(m, 3, seed=5)} for n, m in ((2, 2), (4, 1))
    ]
    agree(model_of(text), *feeds)


def test_scatters_with_max_that_are_too_large_to_spell_out_stay_onnx_s_own() -> None:
    text = """g (float[100000] x, int64[100000] i, float[100000] u) => (float[100000] y) {
        y = ScatterElements<reduction="max">(x, i, u) }"""
    assert op_names(ew.convert(model_of(text))) == ["SourceOp"]


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["float", "int64", "int32"])
def test_one_hot_takes_indices_of_any_number_type(axis: int, dtype: str) -> None:
    numpy = {"float": np.float32, "int64": np.int64, "int32": np.int32}[dtype]
    model = model_of(
        f"g ({dtype}[N,2] i) => (float[A,B,C] y) {{ y = OneHot<axis={axis}>(i, d, v) }}",
        {"d": np.asarray([4], np.float32), "v": np.asarray([-1, 3], np.float32)},
    )
    agree(model, *({"i": places(4, n, 2, seed=n).astype(numpy)} for n in (1, 3)))


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_places_of_non_zeros_are_counted_by_the_run(kind: str) -> None:
    text = f"""g ({kind}[A,B] x, float[9] z) => (int64[2,N] y, float[N,2] picked) {{
        y = NonZero(x)  t = Transpose(y)  picked = Gather(z, t) }}"""
    feeds = []
    for seed in range(3):
        x = np.random.default_rng(seed).integers(0, 2, (3, 4))
        feeds.append({"x": x.astype(np.float32 if kind == "float" else np.bool_), "z": normal(9)})
    converted = agree(model_of(text), *feeds)
    assert "SourceOp" not in op_names(converted)


def test_places_of_known_non_zeros_are_a_constant() -> None:
    text = """g (float[3] x) => (float[3] y) {
        n = Constant<value_ints=[3]>()  o = ConstantOfShape<value=int64[1] {1}>(n)
        p = NonZero(o)  q = Squeeze(p)  y = Gather(x, q) }"""
    assert op_names(agree(model_of(text), {"x": normal(3)})) == ["Gather"]


@pytest.mark.parametrize("form", ["<axis=0>", "<axis=-1>", ""])
def test_compress_keeps_what_the_condition_says(form: str) -> None:
    model = model_of(
        f"g (float[A,3] x, bool[N] c) => (float y) {{ z = Compress{form}(x, c)  y = ReduceSum(z) }}"
    )
    feeds = [{"x": normal(4, 3), "c": np.asarray(c, np.bool_)} for c in ([1, 0, 1], [0, 0], [1])]
    agree(model, *feeds)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_sequences_are_reversed_up_to_their_own_length(batch: int, time: int) -> None:
    text = f"""g (float[A,B,2] x, int64[N] n) => (float[A,B,2] y) {{
        y = ReverseSequence<batch_axis={batch}, time_axis={time}>(x, n) }}"""
    feeds = []
    for sizes in ((3, 4), (5, 5)):
        lengths = np.random.default_rng(1).integers(1, sizes[time] + 1, sizes[batch])
        feeds.append({"x": normal(*sizes, 2), "n": lengths})
    converted = agree(model_of(text), *feeds)
    assert "SourceOp" not in op_names(converted)


HOSTILE = [
    "i = Constant<value_ints=[7]>()  a = Constant<value_ints=[1,2]>()  y = Gather<axis=0>(a, i)",
    "i = Constant<value_ints=[-3]>()  a = Constant<value_ints=[1,2]>()  y = Gather<axis=0>(a, i)",
    "i = Constant<value_ints=[0]>()  y = Gather<axis=9>(x, i)",
    "i = Constant<value_ints=[0]>()  y = GatherElements<axis=0>(x, i)",
    "i = Constant<value_ints=[0,0,0]>()  y = GatherND(x, i)",
    "i = Constant<value_ints=[0]>()  y = GatherND<batch_dims=5>(x, i)",
    'i = Constant<value_ints=[0]>()  y = ScatterND<reduction="median">(x, i, x)',
    "i = Constant<value_ints=[0]>()  y = ScatterND(x, i, x)",
    "i = Constant<value_ints=[0]>()  y = ScatterElements(x, i, i)",
    *(
        f"d = Constant<value_ints=[{d}]>()  v = Constant<value_ints=[{v}]>()"
        "  i = Cast<to=7>(x)  y = OneHot(i, d, v)"
        for d, v in (("-4", "0,1"), ("4", "0,1,2"), ("4,4", "0,1"))
    ),
    "i = Constant<value_ints=[1,1]>()  y = ReverseSequence<batch_axis=0, time_axis=0>(x, i)",
    "i = Cast<to=9>(x)  y = Compress(x, i)",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_what_makes_no_sense_is_one_clear_error(body: str) -> None:
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model_of(f"g (float[2,3] x) => (float[M] y) {{ {body} }}"))
    assert caught.value.exit_code in {3, 4}


def test_an_index_outside_the_axis_says_what_was_found_and_expected() -> None:
    text = """g () => (int64[1] y) {
        i = Constant<value_ints=[7]>()  a = Constant<value_ints=[1,2]>()  y = Gather(a, i) }"""
    with pytest.raises(EdgewrightError, match="indices from 7 to 7 leave an axis of size 2"):
        ew.convert(model_of(text))


@pytest.mark.parametrize(
    "use",
    [
        "y = Slice(z, zero, two)",
        'y = Pad<mode="wrap">(z, pads)',
        "s = Shape(z)  y = ConstantOfShape(s)",
        "s = Shape(z)  y = Expand(w, s)",
    ],
)
def test_a_size_that_only_a_run_can_tell_is_refused_as_a_parameter(use: str) -> None:
    text = f"""g (float[N] x, bool[N] c, float[1] w) => (float[M] y) {{
        zero = Constant<value_ints=[0]>()  two = Constant<value_ints=[2]>()
        pads = Constant<value_ints=[1,1]>()  z = Compress(x, c)  {use} }}"""
    with pytest.raises(EdgewrightError, match="which only a run can tell"):
        ew.convert(model_of(text))
