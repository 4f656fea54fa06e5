"""Symbolic sizes: larger and smaller ones, what they never fall below, and forms that cancel."""

from itertools import product

import pytest

from edgewright.ir.dims import Dim, ceil_div, evaluate, lower_bound, maximum, minimum, symbol

N, M = symbol("n"), symbol("m")
VALUES = [{"n": n, "m": m} for n, m in product(range(12), (0, 1, 5))]
EXPRESSIONS: list[Dim] = [
    N,
    N + 3,
    N - 1,
    maximum(N - 1, 0),
    minimum(N, 5),
    minimum(N, M),
    maximum(N, M) - N,
    N % 4,
    N - (N // 3) * 3,
    ceil_div(N, 4),
    N * M + 2,
    (4 - N % 4) % 4,
    minimum(minimum(N, 5), M) - 7,
    N - maximum(N - M, 0) * 2,
    M // 2 - N // 2,
]


@pytest.mark.parametrize("dim", EXPRESSIONS, ids=str)
def test_no_value_falls_below_the_lower_bound(dim: Dim) -> None:
    low = lower_bound(dim)
    assert low is None or all(int(evaluate(dim, values)) >= low for values in VALUES)


@pytest.mark.parametrize(
    ("left", "right"), [(N, 5), (5, N), (N, M), (N - 1, 0), (N + M, M), (N, N + 2), (3, 7)]
)
def test_larger_and_smaller_are_those_of_the_numbers(left: Dim, right: Dim) -> None:
    for values in VALUES:
        numbers = int(evaluate(left, values)), int(evaluate(right, values))
        assert evaluate(maximum(left, right), values) == max(numbers)
        assert evaluate(minimum(left, right), values) == min(numbers)


def test_what_is_always_larger_needs_no_maximum() -> None:
    assert maximum(N, 0) == N
    assert maximum(N + M, M) == N + M
    assert minimum(N, N + 2) == N


def test_a_size_that_may_be_zero_is_not_taken_for_one() -> None:
    assert maximum(N, 1) != N


def test_parts_that_were_cut_apart_add_up_to_the_whole() -> None:
    assert minimum(N, 1) + maximum(N - 1, 0) == N
    assert maximum(N, M) == maximum(M, N)


@pytest.mark.parametrize(
    ("dim", "low"), [(N, 0), (N + 3, 3), (minimum(N, 5), 0), (N % 4, 0), (N - M, None)], ids=str
)
def test_bounds_are_found_for_the_forms_that_slices_and_pads_make(dim: Dim, low: int | None) -> None:
    assert lower_bound(dim) == low
