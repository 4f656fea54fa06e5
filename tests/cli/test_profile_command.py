"""edgewright profile: backends side by side."""

import json
import re

import numpy as np
import pytest

from edgewright.artifacts.profile_log.reader import read_log
from edgewright.core.errors import EdgewrightError
from edgewright.model.profile.measure import Effort, profile, summarise_latencies
from edgewright.tools.umbrella import main
from tests.cli.models import DIGITS_MODEL

SHORT = ("--runs", "5", "--seconds", "2")
OURS = ("--backend", "cpu", "--backend", "htp-sim")


def test_every_backend_has_a_row(call):
    answer = call(main, "profile", DIGITS_MODEL, *OURS, *SHORT, "--json")
    cpu, sim = json.loads(answer.out)["backends"]
    for found in (cpu, sim):
        assert found["runs"] == 5
        assert 0 < found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]
        assert found["per_second"] == pytest.approx(1000 / found["average_ms"])
    assert sim["notes"] == ["quantized to 8 bits for this measurement"]
    assert {op["op"] for op in cpu["slowest"]} >= {"Conv2d", "FullyConnected"}


def test_the_table_says_that_times_of_htp_are_not_of_a_device(call):
    answer = call(main, "profile", DIGITS_MODEL, *OURS, *SHORT)
    assert answer.code == 0
    assert "htp (simulation)" in answer.out
    assert "Slowest ops on cpu:" in answer.out
    assert "not from a device" in answer.out


def test_a_backend_that_cannot_is_said_and_the_others_run(call):
    answer = call(main, "profile", DIGITS_MODEL, "--backend", "hta", "--backend", "cpu", *SHORT)
    assert answer.code == 0
    assert "hta: backend 'Hta' is the Hexagon Tensor Accelerator" in answer.out


def test_no_backend_at_all_is_a_failure(call):
    assert call(main, "profile", DIGITS_MODEL, "--backend", "hta", *SHORT).code == 4


@pytest.mark.parametrize("ending", ["html", "json", "csv", "log"])
def test_the_ops_of_the_first_backend_go_to_a_file(call, tmp_path, ending):
    file = tmp_path / f"p.{ending}"
    answer = call(main, "profile", DIGITS_MODEL, "--backend", "cpu", *SHORT, "-o", file)
    assert f"wrote {file}" in answer.out
    assert b"Convolution28" in file.read_bytes()
    if ending == "log":
        assert read_log(file).inferences == 5


def test_given_inputs_are_used_and_checked(call, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 27, 28), np.float32))
    answer = call(main, "profile", DIGITS_MODEL, "--input", f"Input3={tmp_path / 'x.npy'}", *SHORT)
    assert answer.code == 3


def test_percentiles_are_of_the_times():
    found = summarise_latencies([0.001] * 98 + [0.1, 0.2])
    assert found["p50_ms"] == pytest.approx(1)
    assert found["p99_ms"] > 50
    assert found["average_ms"] == pytest.approx(3.98)


def test_a_time_limit_ends_a_measurement():
    found = profile(DIGITS_MODEL, backends=("cpu",), effort=Effort(10**9, 0.2))
    assert 1 <= found.backends[0].runs < 10**6


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"seconds": 0.0}, {"warmup": -1}])
def test_an_effort_that_measures_nothing_is_refused(wrong):
    with pytest.raises(EdgewrightError):
        Effort(**wrong)


def test_run_says_which_backend_it_found_and_why(call):
    answer = call(main, "run", DIGITS_MODEL, "--random", "--backend", "auto")
    assert answer.code == 0
    assert re.search(r"1 run in [\d.]+ s on cpu\n", answer.out)
    assert "note: backend cpu: it has all ops" in answer.out


def test_run_takes_the_backend_that_is_named(call):
    for backend in ("htp-sim", "htp-sim+cpu"):
        assert call(main, "run", DIGITS_MODEL, "--random", "--backend", backend).code == 0
    answer = call(main, "run", DIGITS_MODEL, "--random", "--backend", "htp-sum")
    assert answer.code == 2
    assert "did you mean" in answer.err
