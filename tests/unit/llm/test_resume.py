"""A run that was killed goes on, and writes what it would have written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from edgewright.llm.layer_state import name_state_folder
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from tests.unit.llm.checkpoints import write_checkpoint

RUN = """
import sys
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
folder, precision, to, text, output = sys.argv[1:]
quantize_language_model(folder, to, recipe=Recipe(precision, "best"), calibration=text, output=output)
"""


SMALL = {"hidden_size": 64, "intermediate_size": 64}


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "text.npy", np.random.default_rng(3).integers(0, 96, 700))
    return write_checkpoint(tmp_path / "m", num_hidden_layers=4, **SMALL)


def read_all(path):
    return {file.name: file.read_bytes() for file in ([path] if path.is_file() else path.iterdir())}


@pytest.mark.parametrize(("precision", "to"), [("int4", "gguf"), ("lpbq", "safetensors"), ("int4", "onnx")])
def test_a_killed_run_goes_on_and_gives_the_same_bytes(tmp_path, folder, precision, to):
    recipe, text = Recipe(precision, "best"), tmp_path / "text.npy"
    quantize_language_model(folder, to, recipe=recipe, calibration=text, output=tmp_path / "whole")
    expected = read_all(tmp_path / "whole")
    output = tmp_path / "o" / "whole"
    output.parent.mkdir()
    layers = name_state_folder(output)
    words = [sys.executable, "-c", RUN, str(folder), precision, to, str(text), str(output)]
    child = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        wait_for_layers(child, layers, 1)
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    assert not output.exists()
    assert 1 <= len(list(layers.glob("*-layer-*"))) < 4
    quantize_language_model(folder, to, recipe=recipe, calibration=text, output=output, resume=True)
    assert read_all(output) == expected
    # Nothing is left of either run.
    assert [path.name for path in output.parent.iterdir()] == ["whole"]


def wait_for_layers(child, layers, count):
    deadline = time.monotonic() + 120
    while len(list(layers.glob("*-layer-*.safetensors"))) < count:
        assert child.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_kept_layers_are_taken_and_those_of_another_recipe_are_not(tmp_path, folder):
    """Layers are spoiled on purpose: what is taken shows."""
    text, output = tmp_path / "text.npy", tmp_path / "o.gguf"
    layers = name_state_folder(output)

    def run(recipe, **options):
        quantize_language_model(folder, recipe=recipe, calibration=text, output=output, **options)
        return output.read_bytes()

    whole, other = run(Recipe(name="best")), run(Recipe(name="balanced"))
    assert not layers.exists()
    interrupt(folder, text, output)
    kept = next(layers.glob("*-layer-00000*"))
    data = bytearray(kept.read_bytes())
    data[-100:] = bytes(100)
    kept.write_bytes(data)
    saved = {path.name: path.read_bytes() for path in layers.iterdir()}
    assert run(Recipe(name="best"), resume=True) != whole
    layers.mkdir()
    for name, content in saved.items():
        (layers / name).write_bytes(content)
    assert run(Recipe(name="balanced"), resume=True) == other
    layers.mkdir(exist_ok=True)
    for name, content in saved.items():
        (layers / name).write_bytes(content)
    # Without the word all begins anew.
    assert run(Recipe(name="best")) == whole


def interrupt(folder, text, output):
    words = [sys.executable, "-c", RUN, str(folder), "int4", "gguf", str(text), str(output)]
    child = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        wait_for_layers(child, name_state_folder(output), 1)
    finally:
        child.kill()
        child.wait()
