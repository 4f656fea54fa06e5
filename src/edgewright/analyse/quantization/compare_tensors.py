"""Every weight, bias and activation of a quantized graph against the float graph that it was made of."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.comparison_points import align_layout, is_fused_away
from edgewright.analyse.quantization.algorithms import ALGORITHMS, OF_RESULT, Stored
from edgewright.config.quantization_checker import AlgorithmChoice
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.roles import find_roles

ACTIVATION, WEIGHT, BIAS = "Activation", "Weight", "Bias"


@dataclass(frozen=True)
class ComparedTensor:
    """One algorithm's answer about one tensor."""

    op: str
    tensor: str
    kind: str
    algorithm: str
    is_passed: bool
    text: str
    threshold: str
    # The input that an activation was computed from.
    input: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the tensor fails by it."""
        algorithm = ALGORITHMS.get(self.algorithm.removeprefix(OF_RESULT))
        return not self.is_passed and (algorithm is None or algorithm.is_decisive)


def compare_constants(
    source: Graph, quantized: Graph, kind: str, choices: Sequence[AlgorithmChoice]
) -> Iterator[ComparedTensor]:
    """The weights, or the biases, that the float graph has in the same shape."""
    for node, value in list_constants(quantized, kind):
        stored = store_constant(source, quantized, value)
        if stored is None:
            continue
        for choice in choices:
            if not choice.name.startswith(OF_RESULT):
                yield _judge(stored, choice, (node.name, _name(quantized, value), kind))


def list_constants(graph: Graph, kind: str) -> Iterator[tuple[Node, str]]:
    """Weights or biases with the nodes that read them."""
    for node in graph.nodes:
        roles = find_roles(graph, node)
        for place in sorted(roles.weights if kind == WEIGHT else roles.biases):
            yield node, node.inputs[place]


def store_constant(source: Graph, quantized: Graph, value: str) -> Stored | None:
    """A constant before and after; None where it is float, or the float graph has it otherwise."""
    encoding, real = quantized.types[value].encoding, source.constants.get(value)
    codes = quantized.constants[value]
    if encoding is None or real is None or real.shape != codes.shape or not real.size:
        return None
    return Stored(np.asarray(real, np.float32), codes, encoding.decode(codes), encoding.bitwidth)


def compare_activations(
    quantized: Graph,
    arrays: Mapping[str, Array],
    choices: Sequence[AlgorithmChoice],
    data_choices: Sequence[AlgorithmChoice],
    given: str,
) -> Iterator[ComparedTensor]:
    """The values of one run of the float graph, held by the encodings of the quantized one."""
    for node_name, value in list_activations(quantized, arrays):
        stored = _store_value(quantized, value, np.asarray(arrays[value], np.float32))
        if stored is None:
            continue
        for choice in (*data_choices, *choices):
            yield _judge(stored, choice, (node_name, _name(quantized, value), ACTIVATION), given)


def compare_results(
    quantized: Graph,
    kind: str,
    arrays: Mapping[str, Array],
    choices: Sequence[AlgorithmChoice],
    given: str,
) -> Iterator[ComparedTensor]:
    """What algorithms named act_... say of a weight or bias: the result of its op."""
    asked = [choice for choice in choices if choice.name.startswith(OF_RESULT)]
    for node, value in list_constants(quantized, kind) if asked else ():
        result = node.outputs[0]
        stored = (
            _store_value(quantized, result, np.asarray(arrays[result], np.float32))
            if result in arrays
            else None
        )
        for choice in asked if stored is not None else ():
            assert stored is not None
            yield _judge(stored, choice, (node.name, _name(quantized, value), kind), given)


def list_activations(quantized: Graph, known: Container[str]) -> Iterator[tuple[str, str]]:
    """Inputs and results that both graphs have, with the node that makes each."""
    for value in quantized.inputs:
        if value in known:
            yield "input", value
    for node in quantized.nodes:
        for value in filter(None, node.outputs):
            # What a clamp behind it cuts off is not lost: both are one op.
            is_stored = quantized.types[value].encoding is not None and not is_fused_away(quantized, value)
            if value in known and is_stored:
                yield node.name, value


def _store_value(quantized: Graph, value: str, array: Array) -> Stored | None:
    kind = quantized.types[value]
    if kind.encoding is None or not kind.is_static or not array.size or not np.isfinite(array).all():
        return None
    real = align_layout(array, kind.static_shape())
    if real.size != np.prod(kind.static_shape()):
        return None
    codes = kind.encoding.encode(real, kind.dtype)
    return Stored(real, codes, kind.encoding.decode(codes), kind.encoding.bitwidth)


def _judge(
    stored: Stored, choice: AlgorithmChoice, place: tuple[str, str, str], given: str = ""
) -> ComparedTensor:
    algorithm = ALGORITHMS[choice.name.removeprefix(OF_RESULT)]
    threshold = algorithm.default if choice.threshold is None else f"{choice.threshold:g}"
    outcome = algorithm.judge(stored, choice.threshold)
    return ComparedTensor(*place, choice.name, outcome.is_passed, outcome.text, threshold, given)


def _name(graph: Graph, value: str) -> str:
    return graph.source_names.get(value, value)
