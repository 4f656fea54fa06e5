"""Special functions that no op computes: sums, asymptotic series, polynomials fitted to torch's own values.

A smooth part of the function is interpolated in Chebyshev's points, in double precision, as a model is read.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import log, pi, sqrt
from typing import Any

import numpy as np

from edgewright.core.errors import UnsupportedOp
from edgewright.frontends.pytorch.definitions import define

# Bessel functions are polynomials up to here, and waves or exponentials with smooth factors behind it.
FAR = 8.0
NEAR_POLE = 2.0


def _fit(torch: Any, smooth: Callable[[Any], Any], low: float, high: float, degree: int) -> list[float]:
    """Chebyshev coefficients of a function between two numbers."""
    points = np.cos(pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    with torch.utils._python_dispatch._disable_current_modes():
        values = smooth(torch.from_numpy(low + (points + 1) * (high - low) / 2)).numpy()
    return [float(c) for c in np.polynomial.chebyshev.chebfit(points, values, degree)]


def _sum_series(coefficients: list[float], t: Any) -> Any:
    """Clenshaw's sum of a Chebyshev series, for numbers from -1 to 1."""
    double, behind, last = t * 2, t * 0, t * 0
    for coefficient in coefficients[:0:-1]:
        behind, last = double * behind - last + coefficient, behind
    return t * behind - last + coefficients[0]


@cache
def _fit_exponential(torch: Any, order: int) -> tuple[list[float], list[float]]:
    """The scaled modified Bessel function: near zero, and times a root far from it."""
    function = torch.special.i0e if order == 0 else torch.special.i1e
    return (
        _fit(torch, function, 0.0, FAR, 24),
        _fit(torch, lambda u: function(FAR / u) * (FAR / u).sqrt(), 0.0, 1.0, 16),
    )


def _scale_bessel(torch: Any, x: Any, order: int) -> Any:
    near, far = _fit_exponential(torch, order)
    size = x.abs()
    inner = _sum_series(near, size.clamp_max(FAR) * (2 / FAR) - 1)
    outer = size.clamp_min(FAR)
    tail = _sum_series(far, FAR / outer * 2 - 1) / outer.sqrt()
    result = torch.where(size <= FAR, inner, tail)
    return result * x.sign() if order else result


@define("aten::special_i0e")
def _define_i0e(torch: Any, x: Any) -> Any:
    return _scale_bessel(torch, x, 0)


@define("aten::special_i1e")
def _define_i1e(torch: Any, x: Any) -> Any:
    return _scale_bessel(torch, x, 1)


@define("aten::i0", "aten::special_modified_bessel_i0")
def _define_i0(torch: Any, x: Any) -> Any:
    return _scale_bessel(torch, x, 0) * x.abs().exp()


@define("aten::special_i1", "aten::special_modified_bessel_i1")
def _define_i1(torch: Any, x: Any) -> Any:
    return _scale_bessel(torch, x, 1) * x.abs().exp()


@cache
def _fit_decaying(torch: Any, order: int) -> tuple[list[float], list[float]]:
    special = torch.special
    full, scaled, other = (
        (special.modified_bessel_k0, special.scaled_modified_bessel_k0, special.i0)
        if order == 0
        else (special.modified_bessel_k1, special.scaled_modified_bessel_k1, special.i1)
    )

    def remove_pole(square: Any) -> Any:
        x = square.clamp_min(1e-12).sqrt()
        rest = full(x) + (x / 2).log() * other(x) * (1 if order == 0 else -1)
        return rest * x if order else rest

    return (
        _fit(torch, remove_pole, 0.0, NEAR_POLE**2, 12),
        _fit(torch, lambda u: scaled(NEAR_POLE / u) * (NEAR_POLE / u).sqrt(), 0.0, 1.0, 20),
    )


def _sum_decaying_bessel(torch: Any, x: Any, order: int, *, is_scaled: bool) -> Any:
    """The modified function of the second kind: a pole at zero, an exponential behind."""
    near, far = _fit_decaying(torch, order)
    small = x.clamp_max(NEAR_POLE)
    rest = _sum_series(near, small * small * (2 / NEAR_POLE**2) - 1)
    growing = _scale_bessel(torch, small, order) * small.abs().exp() * (small / 2).log()
    inner = rest / small + growing if order else rest - growing
    outer = x.clamp_min(NEAR_POLE)
    tail = _sum_series(far, NEAR_POLE / outer * 2 - 1) / outer.sqrt()
    if is_scaled:
        inner = inner * small.exp()
    else:
        tail = tail * (-outer).exp()
    result = torch.where(x <= NEAR_POLE, inner, tail)
    return torch.where(x == 0, float("inf"), torch.where(x < 0, float("nan"), result))


@define("aten::special_modified_bessel_k0")
def _define_k0(torch: Any, x: Any) -> Any:
    return _sum_decaying_bessel(torch, x, 0, is_scaled=False)


