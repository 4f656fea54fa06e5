"""The time that a build may take: who gets which part of it, and what large models do without."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.executor import CpuExecutor
from edgewright.build.analyse_choice import has_time_for_layers
from edgewright.build.make_plan import plan_build
from edgewright.build.make_record import describe_overtime
from edgewright.build.plan import (
    CONTENTION,
    JUDGED_AGAIN,
    BuildPlan,
    SampleCounts,
    can_emulate_in,
    describe_late_compiler,
    estimate_candidate,
    estimate_rest,
)
from edgewright.build.rates import Rates, count_workers
from edgewright.build.records import Stage
from edgewright.build.request import BuildRequest
from edgewright.build.time_budget import TimeBudget
from edgewright.build.trial import Samples, try_model
from edgewright.config.build import parse_duration
from edgewright.core.errors import UsageError
from edgewright.data.copies import read_unique_samples
from edgewright.data.samples import DataRequest, SampleSelection
from edgewright.evaluate.records import Metric
from edgewright.ir.graph import Graph
from edgewright.ir.op import REGISTRY
from edgewright.model.model import Model
from edgewright.model.narrow import is_narrow
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.targets.soc import find_htp_soc
from tests.native.op_cases import sample_graph

AUTO = ("w8a8", "fp16", "w8a16", "w8a8+algorithms", "mixed")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), (" 1.5H ", 5400), ("none", math.inf)]
)
def test_a_time_has_a_unit(text, seconds) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["10", "", "m", "0s", "-1m", "infm", "nanm", "ten minutes"])
def test_what_is_no_time_is_refused(text) -> None:
    with pytest.raises(ValueError, match=r"as in 10m, 90s or 1\.5h"):
        parse_duration(text)


@pytest.mark.parametrize("limit", ["10", 0, -5])
def test_python_is_told_the_same(limit, tmp_path) -> None:
    with pytest.raises(UsageError, match="time_limit"):
        ew.build("model.onnx", None, target="v75", output=tmp_path, time_limit=limit)


def test_the_emulator_has_a_third_and_what_it_used_is_gone(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    budget = TimeBudget(600, has_emulator=True)
    assert budget.search_seconds == 400
    assert budget.check_seconds == pytest.approx(25)
    assert budget.layers_seconds == pytest.approx(50)
    clock[0] = 400.0
    assert budget.judging_seconds == pytest.approx(150)
    with budget.count_emulator():
        clock[0] = 460.0
    assert budget.judging_seconds == pytest.approx(90)


def test_half_of_what_the_search_leaves_over_judges(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    budget = TimeBudget(600, has_emulator=True)
    clock[0] = 30.0
    # All but the report's twelfth is left.
    assert budget.judging_seconds == pytest.approx((600 - 50 - 30) / 2)


def test_without_an_emulator_the_search_has_all() -> None:
    budget = TimeBudget(600, has_emulator=False)
    assert budget.search_seconds == 600
    assert budget.judging_seconds == 0


def test_without_a_limit_nothing_ends() -> None:
    budget = TimeBudget(math.inf, has_emulator=True)
    assert math.isinf(budget.search_seconds)
    assert math.isinf(budget.judging_seconds)
    assert math.isinf(budget.find_search_deadline(100))
    counts = SampleCounts(40, 30, 50)
    assert counts.reduce_to_fit(Rates(60.0, 200.0, 1.0, 2.0), budget.search_seconds) == counts


def test_the_verdict_leaves_time_for_layers_and_the_report() -> None:
    budget = TimeBudget(600, has_emulator=True)
    assert budget.simulation_seconds == pytest.approx(275, abs=5)
    assert budget.float_seconds == pytest.approx(92, abs=5)
    late = TimeBudget(1e-9, has_emulator=True)
    times = (late.simulation_seconds, late.float_seconds, late.judging_seconds, late.layers_seconds)
    assert (*times, late.choosing_seconds, late.rest) == (0, 0, 0, 0, 0, 0)


def test_a_slower_machine_has_time_for_fewer_samples() -> None:
    counts, rates = SampleCounts(40, 30, 50), Rates(0.1, 0.4, 0.1, 0.2)
    assert counts.reduce_others_to_fit(rates, 400) == counts
    fewer = counts.reduce_others_to_fit(rates.scale_seconds(8), 400)
    assert fewer.choosing == 30
    assert fewer.calibrating < 40
    assert fewer.judging < 50
    assert counts.reduce_others_to_fit(rates.scale_seconds(100), 1) == SampleCounts(8, 30, 8)


def test_the_search_ends_before_what_is_reserved() -> None:
    budget = TimeBudget(600, has_emulator=True)
    assert budget.find_search_deadline(100) - time.monotonic() == pytest.approx(300, abs=5)
    # The verdict does with fewer samples then.
    assert budget.find_search_deadline(1000) - time.monotonic() == pytest.approx(240, abs=5)
    # While all that is built loses too much, half of that goes to the next candidate.
    late = budget.find_search_deadline(1000, is_missed=True)
    assert late - time.monotonic() == pytest.approx(320, abs=5)


def test_small_models_use_all_samples_and_large_ones_fewer() -> None:
    counts = SampleCounts(40, 30, 50)
    assert counts.reduce_to_fit(Rates(0.01, 0.03, 0.1, 0.2), 400) == counts
    fewer = counts.reduce_to_fit(Rates(2.0, 6.0, 1.0, 2.0), 400)
    assert fewer == SampleCounts(11, 8, 13)
    assert counts.reduce_to_fit(Rates(60.0, 200.0, 1.0, 2.0), 400) == SampleCounts(8, 8, 8)


def test_an_estimate_knows_what_is_spent_and_keeps_to_the_limit() -> None:
    metric, counts = Metric("closeness", "", ("y",)), SampleCounts(40, 30, 50)
    names = ("w8a8", "mixed")
    quick = BuildPlan(
        metric, is_quantized=False, rates=Rates(0.001, 0.003, 0.1, 0.2), counts=counts, candidates=names
    )
    assert quick.estimate_seconds(600, 7) > 7
    assert quick.estimate_seconds(600, 7) == pytest.approx(quick.estimate_seconds(600, 0) + 7)
    slow = BuildPlan(
        metric, is_quantized=False, rates=Rates(5.0, 20.0, 0.1, 0.2), counts=counts, candidates=AUTO
    )
    assert slow.estimate_seconds(600, 7) == 600


def test_compiling_that_does_not_fit_in_the_limit_is_foreseen() -> None:
    metric, counts = Metric("closeness", "", ("y",)), SampleCounts(40, 30, 50)
    rates = Rates(5.0, 20.0, 0.1, 0.2, emulated=200.0, compiling=40.0)
    plan = BuildPlan(metric, is_quantized=False, rates=rates, counts=counts, candidates=AUTO)
    assert plan.estimate_seconds(60, 7) == pytest.approx(7 + rates.unstoppable)
    assert plan.estimate_seconds(600, 7) == 600
    assert rates.estimate_finish(8) > rates.unstoppable > 40
    assert describe_late_compiler(68, 60).startswith("the build will take about 68 s, more than the 60 s")
    # "About 60 s, more than the 60 s" would say nothing.
    assert describe_late_compiler(60.4, 60) == ""


def test_a_slow_emulator_does_not_check_what_it_will_judge() -> None:
    rates = Rates(0.1, 0.3, 0.1, 0.2, emulated=3.0)
    assert can_emulate_in(5, "w8a8", rates)
    assert can_emulate_in(5, "fp16", rates)
    # What has 16 bits takes longer, and one sample is run to its end.
    assert not can_emulate_in(5, "w8a16", rates)
    assert can_emulate_in(25, "w8a16", rates)
    # Half precision may take a part of it or several times as long: once it was tried, that counts.
    assert not can_emulate_in(5, "fp16", replace(rates, emulated_half=6.0))
    assert can_emulate_in(5, "w8a8", replace(rates, emulated_half=6.0))


def test_the_emulator_is_estimated_for_what_will_be_judged_and_each_share_for_itself() -> None:
    metric, counts = Metric("closeness", "", ("y",)), SampleCounts(40, 30, 50)
    rates = Rates(0.001, 0.001, 0.0, 0.0, emulated=0.1)
    plan = BuildPlan(metric, is_quantized=False, rates=rates, counts=counts, candidates=("w8a8",))
    known = plan.estimate_seconds(600, 0)
    assert replace(plan, chosen="fp16").estimate_seconds(600, 0) == pytest.approx(known)
    workers = count_workers()
    more = 80 * 0.1 * (CONTENTION if workers > 1 else 1) / workers
    assert replace(plan, chosen="mixed").estimate_seconds(600, 0) == pytest.approx(known + more)
    # Of what samples cannot prove, some builds judge a second candidate.
    again = replace(plan, rates=replace(rates, emulated_half=0.4, compiling=3.0), chosen="w8a8")
    another = JUDGED_AGAIN * (3.0 + 80 * 0.4 * (CONTENTION if workers > 1 else 1) / workers)
    uncertain = replace(again, is_uncertain=True)
    assert uncertain.estimate_seconds(600, 0) == pytest.approx(again.estimate_seconds(600, 0) + another)
    # Checks have an eighth of its third, however slow it is.
    slow = replace(plan, rates=replace(rates, emulated=1.0 * workers), counts=SampleCounts(40, 1000, 1))
    quick = replace(slow, counts=SampleCounts(40, 0, 1))
    assert slow.estimate_seconds(600, 0) < quick.estimate_seconds(600, 0) + 600 / 24 + 10


def test_what_was_not_compiled_is_expected_to_take_time_to_compile() -> None:
    sample = next(item for item in REGISTRY["Relu"].samples())
    graph, feed = sample_graph(sample)
    untried = try_model(graph, [feed], find_htp_soc("SM8650"), seconds=1e-9)
    assert untried.rates.compiling > 1
    assert try_model(graph, [feed], None, seconds=1e-9).rates.compiling == 0


def test_correcting_weights_is_expected_to_take_what_planning_its_graphs_does() -> None:
    counts, quick = SampleCounts(30, 30, 40), Rates(0.001, 0.001, 0.02, 0.06)
    slow = replace(quick, quantizing=0.1, correcting=5.0)
    assert estimate_candidate("w8a8+algorithms", slow, counts) > 5
    assert estimate_candidate("w8a8+algorithms", quick, counts) < 1
    # Ranges are searched with graph after graph, however quickly each of them runs.
    assert estimate_candidate("w8a16", slow, counts) > estimate_candidate("w8a16", quick, counts) + 1
    sample = next(item for item in REGISTRY["FullyConnected"].samples())
    graph, feed = sample_graph(sample)
    rates = try_model(graph, [feed], None).rates
    assert rates.correcting > rates.planning > rates.quantizing > 0


def test_a_recurrent_layer_alone_is_tried_as_it_is_built() -> None:
    """In fixed point it cannot run: what it costs would never be measured."""
    sample = next(item for item in REGISTRY["Gru"].samples() if item.label == "plain")
    graph, feed = sample_graph(sample)
    trial = try_model(graph, [feed, feed], None)
    assert trial.quantized is not None
    assert is_narrow(trial.quantized)


def test_while_nothing_keeps_the_limit_other_candidates_have_the_time_of_the_verdict() -> None:
    rates = Rates(0.1, 0.3, 0.1, 0.2, emulated=2.0, compiling=4.0)
    full = rates.estimate_finish(50)
    assert estimate_rest(rates, 50, is_missed=False) == full
    missed = estimate_rest(rates, 50, is_missed=True)
    assert rates.unstoppable < missed < full - rates.estimate_emulated_layers()


def test_what_was_done_before_the_pre_flight_counts() -> None:
    data = DataRequest()
    request = BuildRequest(Path("net.onnx"), "v75", Path("out"), data, started=time.monotonic() - 100)
    # An export keeps the clock of the request that it belongs to.
    written = replace(request, model=Path("exported.pt2"))
    budget = TimeBudget(600, has_emulator=False, started=written.started)
    assert 100 <= budget.seconds < 110
    assert 490 < budget.rest <= 500


def test_a_model_that_is_slow_to_prepare_is_not_taken_for_slow(monkeypatch) -> None:
    """The first run has getting ready in it: sessions, tables, kernels."""
    graph, feed = sample_graph(next(iter(REGISTRY["Relu"].samples())))
    ran: list[int] = []
    run = Model.run

    def run_late(self: Model, *arguments: Any, **words: Any) -> dict[str, Any]:
        if id(self) not in ran:
            ran.append(id(self))
            time.sleep(0.3)
        return run(self, *arguments, **words)

    monkeypatch.setattr(Model, "run", run_late)
    # A part of the time is shorter than the first run, all of it is not.
    rates = try_model(graph, [feed], None, seconds=1.0).rates
    assert rates.floating < 0.1 < rates.preparing
    assert rates.simulated < 0.1 < rates.preparing_simulation


def test_plain_8_bits_are_tried_with_as_many_samples_as_there_is_time_for() -> None:
    graph, feed = sample_graph(next(iter(REGISTRY["Relu"].samples())))
    samples = SampleSelection([feed] * 30, range(30))
    counts: list[int] = []

    def make_candidate(given: Samples) -> Graph:
        counts.append(len(given))
        return quantize_graph(graph, QuantizationRequest(), given, CpuExecutor()).graph

    try_model(graph, [feed], None, math.inf, make_candidate, samples)
    assert counts == [30]


def test_a_build_that_took_longer_than_it_might_says_where() -> None:
    stages = [Stage("convert", 20.0, 0.0), Stage("compile w8a8", 90.0, 0.0), Stage("evaluate", 30.0, 0.0)]
    assert list(describe_overtime(stages, 125.0, 120.0)) == []
    (text,) = describe_overtime(stages, 140.0, 120.0)
    assert text.startswith("it took 140 s where 120 were given: the time ran out in stage 'evaluate'")
    assert "'compile w8a8', which took 90 s" in next(describe_overtime(stages, 140.0, 100.0))
    assert list(describe_overtime(stages, 140.0, math.inf)) == []
    # Another run took those 200 s.
    resumed = [Stage("quantize w8a8", 200.0, 0.0, is_resumed=True), *stages]
    assert "in stage 'evaluate'" in next(describe_overtime(resumed, 140.0, 120.0))


@pytest.mark.parametrize("limit", [math.inf, 1e-3])
def test_a_build_is_planned_whatever_its_time_is(limit) -> None:
    graph, _ = sample_graph(next(iter(REGISTRY["Relu"].samples())))
    (shape,) = (graph.types[name].static_shape() for name in graph.inputs)
    values = np.random.default_rng(0).normal(size=(30, *shape[1:])).astype(np.float32)
    request = BuildRequest(Path("net.onnx"), "SM8650", Path("out"), DataRequest(values), time_limit=limit)
    plan = plan_build(request, graph, read_unique_samples(graph, request.data), ())
    assert math.isfinite(plan.estimate_seconds(limit, 1.0))


def test_what_the_emulator_did_not_take_is_there_for_another_candidate() -> None:
    """Half precision was left out after 72 s of 120, and what lost too much was what came of it."""
    rates = Rates(0.02, 0.06, 0.1, 0.2, emulated=0.2 * count_workers(), compiling=2.0, loading=0.5)
    another = rates.estimate_another(40)
    assert rates.estimate_verdict(40) + 3 == pytest.approx(another)
    late = TimeBudget(120, has_emulator=True, started=time.monotonic() - 72)
    assert late.has_time_for(another)
    assert late.seconds + another < 120
    assert not TimeBudget(120, has_emulator=True, started=time.monotonic() - 112).has_time_for(another)


def test_layers_of_a_slow_model_are_compared_only_where_one_sample_ends_in_time() -> None:
    """Three runs of 8 s made a build of 120 s 19 s late."""
    slow, quick = Rates(1.0, 8.0, 0.1, 0.2), Rates(0.01, 0.02, 0.1, 0.2)
    late = TimeBudget(120, has_emulator=True, started=time.monotonic() - 109)
    assert not has_time_for_layers(slow, late)
    assert has_time_for_layers(slow, TimeBudget(120, has_emulator=True))
    # What takes a moment is done however late it is.
    for limit in (120, 0.01):
        over = TimeBudget(limit, has_emulator=True, started=time.monotonic() - limit - 1)
        assert has_time_for_layers(quick, over)
