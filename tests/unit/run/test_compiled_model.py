import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, UsageError
from tests.cli.context_models import IS_NATIVE, NO_WHEEL, inputs
from tests.cli.models import image_net


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    source = image_net(tmp_path_factory.mktemp("compile") / "net.onnx", size=8)
    return ew.quantize(ew.convert(source, batch=1), [{"image": image} for image in inputs()])


def test_a_compiled_model_runs_as_the_model_on_the_same_backend(model, tmp_path):
    compiled = ew.compile(model, tmp_path / "net.bin", target="SM8650", backend="htp-sim")
    for image in inputs():
        wanted = model.run({"image": image}, backend="htp-sim")
        np.testing.assert_array_equal(compiled.run({"image": image})["features"], wanted["features"])


def test_a_context_that_was_written_is_loaded_and_says_what_it_is(model, tmp_path):
    ew.compile(model, tmp_path / "net.bin", target="v73", backend="htp-sim", optimization_level=2, vtcm_mb=4)
    loaded = ew.load_context(tmp_path / "net.bin")
    assert (loaded.graphs, loaded.info.backend) == (["net"], "htp-sim")
    graph = loaded.info.binary.graphs[0]
    assert (loaded.info.binary.soc_model, graph.optimization_level, graph.vtcm_bytes) == (43, 2, 4 << 20)
    assert not loaded.fits("SM8550").is_fit


def test_several_models_are_graphs_of_one_context(model, tmp_path):
    compiled = ew.compile({"one": model, "two": model}, tmp_path / "both.bin", backend="cpu")
    image = inputs()[0]
    one, two = (compiled.run({"image": image}, graph=name)["features"] for name in ("one", "two"))
    np.testing.assert_array_equal(one, two)
    with pytest.raises(UsageError, match="no graph was named, there are: one, two"):
        compiled.run({"image": image})
    with pytest.raises(UsageError, match="there is no graph 'tow'"):
        compiled.run({"image": image}, graph="tow")


def test_a_float_model_is_computed_in_half_precision_by_the_simulation(tmp_path):
    source = ew.convert(image_net(tmp_path / "net.onnx", size=8), batch=1)
    compiled = ew.compile(source, tmp_path / "float.bin", backend="htp-sim")
    feed = {"image": inputs()[0]}
    real, half = source.run(feed)["features"], compiled.run(feed)["features"]
    assert half.dtype == np.float32
    assert 0 < np.abs(half - real).max() < 0.01 * np.abs(real).max()
    np.testing.assert_array_equal(half, half.astype(np.float16))


def test_a_missing_context_is_one_error(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        ew.load_context(tmp_path / "none.bin")


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_the_genuine_library_compiles_for_the_chip_and_runs(model, tmp_path):
    compiled = ew.compile(model, tmp_path / "net.bin", target="SM8650", backend="htp-native")
    assert compiled.fits("SM8650").is_fit
    image = inputs()[0]
    wanted = model.run({"image": image}, backend="htp-native")["features"]
    np.testing.assert_array_equal(compiled.run({"image": image})["features"], wanted)