@define("aten::special_modified_bessel_k1")
def _define_k1(torch: Any, x: Any) -> Any:
    return _sum_decaying_bessel(torch, x, 1, is_scaled=False)


@define("aten::special_scaled_modified_bessel_k0")
def _define_scaled_k0(torch: Any, x: Any) -> Any:
    return _sum_decaying_bessel(torch, x, 0, is_scaled=True)


@define("aten::special_scaled_modified_bessel_k1")
def _define_scaled_k1(torch: Any, x: Any) -> Any:
    return _sum_decaying_bessel(torch, x, 1, is_scaled=True)


@cache
def _fit_waves(torch: Any, order: int) -> tuple[list[float], list[float], list[float], list[float]]:
    special = torch.special
    first, second = (
        (special.bessel_j0, special.bessel_y0) if order == 0 else (special.bessel_j1, special.bessel_y1)
    )

    def remove_pole(x: Any) -> Any:
        x = x.clamp_min(1e-6)
        rest = second(x) - 2 / pi * x.log() * first(x)
        return rest if order == 0 else (rest + 2 / (pi * x)) / x

    def compute_factor(u: Any, *, is_cosine: bool) -> Any:
        x = FAR / u
        angle = x - pi / 4 - order * pi / 2
        j, y = first(x), second(x)
        turned = j * angle.cos() + y * angle.sin() if is_cosine else (y * angle.cos() - j * angle.sin()) / u
        return turned * (x * pi / 2).sqrt()

    return (
        _fit(torch, first, 0.0, FAR, 28),
        _fit(torch, remove_pole, 0.0, FAR, 28),
        _fit(torch, lambda u: compute_factor(u, is_cosine=True), 1e-4, 1.0, 14),
        _fit(torch, lambda u: compute_factor(u, is_cosine=False), 1e-4, 1.0, 14),
    )


def _sum_bessel_wave(torch: Any, x: Any, order: int, *, is_second: bool) -> Any:
    first, regular, cosine, sine = _fit_waves(torch, order)
    size = x if is_second else x.abs()
    small = size.clamp_max(FAR)
    near = _sum_series(first, small * (2 / FAR) - 1)
    if is_second:
        rest = _sum_series(regular, small * (2 / FAR) - 1)
        rest = rest * small - 2 / (pi * small) if order else rest
        near = rest + near * small.log() * (2 / pi)
    far = size.clamp_min(FAR)
    u = FAR / far
    angle = far - (pi / 4 + order * pi / 2)
    p, q = (_sum_series(c, u * 2 - 1) for c in (cosine, sine))
    q = q * u
    wave = p * angle.sin() + q * angle.cos() if is_second else p * angle.cos() - q * angle.sin()
    result = torch.where(size <= FAR, near, wave * (2 / (pi * far)).sqrt())
    if is_second:
        return torch.where(x == 0, float("-inf"), torch.where(x < 0, float("nan"), result))
    return result * x.sign() if order else result


@define("aten::special_bessel_j0")
def _define_j0(torch: Any, x: Any) -> Any:
    return _sum_bessel_wave(torch, x, 0, is_second=False)


@define("aten::special_bessel_j1")
def _define_j1(torch: Any, x: Any) -> Any:
    return _sum_bessel_wave(torch, x, 1, is_second=False)


@define("aten::special_bessel_y0")
def _define_y0(torch: Any, x: Any) -> Any:
    return _sum_bessel_wave(torch, x, 0, is_second=True)


@define("aten::special_bessel_y1")
def _define_y1(torch: Any, x: Any) -> Any:
    return _sum_bessel_wave(torch, x, 1, is_second=True)


@define("aten::special_spherical_bessel_j0")
def _define_spherical(torch: Any, x: Any) -> Any:
    return torch.where(x == 0, 1.0, torch.where(x.isinf(), 0.0, x.sin() / torch.where(x == 0, 1.0, x)))


@cache
def _fit_erfcx(torch: Any) -> list[float]:
    def compute_smooth(t: Any) -> Any:
        x = 2 * (1 + t) / (1 - t)
        return torch.special.erfcx(x) * (x + 2)

    return _fit(torch, compute_smooth, -1.0, 1.0, 30)


@define("aten::special_erfcx")
def _define_erfcx(torch: Any, x: Any) -> Any:
    size = x.abs().clamp_max(1e18)
    result = _sum_series(_fit_erfcx(torch), (size - 2) / (size + 2)) / (size + 2)
    return torch.where(x < 0, (x * x).exp() * 2 - result, result)


@define("aten::special_log_ndtr")
def _define_log_ndtr(torch: Any, x: Any) -> Any:
    left = x.clamp_max(-1.0)
    tail = (_define_erfcx(torch, left * -sqrt(0.5)) / 2).log() - left * left / 2
    return torch.where(x < -1, tail, (-torch.erfc(x.clamp_min(-1.0) * sqrt(0.5)) / 2).log1p())


