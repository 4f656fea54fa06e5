"""A dry run of a model that came quantized tries it as the build will make it."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.build.dry_run import run_dry
from edgewright.build.request import BuildRequest
from edgewright.data.samples import DataRequest

MODELS = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def digits():
    return np.load(MODELS / "data" / "digits.npz")["images"][:24].astype(np.float32)[:, None]


def test_what_the_compiler_takes_as_it_came_is_not_refused(digits, tmp_path):
    """Its encodings and plain 8 bits at once would have made ops that the compiler refuses."""
    model = ew.quantize(MODELS / "models" / "mnist_cntk.onnx", digits)
    model.save(tmp_path / "qdq.onnx")
    request = BuildRequest(tmp_path / "qdq.onnx", "SM8650", tmp_path / "out", DataRequest(digits))
    result = run_dry(request)
    assert result.problems == []
    assert not any(hint.kind == "compiler" for hint in result.hints)
