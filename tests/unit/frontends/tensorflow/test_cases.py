"""Every translation against TensorFlow itself: graphs that it made and results that it computed."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew

STORED = np.load(Path(__file__).parent / "cases.npz")
CASES = sorted({name.rsplit("/", 1)[0] for name in STORED.files})

# TensorFlow takes the weights of cubic filters from a table of 1024 entries.
LIMITS = {"ResizeBicubic": 1e-3}


def arrays(case, kind):
    names = [name for name in STORED.files if name.startswith(f"{case}/{kind}")]
    return {name.rsplit("/", 1)[1] + ":0": STORED[name] for name in names}


@pytest.mark.parametrize("case", CASES)
def test_an_op_means_what_it_means_in_tensorflow(case, tmp_path):
    file = tmp_path / "graph.pb"
    file.write_bytes(STORED[f"{case}/graph"].tobytes())
    expected = arrays(case, "y")
    found = ew.convert(file, outputs=list(expected)).run(arrays(case, "x"))
    for name, want in expected.items():
        have = np.asarray(found[name])
        assert (have.shape, have.dtype) == (want.shape, want.dtype)
        span = max(float(np.ptp(want.astype(np.float64))), 1.0)
        limit = LIMITS.get(case, 1e-5) * span
        np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), atol=limit)