# Where the inverse of the error function changes from one polynomial of w = -log(1 - x * x) to the next.
_STEPS = (0.0, 5.0, 20.0, 100.0)


@cache
def _fit_quantiles(torch: Any) -> list[list[float]]:
    """The inverse of the normal distribution over its argument, by w, whose root it grows with."""

    def compute_smooth(root: Any) -> Any:
        w = root * root
        # The share below: 4 p (1 - p) = exp(-w).
        share = (-w).clamp_min(-700).exp() / 2 / (1 + (-torch.expm1(-w)).sqrt())
        share = torch.where(w < 1e-9, 0.5 - 1e-5, share)
        return torch.special.ndtri(share) / (2 * share - 1) / sqrt(2)

    bounds = [sqrt(w) for w in _STEPS]
    return [_fit(torch, compute_smooth, low, high, 22) for low, high in pairwise(bounds)]


def _invert_error(torch: Any, x: Any, w: Any) -> Any:
    root = w.clamp(0.0, _STEPS[-1]).sqrt()
    bounds = [sqrt(w) for w in _STEPS]
    result = None
    for (low, high), series in zip(pairwise(bounds), _fit_quantiles(torch), strict=True):
        part = _sum_series(series, (root.clamp(low, high) - low) * (2 / (high - low)) - 1)
        result = part if result is None else torch.where(root > low, part, result)
    return result * x


@define("aten::erfinv")
def _define_inverse_error(torch: Any, x: Any) -> Any:
    result = _invert_error(torch, x, -((1 - x) * (1 + x)).log())
    edge = torch.where(x.abs() == 1, x * float("inf"), float("nan"))
    return torch.where(x.abs() < 1, result, edge)


@define("aten::special_ndtri")
def _define_quantile(torch: Any, p: Any) -> Any:
    result = _invert_error(torch, p * 2 - 1, -(p * (1 - p) * 4).log()) * sqrt(2)
    edge = torch.where(p == 0, float("-inf"), torch.where(p == 1, float("inf"), float("nan")))
    return torch.where((p > 0) & (p < 1), result, edge)


@define("aten::digamma")
def _define_digamma(torch: Any, x: Any) -> Any:
    """The asymptotic series six steps further, and the reflection for what is negative."""
    y = torch.where(x < 0, 1 - x, x)
    z = y + 6
    r = 1 / (z * z)
    result = z.log() - 0.5 / z - r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r / 240)))
    for step in range(6):
        result = result - 1 / (y + step)
    turn = (x - x.round()) * pi
    is_pole = (x < 0) & (turn == 0)
    mirrored = result - pi / torch.where(is_pole, 1.0, turn).tan()
    return torch.where(x < 0, torch.where(is_pole, float("nan"), mirrored), result)


@define("aten::polygamma")
def _define_polygamma(torch: Any, order: int, x: Any) -> Any:
    if order:
        raise UnsupportedOp(f"the polygamma function of order {order} is asked for, expected 0")
    return _define_digamma(torch, x)


@define("aten::lgamma")
def _define_log_gamma(torch: Any, x: Any) -> Any:
    """Stirling's series, seven steps further for small numbers, and the reflection for those below 1/2."""
    y = torch.where(x < 0.5, 1 - x, x)
    is_small = y < 20
    z = torch.where(is_small, y + 7, y)
    r = 1 / (z * z)
    result = (z - 0.5) * z.log() - z + 0.5 * log(2 * pi) + (1 / 12 - r * (1 / 360 - r / 1260)) / z
    product = y.clamp_max(20.0)
    for step in range(1, 7):
        product = product * (y.clamp_max(20.0) + step)
    result = torch.where(is_small, result - product.log(), result)
    result = torch.where(y.isinf(), float("inf"), result)
    sine = ((x - x.round()) * pi).sin().abs()
    mirrored = log(pi) - sine.log() - result
    return torch.where(x < 0.5, torch.where(x.isinf(), float("inf"), mirrored), result)


@define("aten::copysign.Tensor")
def _define_copied_sign(torch: Any, a: Any, b: Any) -> Any:
    dtype = torch.result_type(a, b)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    size = a.to(dtype).abs()
    return torch.where(b.to(dtype).signbit(), -size, size)


@define("aten::copysign.Scalar")
def _define_copied_sign_of_number(torch: Any, a: Any, b: float) -> Any:
    return _define_copied_sign(torch, a, torch.tensor(b, dtype=torch.float32))


@define("aten::bitwise_left_shift.Tensor")
def _define_left_shift(torch: Any, a: Any, b: Any) -> Any:
    dtype = torch.result_type(a, b)
    return a.to(dtype) * torch.pow(2.0, b.to(torch.float64)).to(dtype)


@define("aten::bitwise_right_shift.Tensor")
def _define_right_shift(torch: Any, a: Any, b: Any) -> Any:
    dtype = torch.result_type(a, b)
    power = torch.pow(2.0, b.to(torch.float64)).to(dtype)
    return torch.div(a.to(dtype), power, rounding_mode="floor")
