"""Weights of 4 bits, two in a byte: written, read back, and computed with as before."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.numbers import DType
from edgewright.model.saving import SaveOptions
from tests.cli.models import DIGITS_MODEL

PACKED = SaveOptions(pack_4_bit_weights=True)


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"][::25, None].astype(np.float32)


@pytest.fixture(scope="module")
def model(digits):
    return ew.quantize(DIGITS_MODEL, digits, act_quantizer="tf", weight_bw=4)


@pytest.mark.parametrize(("name", "weights"), [("m.dlc", "m.dlc"), ("m.cpp", "m.bin")])
def test_packed_weights_are_read_back_as_they_were(model, digits, tmp_path, name, weights):
    model.save(tmp_path / "plain" / name)
    files = model.save(tmp_path / name, PACKED)
    sizes = [(folder / weights).stat().st_size for folder in (tmp_path / "plain", tmp_path)]
    assert sizes[0] > sizes[1] + 2500
    again = ew.load(files.dlc if name == "m.dlc" else files.net_json)
    kinds = {again.graph.types[value].dtype for value in again.graph.constants}
    assert kinds == {DType.SFIXED_POINT_4, DType.SFIXED_POINT_32}
    plain = ew.load(tmp_path / "plain" / name.replace(".cpp", "_net.json"))
    for value, array in plain.graph.constants.items():
        np.testing.assert_array_equal(again.graph.constants[value], array)
    for backend in ("cpu", "htp-sim"):
        feeds = {"Input3": digits[:1]}
        want, found = (each.run(feeds, backend=backend) for each in (model, again))
        np.testing.assert_array_equal(found["Plus214_Output_0"], want["Plus214_Output_0"])


def test_a_packed_model_is_written_in_the_same_bytes(model, tmp_path):
    ew.load(model.save(tmp_path / "m.dlc", PACKED).dlc).save(tmp_path / "again" / "m.dlc")
    assert (tmp_path / "m.dlc").read_bytes() == (tmp_path / "again" / "m.dlc").read_bytes()


def test_wider_weights_are_not_packed(digits, tmp_path):
    wide = ew.quantize(DIGITS_MODEL, digits, act_quantizer="tf")
    wide.save(tmp_path / "plain" / "m.dlc")
    wide.save(tmp_path / "m.dlc", PACKED)
    assert (tmp_path / "m.dlc").read_bytes() == (tmp_path / "plain" / "m.dlc").read_bytes()
