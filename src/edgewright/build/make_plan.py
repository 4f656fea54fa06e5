"""Tries a model on a few samples, and tells what the build will do and take."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from edgewright.backends.executor import CpuExecutor
from edgewright.build.candidate_builder import has_quantization_pairs, is_fixed_point, take_given_encodings
from edgewright.build.candidates import AS_GIVEN, HALF, PLAIN, WIDE, SearchLimit, list_candidates
from edgewright.build.plan import BuildPlan, SampleCounts
from edgewright.build.prediction import Prediction, Tried, predict_search
from edgewright.build.rates import Rates
from edgewright.build.request import BuildRequest
from edgewright.build.time_budget import TimeBudget
from edgewright.build.trial import Samples, Trial, make_plain, select_in_time, time_half, try_model
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples, LabelledSamples
from edgewright.evaluate.choose_metric import choose_metric, drop_labels
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.loss import estimate_high
from edgewright.evaluate.measurement import Evaluation
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.records import Metric
from edgewright.evaluate.statistics import compute_paired_interval
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.quantize.cost import compute_relative_cost
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.run_counter import Bounds, RunCounter
from edgewright.run.context.compile import find_provider
from edgewright.targets.soc import find_htp_soc

# Samples that tell how fast a model runs, and whether 8 bits will do where more of them take too long.
TRIED_SAMPLES = 4
# What running it for that may take of the time of the build, and what predicting candidates may; more samples
# than those are predicted by where they take this part of it.
TRIED_PART, MORE_PART = 0.08, 0.25


def plan_build(
    request: BuildRequest, graph: Graph, samples: BuildSamples, tensors: Collection[str]
) -> BuildPlan:
    """Tries the model on a few samples, and tells what the build will do and take.

    ``tensors``: names of the source model's tensors.
    """
    metric = choose_metric(graph, samples.labels, request.metric, _run_first_sample(graph, samples))
    is_quantized = is_fixed_point(graph) or has_quantization_pairs(graph)
    chip = find_htp_soc(request.target)
    is_emulated = find_provider("htp") == "htp-native"
    few = list(samples.choosing.select(TRIED_SAMPLES).selection)
    trial = try_model(
        graph,
        few,
        chip if is_emulated else None,
        TRIED_PART * request.time_limit,
        partial(_take_as_given, graph, tensors) if is_quantized else None,
        samples.calibration,
    )
    names = (AS_GIVEN,) if is_quantized else list_candidates(request.precision, chip.arch)
    predicted = Prediction(names, HALF if HALF in names else names[0])
    # Whatever the time, an evaluation runs a few samples.
    is_quick = TRIED_SAMPLES * trial.rates.simulated <= TRIED_PART * request.time_limit
    if trial.quantized is not None and names[0] == PLAIN and is_quick:
        predicted = _predict(request, graph, samples, metric, trial, names)
    least = find_least_provable(metric, len(samples.judging.selection))
    is_uncertain = least > request.limit and HALF in names and predicted.chosen != HALF
    rates = trial.rates
    if trial.is_emulated and HALF in predicted.built and (is_uncertain or predicted.chosen == HALF):
        rates = time_half(rates, _make_half(graph), few, chip, TRIED_PART * request.time_limit)
    search_seconds = TimeBudget(request.time_limit, has_emulator=is_emulated).search_seconds
    counts = SampleCounts.of(samples).reduce_to_fit(rates, search_seconds)
    return BuildPlan(
        metric,
        is_quantized,
        rates,
        counts,
        candidates=predicted.built,
        chosen=predicted.chosen,
        is_uncertain=is_uncertain,
        refusal=trial.refusal,
        is_half_taken=trial.is_half_taken,
    )


def _take_as_given(graph: Graph, tensors: Collection[str], samples: Samples) -> Graph:
    """What a model that came quantized is built as."""
    made = take_given_encodings(graph, frozenset(tensors), samples, CpuExecutor())
    return with_steps(made.graph, made.graph.outputs)


def _predict(
    request: BuildRequest,
    graph: Graph,
    samples: BuildSamples,
    metric: Metric,
    trial: Trial,
    names: tuple[str, ...],
) -> Prediction:
    """What will be built if plain precisions do what they do on few samples."""
    plain = trial.quantized
    assert plain is not None
    seconds, judging = TRIED_PART * request.time_limit, len(samples.judging.selection)
    goal = SearchLimit(request.limit, find_least_provable(metric, judging))
    count = _count_tried(trial.rates, MORE_PART * seconds, len(samples.choosing.selection))
    choosing = samples.choosing.spread(count)
    counter = RunCounter(graph, len(choosing.selection))
    chooser = make_chooser(graph, choosing, metric, counter)
    end = time.monotonic() + seconds

    def evaluate(made: Graph) -> Tried:
        tried = _describe_tried(chooser.evaluate(made), judging)
        return replace(tried, cost=compute_relative_cost(made, graph))

    with counter.keep_bounds(Bounds(evaluation_end=end)):
        tried = {PLAIN: evaluate(plain)}
        is_narrow = not any(kind.dtype.is_fixed_point for kind in plain.types.values())
        if is_narrow and tried[PLAIN].drop <= request.limit:
            # All of it is in half precision: there are no widths to mix.
            return Prediction(names[:1], names[0])
        if not goal.is_reached(tried[PLAIN].expect(PLAIN)):
            for name, make in _list_wider(graph, samples, trial.rates, MORE_PART * seconds).items():
                with suppress(EdgewrightError):
                    tried |= {name: evaluate(make())} if name in names else {}
    return predict_search(names, goal, tried)


def _list_wider(
    graph: Graph, samples: BuildSamples, rates: Rates, seconds: float
) -> dict[str, Callable[[], Graph]]:
    """What makes wider candidates as plain as they are, of those that are made in so many seconds."""
    makers: dict[str, Callable[[], Graph]] = {HALF: partial(_make_half, graph)}
    if rates.planning <= seconds:
        few = select_in_time(samples.calibration, rates.floating, seconds)
        makers[WIDE] = partial(make_plain, graph, few, act_bw=16)
    return makers


def _make_half(graph: Graph) -> Graph:
    """Half precision as candidates are made."""
    made = quantize_graph(graph, QuantizationRequest(float_bw=16)).graph
    return with_steps(made, made.outputs)


def _count_tried(rates: Rates, seconds: float, count: int) -> int:
    """How many of the samples plain 8 bits and half precision both run in so many seconds, a few at least."""
    both = 2 * (rates.floating + rates.simulated)
    return count if both * count <= seconds else max(TRIED_SAMPLES, int(seconds / both))


def _describe_tried(evaluation: Evaluation, judging: int) -> Tried:
    return Tried(evaluation.drop, estimate_high(evaluation.loss, judging), evaluation.samples)


def find_least_provable(metric: Metric, count: int) -> float:
    """What so many samples cannot tell from nothing: of answers that are all the same they prove no more."""
    is_share = all(find_measure(metric.find_name(name)).is_share for name in metric.outputs)
    return 100 * compute_paired_interval(0, 0, count)[1] if is_share else 0.0


def make_chooser(
    graph: Graph, samples: LabelledSamples, metric: Metric, counter: RunCounter | None = None
) -> Evaluator:
    """Evaluates on samples that choose; without labels, by the float model's answers."""
    return Evaluator(graph, samples, metric if samples.labels else drop_labels(metric), counter)


def _run_first_sample(graph: Graph, samples: BuildSamples) -> Mapping[str, Array]:
    """What the float model gives for one sample."""
    (sample,) = samples.judging.selection.select(1)
    return Model.of(graph).run(sample)
