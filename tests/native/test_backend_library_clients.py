"""Programs that nobody here wrote, as clients of our library: ONNX Runtime's QNN provider."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.umbrella import main
from tests.cli.models import DIGITS_MODEL

RUN = Path(__file__).with_name("run_on_library.py")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    for kind in ("cpu", "htp-sim"):
        assert main(["backend-library", "-o", str(folder), "--kind", kind, "--qnn-names"]) == 0
    return folder


def run_provider(folder, library, model, feed, *words):
    """The outputs, and the numbers of nodes on the library and elsewhere."""
    np.savez(folder / "in.npz", **feed)
    command = [sys.executable, RUN, library, model, folder / "in.npz", folder / "out.npz", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    on_library, elsewhere = map(int, done.stdout.split()[-2:])
    return dict(np.load(folder / "out.npz")), on_library, elsewhere


def test_the_provider_runs_a_network_on_our_cpu(folder, tmp_path):
    image = np.random.default_rng(5).random((1, 1, 28, 28), np.float32)
    feed = {"Input3": image}
    found, here, elsewhere = run_provider(tmp_path, folder / "libQnnCpu.so", DIGITS_MODEL, feed)
    assert (here > 0, elsewhere) == (True, 0)
    wanted = ew.convert(DIGITS_MODEL).run(feed)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)


def test_the_provider_caches_a_context_of_the_simulation(folder, tmp_path):
    model = tmp_path / "qdq.onnx"
    images = np.random.default_rng(5).random((8, 1, 1, 28, 28), np.float32)
    ew.quantize(ew.convert(DIGITS_MODEL), [{"Input3": image} for image in images]).save(model)
    feed = {"Input3": images[0]}
    (tmp_path / "c").mkdir()
    found, here, _ = run_provider(
        tmp_path, folder / "libQnnHtp.so", model, feed, tmp_path / "c" / "m_ctx.onnx"
    )
    assert here > 5
    (name,) = (key for key in found if not key.startswith("cached_"))
    assert np.array_equal(found[f"cached_{name}"], found[name])
    assert np.ptp(found[name]) > 0
    assert list((tmp_path / "c").glob("*.bin"))
