"""What tests of plugins share: opened plugins, images of known pixels."""

import numpy as np
import pytest

from edgewright.evaluate.plugins.plugin import Plugin, find_builtin_plugins
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample


@pytest.fixture(name="open_plugin")
def _open_plugin():
    def open_one(name: str, *, is_memory: bool = False, **params: object) -> Plugin:
        return find_builtin_plugins()[name].open(params, is_memory=is_memory)

    return open_one


@pytest.fixture(name="context")
def _context(tmp_path):
    return Context(Dataset(tmp_path, ()), tmp_path / "work", is_memory=True)


@pytest.fixture(name="compute")
def _compute(open_plugin, context):
    """One plugin on one value, or on the outputs of one sample."""

    def compute_one(name: str, *values: object, facts: dict[str, object] | None = None, **params: object):
        sample = Sample(0, values, facts=facts or {})
        (result,) = open_plugin(name, **params).process([sample], context)
        return result.values[0]

    return compute_one


@pytest.fixture(name="pixels")
def _pixels():
    """Smooth, so that resizing is no noise, with all values."""
    y, x, c = np.mgrid[0:37, 0:53, 0:3]
    return ((x * 5 + y * 3 + c * 40 + (x * y) // 7) % 256).astype(np.uint8)
