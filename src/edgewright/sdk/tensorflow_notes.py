"""What the converters tell of TensorFlow models besides: nodes left out, and a check of the rewrites."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.core.errors import shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import Rewrites
from edgewright.frontends.open_source import fix_shapes
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.model.model import Model

MOST_LISTED = 100
PERCENTILE = 90


@dataclass(frozen=True)
class OutputError:
    """How far an output of the rewritten model is from the model as it is, in percent of its range."""

    output: str
    average: float
    percentile: float


def list_unconsumed_nodes(source: TensorflowSource) -> list[str]:
    """The nodes that the outputs do not depend on, one a line."""
    nodes = source.unconsumed()
    more = [f"and {len(nodes) - MOST_LISTED} more nodes"] if len(nodes) > MOST_LISTED else []
    listed = [f"no output depends on node '{shown(name)}'" for name in nodes[:MOST_LISTED]]
    return [*listed, *more] or ["the outputs depend on every node"]


def validate_rewrites(path: Path | str, spec: InputSpec) -> list[OutputError]:
    """Runs a model on inputs of ones, once as it is and once rewritten."""
    source = fix_shapes(path, spec)
    graph = source.graph()
    plain = Model.of(Rewrites(is_simplified=False).apply(graph.copy()), source.model.tensors)
    rewritten = Model.of(Rewrites().apply(graph), source.model.tensors)
    ones = {
        name: np.ones(t.static_shape(), t.dtype.numpy)
        for name, t in source.model.inputs.items()
        if t.dtype != DType.STRING
    }
    expected, actual = plain.run(ones), rewritten.run(ones)
    return [_measure_error(name, expected[name], actual[name]) for name in expected]


def describe_rewrite_errors(errors: list[OutputError]) -> list[str]:
    """The errors as the converter prints them."""
    return [
        f"rewritten against original on inputs of ones: '{shown(e.output)}' differs by {e.average:.4g} % on "
        f"average, {PERCENTILE} % of it by less than {e.percentile:.4g} %"
        for e in errors
    ]


def _measure_error(name: str, expected: Array, actual: Array) -> OutputError:
    want, have = (np.asarray(values, np.float64).reshape(-1) for values in (expected, actual))
    if not want.size:
        return OutputError(name, 0.0, 0.0)
    span = float(np.ptp(want)) or float(np.abs(want).max()) or 1.0
    errors = np.abs(want - have) / span * 100
    return OutputError(name, float(errors.mean()), float(np.percentile(errors, PERCENTILE)))
