"""Every ATen op that has a translation, in small programs made by torch and compared with torch."""

import warnings

import pytest

from tests.optional import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

from tests.unit.frontends.pytorch.direct_cases import DIRECT
from tests.unit.frontends.pytorch.op_cases import CASES, CORE
from tests.unit.frontends.pytorch.programs import assert_same, decomposed, exported, traced, wrapped

pytestmark = pytest.mark.torch

# torch.export cannot store the named tuples that these return.
NOT_EXPORTED = {"max_dim", "min_dim_keep", "topk", "topk_smallest", "sort", "median_dim", "kthvalue"}


@pytest.mark.parametrize("case", [*CASES, *DIRECT], ids=lambda case: case.name)
def test_a_traced_op_means_what_torch_says(case, tmp_path):
    module = wrapped(case.function, len(case.inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = traced(tmp_path, module, *case.inputs)
    assert_same(path, module, case.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in NOT_EXPORTED], ids=lambda case: case.name)
def test_an_exported_op_means_what_torch_says(case, tmp_path):
    module = wrapped(case.function, len(case.inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = exported(tmp_path, module, *case.inputs)
    assert_same(path, module, case.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c.name in CORE], ids=lambda case: case.name)
def test_an_op_in_core_ops_means_what_torch_says(case, tmp_path):
    module = wrapped(case.function, len(case.inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = decomposed(tmp_path, module, *case.inputs)
    assert_same(path, module, case.inputs)
