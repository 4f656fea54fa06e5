"""Weights that are fitted layer after layer, each to what the rounded layers before it really give."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.op import given
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.calibrate import observe_extremes
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.spans import Statistics
from edgewright.quantize.weights.adaround import SWEEPS, Feedback, Steps, descend
from edgewright.quantize.weights.frontier import Frontier, choose_samples
from edgewright.quantize.weights.moments import LARGEST_INNER, ROWS, Moments, measure_moments
from edgewright.quantize.weights.products import Product, find_products
from edgewright.quantize.weights.sequential_mse import FACTORS, FEW_FACTORS, choose_factors, refine_factors

# Algorithms that work so; both together choose ranges by what learned rounding makes of them.
LAYERWISE = ("seq_mse", "adaround")
REFINEMENTS = 2


@dataclass(frozen=True)
class _Fitted:
    """Weights on the grid of an encoding, as [groups, inner, columns]."""

    weights: Array
    encoding: Encoding


def fit_weights(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    judge: Judge,
    statistics: Statistics | None = None,
) -> tuple[Graph, dict[str, Pin], list[str]]:
    """A graph with fitted weights, the encodings they are made for, and what was done.

    Samples that judge are held apart from it. What is known of the ranges of values need not be given.
    """
    asked = [name for name in LAYERWISE if name in request.algorithms]
    if not asked:
        return graph, {}, []
    plain = replace(request, act_quantizer="tf")
    groups = Groups(graph, plain, pins)
    if statistics is None:
        statistics = observe_extremes(graph, groups.list_observed(), judge.fitting, judge.executor)
    fitting = _Fitting(graph, request, pins, assign_encodings(graph, groups, plain, pins, statistics))
    fitting.run(judge)
    said = "+".join(asked)
    notes = [f"{said}: fitted the weights of {len(fitting.pins)} layers"]
    if fitting.too_large:
        notes.append(
            f"{said}: {fitting.too_large} layers of more than {LARGEST_INNER} inputs stay as they are"
        )
    return fitting.graph, fitting.pins, notes


def estimate_fitting(graph: Graph, request: QuantizationRequest, samples: int) -> int:
    """Multiply-accumulates of fitting all weights, at most; those of running the samples are not in it."""
    if not any(name in request.algorithms for name in LAYERWISE):
        return 0
    return sum(_count_macs(product, request, samples) for product in find_products(graph))


def _count_macs(product: Product, request: QuantizationRequest, samples: int) -> int:
    """What fitting one layer takes: moments, their inverse, and each time that weights are rounded."""
    is_rounding, is_ranging = (name in request.algorithms for name in ("adaround", "seq_mse"))
    groups, inner, columns = product.to_matrices(np.empty(product.weights_shape, np.int8)).shape
    if inner > LARGEST_INNER:
        return 0
    trials = len(FEW_FACTORS if is_rounding else FACTORS) if is_ranging else 0
    sweeps = SWEEPS * (1 + REFINEMENTS * is_ranging) if is_rounding else 1
    each = inner * columns * (2 * trials + sweeps) + inner * inner + 2 * ROWS * samples * inner
    return int(groups * inner * each)


class _Fitting:
    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], plan: Plan
    ) -> None:
        self.graph, self.pins, self.too_large = graph.copy(), dict[str, Pin](), 0
        self._float, self._request, self._known, self._plan = graph, request, pins, plan
        self._is_rounding = "adaround" in request.algorithms
        self._is_ranging = "seq_mse" in request.algorithms
        # Biases take care of means here, or later.
        self._is_centred = self._is_rounding or "bc" in request.algorithms or request.is_searched

    def run(self, judge: Judge) -> None:
        products = [
            product for product in find_products(self._float) if self._find_steps(product) is not None
        ]
        self.too_large = sum(product.inner > LARGEST_INNER for product in products)
        small = [product for product in products if product.inner <= LARGEST_INNER]
        rounded, executor = self._float.copy(), judge.executor
        samples = choose_samples(
            self._float, [product.node.inputs[0] for product in small], list(judge.fitting), executor
        )
        before, after = (Frontier(graph, samples, executor) for graph in (self._float, rounded))
        with announce_progress("fitting weights", total=len(small)) as step:
            for product in small:
                value = product.node.inputs[0]
                arrays = before.compute(value)
                is_same = value in self._float.inputs
                moments = measure_moments(
                    *(product, arrays if is_same else after.compute(value), arrays),
                    is_centred=self._is_centred,
                )
                self._fit(product, moments, rounded)
                executor.add_work(_count_macs(product, self._request, len(samples)))
                step()

    def _fit(self, product: Product, moments: Moments, rounded: Graph) -> None:
        """Fits one layer; the later ones see what became of it."""
        steps, placed = self._find_steps(product), self._get_placed(product)
        assert steps is not None
        assert placed.encoding is not None
        weights = product.to_matrices(self._float.constants[product.weights].astype(np.float64))
        fitted = self._fit_product(product, weights, moments, steps, placed.encoding)
        real = product.to_array(fitted.weights).astype(self._float.constants[product.weights].dtype)
        self.pins[product.weights] = Pin(
            fitted.encoding.bitwidth, replace(placed, encoding=fitted.encoding), Origin.WEIGHTS
        )
        changed = [rounded, self.graph] if self._is_rounding else [rounded]
        for graph in changed:
            graph.constants[product.weights] = real
            if self._is_centred:
                self._shift_bias(graph, product, moments.shift(weights, fitted.weights))

    def _fit_product(
        self, product: Product, weights: Array, moments: Moments, steps: Steps, encoding: Encoding
    ) -> _Fitted:
        target = moments.find_target(weights) if self._is_rounding else weights
        feedback = Feedback(moments.second) if self._is_rounding else None
        slices = len(encoding.scales)
        if self._is_ranging and self._is_free(product):
            rounding = None if feedback is None else feedback.round_weights
            factors = choose_factors(target, moments.second, steps, slices, rounding)
            encoding, steps = self._scale_steps(product, encoding, steps, factors)
        if feedback is None:
            return _Fitted(steps.round_nearest(weights) * steps.scale, encoding)
        integers = descend(feedback.round_weights(target, steps), target, moments.second, steps)
        for _ in range(REFINEMENTS if self._is_ranging and self._is_free(product) else 0):
            factors = refine_factors(target, moments.second, integers, steps, slices)
            encoding, steps = self._scale_steps(product, encoding, steps, factors)
            integers = descend(integers, target, moments.second, steps)
        return _Fitted(integers * steps.scale, encoding)

    def _shift_bias(self, graph: Graph, product: Product, shift: Array) -> None:
        bias = given(product.node.inputs, 2)
        if not bias or bias not in graph.constants or bias in self._known or not graph.is_used_once(bias):
            return
        before = self._float.constants[bias]
        if before.shape == shift.shape:
            graph.constants[bias] = (before + shift).astype(before.dtype)

    def _get_placed(self, product: Product) -> Placed:
        return self._plan.reads[product.node.name, 1]

    def _is_free(self, product: Product) -> bool:
        """Whether nobody has settled the range of the weights."""
        pin = self._known.get(product.weights)
        return (pin is None or pin.placed is None) and self._request.steps is None

    def _find_steps(self, product: Product) -> Steps | None:
        """The integers of a product's weights; None where they are no integers of one offset."""
        placed = self._plan.reads.get((product.node.name, 1))
        if placed is None or placed.encoding is None or len(set(placed.encoding.offsets)) > 1:
            return None
        least, most = placed.encoding.limits(placed.dtype)
        if self._request.steps is not None and placed.dtype.is_signed:
            least, most = max(least, self._request.steps[0]), min(most, self._request.steps[1])
        offset = placed.encoding.offsets[0]
        return Steps(self._compute_scales(product, placed.encoding), least + offset, most + offset)

    def _scale_steps(
        self, product: Product, encoding: Encoding, steps: Steps, factors: Array
    ) -> tuple[Encoding, Steps]:
        # Single precision, as scales are stored: else weights would not lie on the grid any more.
        scales = (np.asarray(encoding.scales) * factors).astype(np.float32).astype(np.float64)
        changed = replace(encoding, scales=tuple(scales.tolist()))
        return changed, replace(steps, scale=self._compute_scales(product, changed))

    def _compute_scales(self, product: Product, encoding: Encoding) -> Array:
        shape = product.weights_shape
        return product.to_matrices(np.broadcast_to(encoding.scales_of(shape), shape))
