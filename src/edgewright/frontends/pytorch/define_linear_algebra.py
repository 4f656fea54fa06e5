"""Factorizations and solutions of small linear systems, written out step by step in terms of other ops.

Every step of the elimination is a few ops on the whole batch, so their number grows with the matrix's size.
"""

from typing import Any

from edgewright.core.errors import UnsupportedOp
from edgewright.frontends.pytorch.definitions import define

LARGEST_MATRIX = 64


def _check_size(size: int) -> None:
    if size > LARGEST_MATRIX:
        raise UnsupportedOp(
            f"a matrix of {size} rows is factorized, at most {LARGEST_MATRIX} are written out",
            do="compute this outside of the network",
        )


def _swap_rows(torch: Any, a: Any, first: int, second: Any) -> Any:
    """The matrices with one row exchanged for another one, which each matrix of the batch has its own."""
    rows = torch.arange(a.shape[-2])
    second = second.unsqueeze(-1)
    order = torch.where(rows == first, second, torch.where(rows == second, first, rows))
    return torch.gather(a, -2, order.unsqueeze(-1).expand(*order.shape, a.shape[-1]))


def _compute_factors(torch: Any, a: Any) -> tuple[Any, Any, Any]:
    """Both factors in one matrix, the order of the rows, and which row each step took as its pivot."""
    rows, columns = a.shape[-2:]
    _check_size(max(rows, columns))
    batch = a.shape[:-2]
    places = torch.arange(rows)
    order = places.expand(*batch, rows).unsqueeze(-1)
    pivots = []
    for step in range(min(rows, columns)):
        sizes = torch.where(places < step, -1.0, a[..., step].abs())
        pivot = sizes.argmax(-1)
        pivots.append(pivot)
        a, order = _swap_rows(torch, a, step, pivot), _swap_rows(torch, order, step, pivot)
        below = (places > step).to(a.dtype)
        diagonal = a[..., step : step + 1, step : step + 1]
        is_zero = diagonal == 0
        factors = a[..., step : step + 1] / torch.where(is_zero, 1.0, diagonal) * below.unsqueeze(-1)
        right = (torch.arange(columns) > step).to(a.dtype)
        inner = a - factors * (a[..., step : step + 1, :] * right)
        is_factor = (places > step).unsqueeze(-1) & (torch.arange(columns) == step)
        a = torch.where(is_factor, factors, inner)
    result = torch.stack(pivots, -1) if pivots else a.new_zeros((*batch, 0), dtype=torch.int64)
    return a, order.squeeze(-1), result


def _split(torch: Any, packed: Any) -> tuple[Any, Any]:
    rows, columns = packed.shape[-2:]
    least = min(rows, columns)
    lower = packed[..., :, :least].tril(-1) + torch.eye(rows, least, dtype=packed.dtype)
    return lower, packed[..., :least, :].triu()


def _substitute(torch: Any, a: Any, b: Any, *, is_upper: bool, is_unit: bool) -> Any:
    """X with A X = B, A triangular."""
    count = a.shape[-1]
    _check_size(count)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = b.expand(*batch, *b.shape[-2:])
    rows: dict[int, Any] = {}
    for row in reversed(range(count)) if is_upper else range(count):
        rest = b[..., row : row + 1, :]
        known = sorted(rows)
        if known:
            above = torch.cat([rows[index] for index in known], -2)
            rest = rest - a[..., row : row + 1, known[0] : known[-1] + 1] @ above
        rows[row] = rest if is_unit else rest / a[..., row : row + 1, row : row + 1]
    return torch.cat([rows[index] for index in range(count)], -2) if count else b


def _apply_factors(torch: Any, packed: Any, order: Any, b: Any) -> Any:
    batch = torch.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    b = b.expand(*batch, *b.shape[-2:])
    order = order.expand(*batch, order.shape[-1]).unsqueeze(-1)
    turned = torch.gather(b, -2, order.expand(*batch, order.shape[-2], b.shape[-1]))
    lower = _substitute(torch, packed, turned, is_upper=False, is_unit=True)
    return _substitute(torch, packed, lower, is_upper=True, is_unit=False)


def _make_success(torch: Any, a: Any) -> Any:
    """The code of success; what cannot be factorized shows in zeros of its diagonal or in infinities."""
    return torch.zeros(a.shape[:-2], dtype=torch.int32)


@define("aten::_linalg_check_errors")
def _define_check(_torch: Any, _info: Any, *_: Any, **_options: Any) -> None:
    """Whether a factorization failed is not asked at run time."""


@define("aten::linalg_inv_ex")
def _define_inverse(torch: Any, a: Any, **_: Any) -> tuple[Any, Any]:
    packed, order, _ = _compute_factors(torch, a)
    identity = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)
    return _apply_factors(torch, packed, order, identity), _make_success(torch, a)


