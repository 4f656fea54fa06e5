"""Whether samples have the scale that a model was trained on, as far as its first layers tell."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import shown
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.model.model import Model
from edgewright.ops.norm import Batchnorm

# What is normalised hardly reaches beyond the first, and spreads more than the second.
LARGEST_NORMALISED, LEAST_SPREAD = 30.0, 0.01
# A batch norm gives each channel a spread near one in training: no network has learned ones like these.
LARGEST_CHANNELS, LEAST_CHANNELS = 40.0, 0.004
# A layer whose results are that much larger than what its activation lets through was not trained so.
LARGEST_EXCESS = 5.0
# Samples that reach no farther are no pictures of bytes: layers that give large results learned to.
USUAL_REACH = 8.0
# Of all values, so that a single one says nothing; and of all channels, for some are dead.
MOST, WIDEST_CHANNELS = 0.999, 0.9
# Scales that data come in, and what to say for each; the first one that suits the model is advised.
REMEDIES = (
    (1 / 255, 0.0, 1.0, "--scale 1/255"),
    (1.0, 127.5, 127.5, "--mean 127.5 --std 127.5"),
    (1.0, 116.0, 57.5, "--mean 123.7 116.3 103.5 --std 58.4 57.1 57.4"),
    (255.0, 0.0, 1.0, "--scale 255"),
)


@dataclass(frozen=True)
class _Path:
    """What the first layers do to an input: the values to look at, and what they are."""

    # After subtracting and dividing by constants; empty where that is not done.
    normalised: str = ""
    # After the first product and its batch norm.
    channels: str = ""
    # After the first product, and above what an activation cuts off.
    product: str = ""
    most: float = np.inf

    @property
    def values(self) -> list[str]:
        return [name for name in (self.normalised, self.channels, self.product) if name]


def find_wrong_scale(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Iterator[str]:
    """What is wrong with the scale of samples, and what would fit; nothing where it cannot be known."""
    held = list(samples)
    for name in graph.inputs:
        kind = graph.types[name]
        path = _follow_input(graph, name)
        if kind.dtype.numpy.kind != "f" or not path.values or not held:
            continue
        model = Model.of(_cut_graph(graph, path.values))
        problem = _find_problem(name, model, path, held)
        if problem:
            yield f"{_describe(name, held, problem)}{_find_remedy(name, model, path, held)}"


def _describe(name: str, samples: list[Mapping[str, Array]], problem: str) -> str:
    values = np.concatenate([sample[name].reshape(-1) for sample in samples])
    range_text = (
        f"from {values.min():.3g} to {values.max():.3g}, mean {values.mean():.3g}, std {values.std():.3g}"
    )
    return f"samples of '{shown(name, 60)}' are not as in training: they are {range_text}, and {problem}"


def _find_remedy(name: str, model: Model, path: _Path, samples: list[Mapping[str, Array]]) -> str:
    """The first usual preparation that the first layers have nothing against."""
    for scale, mean, std, text in REMEDIES:
        changed = [{**s, name: ((s[name] * scale - mean) / std).astype(s[name].dtype)} for s in samples]
        largest = max(float(np.abs(s[name]).max(initial=0)) for s in changed)
        if largest <= 256 and not _find_problem(name, model, path, changed):
            return f"; {text} would fit"
    return ""


def _find_problem(name: str, model: Model, path: _Path, samples: Sequence[Mapping[str, Array]]) -> str:
    """What the first layers have against samples: large results of large ones, or hardly any results."""
    outputs = [model.run(sample) for sample in samples]
    is_large = max(float(np.abs(sample[name]).max(initial=0)) for sample in samples) > USUAL_REACH

    def join(value: str) -> Array:
        return np.concatenate([np.asarray(output[value], np.float64) for output in outputs])

    if path.normalised:
        values = join(path.normalised)
        largest, spread = float(np.abs(values).max(initial=0)), float(values.std())
        if (is_large and largest > LARGEST_NORMALISED) or spread < LEAST_SPREAD:
            figures = f"reaches {largest:.3g} with a spread of {spread:.2g}"
            return f"what the model normalises them to by itself {figures}, expected values of about one"
    if path.channels:
        values = join(path.channels)
        reach = float(np.quantile(np.abs(values), MOST))
        spread = float(np.quantile(values.reshape(-1, values.shape[-1]).std(0), WIDEST_CHANNELS))
        if (is_large and reach > LARGEST_CHANNELS) or spread < LEAST_CHANNELS:
            return (
                f"channels after the first batch norm reach {reach:.3g} with a spread of {spread:.2g}, "
                "expected about one"
            )
    if path.product and is_large:
        reach = float(np.quantile(join(path.product), MOST))
        if reach > LARGEST_EXCESS * path.most:
            return (
                f"the first layer gives up to {reach:.3g}, where its activation cuts all above {path.most:g}"
            )
    return ""


def _follow_input(graph: Graph, name: str) -> _Path:
    """Through nodes that are alone in reading a value, up to the first activation."""
    start, value = name, name
    node = _find_reader(graph, value)
    while node is not None and _is_plain(graph, node):
        value, node = node.outputs[0], _find_reader(graph, node.outputs[0])
    # Elements that only move are not normalised.
    normalised = value if value != start and _has_step(graph, start, value) else ""
    if node is None or not node.op.is_product or any(n not in graph.constants for n in node.inputs[1:] if n):
        return _Path(normalised)
    product = node.outputs[0]
    following = _skip_movers(graph, product)
    if following is not None and _is_batch_norm(following):
        return _Path(normalised, following.outputs[0])
    if following is not None and following.op.is_clamp and np.isfinite(following.op.value_range()[1]):
        return _Path(normalised, product=product, most=following.op.value_range()[1])
    return _Path(normalised)


def _find_reader(graph: Graph, value: str) -> Node | None:
    """The only node that reads a value."""
    readers = graph.consumers(value)
    return readers[0] if len(readers) == 1 and value not in graph.outputs else None


def _skip_movers(graph: Graph, value: str) -> Node | None:
    node = _find_reader(graph, value)
    while node is not None and node.op.only_moves() and len(node.inputs) == 1:
        node = _find_reader(graph, node.outputs[0])
    return node


def _is_plain(graph: Graph, node: Node) -> bool:
    """Whether a node moves elements, or computes with a constant: a step of a normalisation."""
    is_mover = (node.op.only_moves() or node.op.is_encoder) and len(node.inputs) == 1
    return len(node.outputs) == 1 and (is_mover or _is_step(graph, node))


def _is_batch_norm(node: Node) -> bool:
    return node.op.qnn_name() == Batchnorm.qnn_name()


def _is_step(graph: Graph, node: Node) -> bool:
    constants = [name for name in node.inputs if name in graph.constants]
    is_affine = _is_batch_norm(node) or (node.op.is_arithmetic and len(node.inputs) == 2)
    return is_affine and len(constants) == len(node.inputs) - 1 > 0


def _has_step(graph: Graph, start: str, value: str) -> bool:
    node = graph.producer(value)
    while node is not None and value != start:
        if _is_step(graph, node):
            return True
        value = next(name for name in node.inputs if name not in graph.constants)
        node = graph.producer(value)
    return False


def _cut_graph(graph: Graph, values: list[str]) -> Graph:
    """The graph up to some values."""
    cut = graph.copy()
    cut.outputs[:] = values
    needed = set(values)
    for node in reversed(cut.nodes):
        if needed.isdisjoint(node.outputs):
            cut.remove(node)
        else:
            needed |= set(node.inputs)
    return cut
