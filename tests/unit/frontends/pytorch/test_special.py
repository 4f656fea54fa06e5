"""Special functions and small linear systems over the whole range of their arguments."""

import numpy as np
import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.pytorch.programs import assert_same, converted, traced, wrapped

pytestmark = pytest.mark.torch

_SIZES = torch.logspace(-4, 2, 60)
_ALL = torch.cat([-_SIZES.flip(0), torch.zeros(1), _SIZES])
_SHARES = torch.cat([torch.logspace(-30, -1, 40), torch.linspace(0.1, 0.999999, 40)])
FUNCTIONS = {
    **{name: (getattr(torch.special, name), _ALL) for name in ("i0e", "i1e", "bessel_j0", "bessel_j1")},
    **{name: (getattr(torch.special, name), _SIZES) for name in ("bessel_y0", "bessel_y1", "digamma")},
    **{
        name: (getattr(torch.special, name), _SIZES)
        for name in (
            *("modified_bessel_k0", "modified_bessel_k1"),
            *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
        )
    },
    "i0": (torch.special.i0, _ALL[30:-30]),
    "i1": (torch.special.i1, _ALL[30:-30]),
    "digamma_negative": (torch.digamma, torch.linspace(-9.6, -0.1, 50)),
    "lgamma": (torch.lgamma, torch.cat([torch.linspace(-9.6, 30, 200), torch.tensor([1e6, 1e30, -3.0])])),
    "erfcx": (torch.special.erfcx, torch.cat([torch.linspace(-9, 9, 50), torch.logspace(0, 10, 20)])),
    "log_ndtr": (torch.special.log_ndtr, torch.linspace(-60, 9, 80)),
    "erfinv": (torch.erfinv, torch.cat([torch.linspace(-1, 1, 101), torch.tensor([1.5, 1 - 1e-7])])),
    "ndtri": (torch.special.ndtri, _SHARES),
    "spherical_bessel_j0": (torch.special.spherical_bessel_j0, _ALL),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_special_function_is_right_to_a_part_of_each_value(name, tmp_path):
    function, x = FUNCTIONS[name]
    model = converted(traced(tmp_path, wrapped(function, 1), x), x)
    (result,) = model.run({model.inputs[0].name: x.numpy()}).values()
    expected = function(x.double()).float().numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=2e-6)


_SQUARE = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(2))
_ROWS = torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(3))
SYSTEMS = {
    "inv": torch.linalg.inv,
    "solve": lambda a: torch.linalg.solve(a, _ROWS),
    "solve_right": lambda a: torch.linalg.solve(a, _ROWS.mT, left=False),
    "lu": lambda a: tuple(torch.linalg.lu(a)),
    "slogdet": lambda a: tuple(torch.linalg.slogdet(a)),
    "qr": lambda a: tuple(torch.linalg.qr(a[..., :4])),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(6)),
    "matrix_exp": torch.linalg.matrix_exp,
    "singular_first_pivot": lambda a: torch.linalg.inv(a * (1 - torch.eye(6))),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_small_system_is_solved_as_torch_does(name, tmp_path):
    module = wrapped(SYSTEMS[name], 1)
    assert_same(traced(tmp_path, module, _SQUARE), module, [_SQUARE], tolerance=1e-3)


def test_a_large_matrix_is_refused_with_its_size(tmp_path):
    a = torch.eye(100)
    with pytest.raises(EdgewrightError, match="100 rows is factorized, at most 64"):
        converted(traced(tmp_path, wrapped(torch.linalg.inv, 1), a), a)
