"""`edgewright estimate` and `ew.estimate`: ranges everywhere, tiers that are named, errors that help."""

import json
import re

import pytest

import edgewright as ew
from edgewright.tools.estimate_command import main
from tests.cli.models import DIGITS_MODEL


def test_times_are_ranges_with_their_tier(call):
    answer = call(main, DIGITS_MODEL, "--target", "SM8650")
    assert answer.code == 0
    assert re.search(r"SM8650 +v75 +w8a8 +[\d.]+ us \([\d.]+ to [\d.]+\) +c", answer.out)
    assert "tier (c), a new network: the fitted model, layer by layer" in answer.out
    assert "not calibrated" in answer.out
    # Nothing that is a time stands alone.
    assert not re.search(r"\d (us|ms)(?! \()", answer.out)


def test_all_chips_with_public_times_are_listed(call):
    answer = call(main, DIGITS_MODEL, "--all-targets", "--precision", "w8a8")
    assert answer.code == 0
    assert all(chip in answer.out for chip in ("SM8450", "SM8550", "SM8650", "SM8750", "SM8850", "SC8380XP"))


def test_a_time_of_the_user_is_scaled(call):
    words = ("--measured", "3.2ms@SM8550", "--target", "SM8650", "--precision", "w8a8", "--json")
    (result,) = json.loads(call(main, DIGITS_MODEL, *words).out)["targets"]
    assert result["tier"] == "b"
    assert result["time"]["low"] < 3200 * 0.71 < result["time"]["high"]


@pytest.mark.parametrize("text", ["3.2", "3.2ms", "ms@SM8550", "-1ms@SM8550", "0ms@SM8550"])
def test_a_time_without_unit_or_chip_is_refused(call, text):
    answer = call(main, DIGITS_MODEL, f"--measured={text}")
    assert answer.code == 2
    assert "as in 3.2ms@SM8550" in answer.err


def test_changes_say_what_they_would_do(call):
    answer = call(main, DIGITS_MODEL, "--what-if", "precision=fp16", "rule=all", "--precision", "w8a8")
    assert answer.code == 0
    assert re.search(r"precision=fp16 +\S+ of the time \(\S+ to \S+\) +fp16 in place of w8a8", answer.out)


def test_an_unknown_change_names_the_known_ones(call):
    answer = call(main, DIGITS_MODEL, "--what-if", "colour=red")
    assert answer.code == 2
    assert "precision=NAME or rule=NAME" in answer.err


def test_a_page_is_written_with_bars_and_a_roofline(call, tmp_path):
    page = tmp_path / "estimate.html"
    answer = call(main, DIGITS_MODEL, "--target", "SM8650", "SM8635", "-o", str(page))
    assert answer.code == 0
    text = page.read_text("utf-8")
    assert all(f'id="{part}"' in text for part in ("times", "costliest", "layers", "roofline", "memory"))
    again = tmp_path / "again.html"
    call(main, DIGITS_MODEL, "--target", "SM8650", "SM8635", "-o", str(again))
    assert again.read_bytes() == page.read_bytes()


def test_programs_get_records():
    answer = ew.estimate(DIGITS_MODEL, ["SM8650", "SM8750"], precision="w8a16", what_if=["precision=w8a8"])
    assert isinstance(answer, ew.Estimate)
    slow, fast = answer.targets
    assert fast.time.microseconds < slow.time.microseconds
    (change,) = answer.changes
    assert change.low < change.factor < change.high


def test_a_quantized_model_needs_its_precision(tmp_path):
    from tests.browser.sample_build import digits

    quantized = ew.quantize(DIGITS_MODEL, digits()[0][:4])
    with pytest.raises(ew.EdgewrightError, match="times depend on the precision"):
        ew.estimate(quantized)
    assert ew.estimate(quantized, precision="w8a8").targets[0].time.high > 0


CONFIG = {
    "model_type": "llama",
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
}


def test_a_folder_of_a_language_model_has_tokens_a_second_as_ranges(call, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    answer = call(main, str(tmp_path), "--target", "SM8750", "SC8480XP")
    assert answer.code == 0
    assert "3.21 billion weights in w4a16" in answer.out
    assert re.search(r"SM8750 +[\d.]+ \([\d.]+ to [\d.]+\) +[\d.]+ \([\d.]+ to [\d.]+\)", answer.out)
    assert ew.llm.estimate(3.2, "SM8750").tokens_per_second[0] > 5


def test_a_language_model_that_is_too_small_to_tell_is_refused(call, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "hidden_size": 96, "num_hidden_layers": 2}))
    answer = call(main, str(tmp_path))
    assert answer.code == 4
    assert "public times are of 0.6 to 8.2 billion" in answer.err