@define("aten::_linalg_solve_ex")
def _define_solution(torch: Any, a: Any, b: Any, *, left: bool = True, **_: Any) -> tuple[Any, Any, Any, Any]:
    is_vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    right = b.unsqueeze(-1) if is_vector else b
    if not left and not is_vector:
        a, right = a.mT, right.mT
    packed, order, pivots = _compute_factors(torch, a)
    result = _apply_factors(torch, packed, order, right)
    result = result.squeeze(-1) if is_vector else result if left else result.mT
    return result, packed, (pivots + 1).to(torch.int32), _make_success(torch, a)


@define("aten::linalg_lu_factor_ex")
def _define_lu_factors(torch: Any, a: Any, *, pivot: bool = True, **_: Any) -> tuple[Any, Any, Any]:
    if not pivot:
        raise UnsupportedOp("a factorization without pivoting is asked for")
    packed, _, pivots = _compute_factors(torch, a)
    return packed, (pivots + 1).to(torch.int32), _make_success(torch, a)


@define("aten::linalg_lu")
def _define_lu(torch: Any, a: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    if not pivot:
        raise UnsupportedOp("a factorization without pivoting is asked for")
    packed, order, _ = _compute_factors(torch, a)
    return (_permute(torch, order, a.dtype), *_split(torch, packed))


def _permute(torch: Any, order: Any, dtype: Any) -> Any:
    """The matrix that brings rows from their order in the factors back to the one that they had."""
    return (torch.arange(order.shape[-1]).unsqueeze(-1) == order.unsqueeze(-2)).to(dtype)


def _read_pivots(torch: Any, pivots: Any, rows: int) -> Any:
    """The order of the rows from what each step exchanged."""
    order = torch.arange(rows).expand(*pivots.shape[:-1], rows).unsqueeze(-1)
    for step in range(pivots.shape[-1]):
        order = _swap_rows(torch, order, step, pivots[..., step].to(torch.int64) - 1)
    return order.squeeze(-1)


@define("aten::lu_unpack")
def _define_unpacked(
    torch: Any, packed: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Any, Any, Any]:
    none = packed.new_zeros(0)
    lower, upper = _split(torch, packed) if unpack_data else (none, none)
    if not unpack_pivots:
        return none, lower, upper
    order = _read_pivots(torch, pivots, packed.shape[-2])
    return _permute(torch, order, packed.dtype), lower, upper


@define("aten::linalg_lu_solve")
def _define_lu_solution(
    torch: Any, packed: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    order = _read_pivots(torch, pivots, packed.shape[-2])
    if left and not adjoint:
        return _apply_factors(torch, packed, order, b)
    lower, upper = _split(torch, packed)
    whole = _permute(torch, order, packed.dtype) @ lower @ upper
    whole = whole.mT if adjoint else whole
    if left:
        again, rows, _ = _compute_factors(torch, whole)
        return _apply_factors(torch, again, rows, b)
    again, rows, _ = _compute_factors(torch, whole.mT)
    return _apply_factors(torch, again, rows, b.mT).mT


def _measure_determinant(torch: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    packed, _, pivots = _compute_factors(torch, a)
    swaps = (pivots != torch.arange(pivots.shape[-1])).sum(-1)
    sign = (1 - 2 * (swaps % 2)).to(a.dtype)
    return packed.diagonal(0, -2, -1), sign, packed, (pivots + 1).to(torch.int32)


@define("aten::_linalg_slogdet")
def _define_log_determinant(torch: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    diagonal, sign, packed, pivots = _measure_determinant(torch, a)
    return sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), packed, pivots


@define("aten::linalg_cholesky_ex")
def _define_cholesky(torch: Any, a: Any, *, upper: bool = False, **_: Any) -> tuple[Any, Any]:
    count = a.shape[-1]
    _check_size(count)
    rest, columns = a.mT if upper else a, []
    for step in range(count):
        below = (torch.arange(count) >= step).to(a.dtype).unsqueeze(-1)
        column = rest[..., step : step + 1] / rest[..., step : step + 1, step : step + 1].sqrt() * below
        columns.append(column)
        rest = rest - column @ column.mT
    result = torch.cat(columns, -1) if columns else a
    return result.mT if upper else result, _make_success(torch, a)


@define("aten::cholesky")
def _define_old_cholesky(torch: Any, a: Any, upper: bool = False) -> Any:
    return _define_cholesky(torch, a, upper=upper)[0]


@define("aten::cholesky_solve")
def _define_cholesky_solution(torch: Any, b: Any, factor: Any, upper: bool = False) -> Any:
    lower = factor.mT if upper else factor
    middle = _substitute(torch, lower, b, is_upper=False, is_unit=False)
    return _substitute(torch, lower.mT, middle, is_upper=True, is_unit=False)


@define("aten::cholesky_inverse")
def _define_cholesky_inverse(torch: Any, factor: Any, upper: bool = False) -> Any:
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype)
    return _define_cholesky_solution(torch, identity, factor.triu() if upper else factor.tril(), upper)


@define("aten::linalg_solve_triangular")
def _define_triangular(
    torch: Any, a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if left:
        return _substitute(torch, a, b, is_upper=upper, is_unit=unitriangular)
    return _substitute(torch, a.mT, b.mT, is_upper=not upper, is_unit=unitriangular).mT


@define("aten::triangular_solve")
def _define_old_triangular(
    torch: Any, b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, Any]:
    matrix = a.mT if transpose else a
    result = _substitute(torch, matrix, b, is_upper=upper != transpose, is_unit=unitriangular)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return result, a.expand(*batch, *a.shape[-2:]).clone()


def _compute_reflections(torch: Any, a: Any) -> tuple[Any, Any]:
    """Householder's reflections below the triangle that they leave, and their factors, as LAPACK has them."""
    rows, columns = a.shape[-2:]
    _check_size(max(rows, columns))
    places = torch.arange(rows).unsqueeze(-1)
    factors = []
    for step in range(min(rows, columns)):
        first = a[..., step : step + 1, step : step + 1]
        below = a[..., step : step + 1] * (places > step)
        length = (below * below).sum(-2, keepdim=True)
        is_flat = length == 0
        sign = torch.where(first < 0, -1.0, 1.0)
        beta = torch.where(is_flat, first, -sign * (first * first + length).sqrt())
        tau = torch.where(is_flat, 0.0, (beta - first) / torch.where(beta == 0, 1.0, beta))
        vector = below / torch.where(is_flat, 1.0, first - beta)
        whole = vector + (places == step)
        right = (torch.arange(columns) > step).to(a.dtype)
        change = tau * whole @ (whole.mT @ (a * right))
        is_column = torch.arange(columns) == step
        kept = torch.where(places > step, vector, torch.where(places == step, beta, a[..., step : step + 1]))
        a = torch.where(is_column, kept, a - change)
        factors.append(tau.squeeze(-1).squeeze(-1))
    return a, torch.stack(factors, -1) if factors else a.new_zeros((*a.shape[:-2], 0))


def _multiply_reflections(torch: Any, packed: Any, factors: Any, columns: int) -> Any:
    rows = packed.shape[-2]
    result = torch.eye(rows, columns, dtype=packed.dtype).expand(*packed.shape[:-2], rows, columns)
    places = torch.arange(rows).unsqueeze(-1)
    for step in reversed(range(factors.shape[-1])):
        vector = packed[..., step : step + 1] * (places > step) + (places == step)
        result = result - factors[..., step, None, None] * vector @ (vector.mT @ result)
    return result


@define("aten::geqrf")
def _define_reflections(torch: Any, a: Any) -> tuple[Any, Any]:
    return _compute_reflections(torch, a)


@define("aten::linalg_householder_product")
def _define_product(torch: Any, packed: Any, factors: Any) -> Any:
    _check_size(packed.shape[-2])
    return _multiply_reflections(torch, packed, factors, packed.shape[-1])


@define("aten::linalg_qr")
def _define_qr(torch: Any, a: Any, mode: str = "reduced") -> tuple[Any, Any]:
    packed, factors = _compute_reflections(torch, a)
    rows, columns = a.shape[-2:]
    height = rows if mode == "complete" else min(rows, columns)
    triangle = packed[..., :height, :].triu()
    if mode == "r":
        return a.new_zeros(0), triangle
    return _multiply_reflections(torch, packed, factors, height), triangle


@define("aten::ormqr")
def _define_reflected(
    torch: Any, packed: Any, factors: Any, other: Any, left: bool = True, transpose: bool = False
) -> Any:
    whole = _multiply_reflections(torch, packed, factors, packed.shape[-2])
    whole = whole.mT if transpose else whole
    return whole @ other if left else other @ whole


@define("aten::linalg_matrix_exp")
def _define_exponential(torch: Any, a: Any) -> Any:
    """Halved until its series is short, then squared as often."""
    halvings, terms = 10, 12
    _check_size(a.shape[-1])
    small = a / 2**halvings
    identity = torch.eye(a.shape[-1], dtype=a.dtype)
    result = identity.expand(a.shape)
    for term in reversed(range(1, terms)):
        result = identity + small @ result / term
    for _ in range(halvings):
        result = result @ result
    return result
