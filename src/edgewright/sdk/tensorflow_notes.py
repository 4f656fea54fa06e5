"""What the converters tell of TensorFlow models besides: nodes left out, and a check of the rewrites."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.core.errors import shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.open_source import fixed_source
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.model.convert import Rewrites
from edgewright.model.model import Model

__all__ = ["OutputError", "unconsumed_notes", "validate_rewrites", "validation_notes"]

MOST_LISTED = 100
PERCENTILE = 90


@dataclass(frozen=True)
class OutputError:
    """How far an output of the rewritten model is from the model as it is, in percent of its range."""

    output: str
    average: float
    percentile: float


def unconsumed_notes(source: TensorflowSource) -> list[str]:
    """The nodes that the outputs do not depend on, one a line."""
    found = source.unconsumed()
    more = [f"and {len(found) - MOST_LISTED} more nodes"] if len(found) > MOST_LISTED else []
    listed = [f"no output depends on node '{shown(name)}'" for name in found[:MOST_LISTED]]
    return [*listed, *more] or ["the outputs depend on every node"]


def validate_rewrites(path: Path | str, wishes: InputSpec) -> list[OutputError]:
    """Runs a model on inputs of ones, once as it is and once rewritten."""
    source = fixed_source(path, wishes)
    graph = source.graph()
    plain = Model.of(Rewrites(is_simplified=False).apply(graph.copy()), source.opened.tensors)
    rewritten = Model.of(Rewrites().apply(graph), source.opened.tensors)
    ones = {
        name: np.ones(t.static_shape(), t.dtype.numpy)
        for name, t in source.opened.inputs.items()
        if t.dtype != DType.STRING
    }
    expected, found = plain.run(ones), rewritten.run(ones)
    return [_error(name, expected, found) for name in expected]


def validation_notes(errors: list[OutputError]) -> list[str]:
    """The errors as the converter prints them."""
    return [
        f"rewritten against original on inputs of ones: '{shown(e.output)}' differs by {e.average:.4g} % on "
        f"average, {PERCENTILE} % of it by less than {e.percentile:.4g} %"
        for e in errors
    ]


def _error(name: str, expected: Mapping[str, Array], found: Mapping[str, Array]) -> OutputError:
    want, have = (np.asarray(values[name], np.float64).reshape(-1) for values in (expected, found))
    if not want.size:
        return OutputError(name, 0.0, 0.0)
    span = float(np.ptp(want)) or float(np.abs(want).max()) or 1.0
    errors = np.abs(want - have) / span * 100
    return OutputError(name, float(errors.mean()), float(np.percentile(errors, PERCENTILE)))
