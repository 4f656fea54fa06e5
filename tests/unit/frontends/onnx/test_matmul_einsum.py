"""Einsum by products of matrices gives numpy's numbers."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

SIZES = dict(zip("abcdefhijkst", (2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 3, 2), strict=True))
EQUATIONS = [
    "ij,jk->ik",
    "ij,kj->ik",
    "ji,jk->ki",
    "bij,bjk->bik",
    "bhid,bhjd->bhij",
    "bhij,bjhd->bihd",
    "bshd,hdf->bsf",
    "abc,cd,de->abe",
    "ij,jk,kh->i",
    "ij->ji",
    "ij->",
    "ij",
    "ji,i",
    "i,i->",
    "i,j->ij",
    "ab,ab->ab",
    "ab,b->a",
    "ab,cd->abcd",
    "aij,bij,cij->abc",
    "...ij,...jk->...ik",
    "...i->...",
    "...ij,jk",
]


def shapes(equation: str) -> list[tuple[int, ...]]:
    words = equation.split("->", maxsplit=1)[0].split(",")
    return [tuple(SIZES[c] for c in word.replace("...", "ab")) for word in words]


def model_for(equation: str, known: int = 0) -> tuple[object, list[np.ndarray]]:
    arrays = [normal(*shape, seed=i) for i, shape in enumerate(shapes(equation))]
    result = np.einsum(equation, *arrays)
    names = [f"x{i}" for i in range(len(arrays))]
    fed = len(arrays) - known
    listed = ", ".join(f"float{list(a.shape)} {n}" for n, a in zip(names[:fed], arrays, strict=False))
    body = f'y = Einsum<equation="{equation}">({", ".join(names)})'
    text = f"g ({listed}) => (float{list(result.shape)} y) {{ {body} }}"
    return model_of(text, dict(zip(names[fed:], arrays[fed:], strict=True))), arrays[:fed]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_every_form_keeps_its_numbers(equation: str) -> None:
    model, arrays = model_for(equation)
    converted = agree(model, {f"x{i}": array for i, array in enumerate(arrays)})
    assert "SourceOp" not in op_names(converted)


def test_diagonals_are_strided_slices() -> None:
    model = model_of('g (float[2,3,3] x) => (float[2,3] y) { y = Einsum<equation="aii->ai">(x) }')
    x = normal(2, 3, 3)
    converted = ew.convert(model)
    np.testing.assert_array_equal(converted.run({"x": x})["y"], np.einsum("aii->ai", x))
    assert "StridedSlice" in op_names(converted)


def test_attention_scores_need_no_transpose() -> None:
    model, arrays = model_for("bhid,bhjd->bhij")
    assert op_names(agree(model, {"x0": arrays[0], "x1": arrays[1]})) == ["MatMul"]


def test_known_right_hand_side_is_a_fully_connected_layer() -> None:
    model, arrays = model_for("bshd,hdf->bsf", known=1)
    assert "FullyConnected" in op_names(agree(model, {"x0": arrays[0]}))


def test_sizes_may_be_symbolic() -> None:
    body = 'y = Einsum<equation="bhsd,bhtd->bsht">(q, k)'
    text = f"g (float[B,H,S,4] q, float[B,H,T,4] k) => (float[B,S,H,T] y) {{ {body} }}"
    feeds = [{"q": normal(b, 2, s, 4), "k": normal(b, 2, t, 4)} for b, s, t in ((1, 3, 5), (2, 6, 1))]
    agree(model_of(text), *feeds)


@pytest.mark.parametrize(
    ("equation", "right", "wide", "result"),
    [
        ("ij,ij->ij", "1,4", (3, 4), "3,4"),
        ("ij,ij->i", "1,4", (3, 4), "3"),
        ("ij,ij->i", "3,1", (3, 4), "3"),
        ("ij,jk->ik", "1,5", (4, 5), "3,5"),
    ],
)
def test_axis_of_one_broadcasts_whether_it_is_kept_or_summed(
    equation: str, right: str, wide: tuple[int, int], result: str
) -> None:
    feed = {"x": normal(3, 4), "z": normal(*(int(d) for d in right.split(",")))}
    body = f'y = Einsum<equation="{equation}">(x, z)'
    model = model_of(f"g (float[3,4] x, float[{right}] z) => (float[{result}] y) {{ {body} }}")
    expected = np.einsum(equation, feed["x"], np.broadcast_to(feed["z"], wide))
    np.testing.assert_allclose(ew.convert(model).run(feed)["y"], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        ("ij,jk->ik", "names 2 operands, 1 are given"),
        ("ijk->i", "rank 2"),
        ("i->i", "rank 2"),
        ("ij->iz", "has one of no operand"),
        ("ij->ii", "repeats an index"),
        ("i1->i", "not a list of letters"),
        ("ii->i", "expected a square one"),
        ("->->", "rank 2"),
    ],
)
def test_damaged_equations_are_refused_in_words(equation: str, words: str) -> None:
    text = f'g (float[2,3] x) => (float[2] y) {{ y = Einsum<equation="{equation}">(x) }}'
    with pytest.raises(EdgewrightError, match=words):
        ew.convert(model_of(text))
