import logging

import pytest

from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.targets.devices import list_devices
from edgewright.targets.soc import find_htp_soc, find_soc, find_soc_by_number, list_socs


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SM8650", "SM8650"),
        (" sm8650 ", "SM8650"),
        ("Snapdragon 8 Gen 3", "SM8650"),
        ("8 gen 3", "SM8650"),
        ("Qualcomm Snapdragon X Elite", "SC8380XP"),
        ("888+", "SM8350P"),
        ("888", "SM8350"),
        ("v75", "SM8650"),
        ("V79", "SM8750"),
        ("57", "SM8650"),
        ("43", "SM8550"),
        ("Galaxy S24", "SM8650"),
        ("samsung galaxy s25 ultra", "SM8750"),
        ("Galaxy S23+", "SM8550"),
        ("OnePlus 12", "SM8650"),
        ("Nothing Phone (2)", "SM8475"),
        ("Surface Pro 11", "SC8380XP"),
        ("Quest 3", "SXR2230P"),
    ],
)
def test_a_chip_is_found_by_any_of_its_names(text, name):
    assert find_soc(text).name == name


def test_a_chip_says_what_it_is():
    assert str(find_soc("SM8650")) == "SM8650 (Snapdragon 8 Gen 3, v75, SoC 57)"


def test_both_numbers_of_a_chip_lead_to_it_and_the_owner_of_a_number_comes_first():
    assert 35 in find_soc("QCM6490").soc_models
    assert (find_soc_by_number(93).name, find_soc_by_number(35).name) == ("QCM6490", "SM7325")


def test_an_architecture_without_a_named_chip_still_is_a_target():
    assert (find_htp_soc("v85").soc_model, find_htp_soc("v85").arch) == (103, 85)


@pytest.mark.parametrize("text", ["SM8660", "Snapdragon 8 Gen 33", "sm865o"])
def test_a_mistyped_name_gives_the_nearest_ones(text):
    with pytest.raises(UsageError) as found:
        find_soc(text)
    assert f"'{text}'" in found.value.what
    assert "SM8650 (Snapdragon 8 Gen 3, v75, SoC 57)" in found.value.do


@pytest.mark.parametrize("text", ["", "v70", "999", "99999999999", "\x1b[31m", "²"])
def test_nonsense_is_one_usage_error(text):
    with pytest.raises(UsageError):
        find_soc(text)


@pytest.mark.parametrize(("text", "why"), [("SM8250", "Hexagon v66"), ("SM7635", "publicly known")])
def test_a_chip_without_a_known_htp_is_refused_as_a_target_and_says_why(text, why):
    with pytest.raises(UnsupportedFeature, match=why):
        find_htp_soc(text)


def test_every_chip_is_found_by_its_own_name_and_its_numbers():
    for name, chip in list_socs().items():
        assert find_soc(name) is chip
        assert all(number in find_soc_by_number(number).soc_models for number in chip.soc_models)


def test_a_number_is_taken_as_one_from_python_too():
    assert find_soc(57) == find_soc("57")


def test_a_phone_of_two_chips_says_so(caplog):
    with caplog.at_level(logging.WARNING):
        assert find_soc("Galaxy S22 Ultra").name == "SM8450"
    assert "Samsung Galaxy S22 Ultra has SM8450 outside of Europe, elsewhere Exynos 2200" in caplog.text


@pytest.mark.parametrize(
    ("text", "chip"), [("Galaxy S24 FE", "Exynos 2400e"), ("Pixel 8 Pro", "Google Tensor")]
)
def test_a_phone_without_a_qualcomm_chip_is_refused(text, chip):
    with pytest.raises(UnsupportedFeature, match=f"has {chip}, which is none of Qualcomm's"):
        find_soc(text)


def test_a_phone_that_is_not_known_is_answered_with_the_nearest():
    with pytest.raises(UsageError) as refusal:
        find_soc("Galaxy S42 Ultra")
    assert "Samsung Galaxy S2" in refusal.value.do


def test_every_device_has_a_chip_that_is_known():
    devices = list(list_devices().values())
    assert len(devices) > 100
    assert not [device for device in devices if device.chip and device.chip not in list_socs()]
    assert all(bool(device.where) == bool(device.chip and device.elsewhere) for device in devices)


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        *(("RB5", "QRB5165"), ("Robotics RB5", "QRB5165"), ("RB3 Gen 2", "QCM6490"), ("QCS6490", "QCM6490")),
        *(("Rubik Pi 3", "QCM6490"), ("Galaxy Book4 Edge", "SC8380XP"), ("Redmi K70 Pro", "SM8650")),
    ],
)
def test_boards_and_pcs_have_their_chips(name, chip):
    assert find_soc(name).name == chip
