"""Opens a source model for artifacts, which need every dimension as a number."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import edgewright.frontends.onnx  # noqa: F401 - registers the translations
from edgewright.core.errors import Problems, UnsupportedFeature, UsageError, Where, shown
from edgewright.frontends.onnx.load import OnnxSource, Overrides
from edgewright.ir.dims import Expr, evaluate
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

__all__ = ["FixedSource", "batch_symbols", "fixed_source"]

_BATCH = re.compile(r"batch|^(n|b|bs)$", re.IGNORECASE)


@dataclass(frozen=True)
class FixedSource:
    """A source whose inputs have numbers for shapes, and what was decided to get there."""

    opened: OnnxSource
    file: str
    notes: tuple[str, ...] = ()

    def graph(self) -> Graph:
        """The imported graph; all reasons why there is none come at once."""
        imported = self.opened.build({})
        if imported.problems:
            raise Problems(imported.problems)
        if imported.bound:
            names = ", ".join(f"'{shown(name)}'" for name in imported.bound)
            raise UnsupportedFeature(
                f"the values of inputs {names} shape the graph, expected them as constants",
                Where(file=self.file),
                do="make them constants (initializers) in the source model",
            )
        return imported.graph


def fixed_source(path: Path | str, wishes: Overrides) -> FixedSource:
    """The source with the batch set to 1 where nothing is said; other symbols are one error for all."""
    opened = OnnxSource.open(path, wishes)
    loose = {name: t for name, t in opened.inputs.items() if not t.is_static}
    if not loose:
        return FixedSource(opened, str(path))
    batches = batch_symbols(opened.inputs)
    left = sorted(frozenset().union(*(t.symbols for t in loose.values())) - batches)
    if left:
        raise _symbols_left(loose, left, str(path))
    ones = dict.fromkeys(batches, 1)
    shapes = {name: tuple(int(evaluate(dim, ones)) for dim in t.shape) for name, t in loose.items()}
    named = ", ".join(f"'{shown(name)}'" for name in sorted(batches))
    note = f"batch {named} of {_listed(loose)} was set to 1; -b sets another one"
    settled = replace(wishes, input_shapes={**wishes.input_shapes, **shapes}, batch=None, symbols={})
    return FixedSource(OnnxSource.open(path, settled), str(path), (note,))


def batch_symbols(inputs: Mapping[str, TensorType]) -> frozenset[str]:
    """Symbols that stand in first place and nowhere else, or are called so wherever they stand."""
    first: set[str] = set()
    elsewhere: set[str] = set()
    for tensor_type in inputs.values():
        for axis, dim in enumerate(tensor_type.shape):
            if isinstance(dim, Expr):
                (first if axis == 0 else elsewhere).update(dim.symbols)
    return frozenset(name for name in first if name not in elsewhere or _BATCH.search(name))


def _symbols_left(loose: Mapping[str, TensorType], left: Sequence[str], file: str) -> UsageError:
    touched = {name: t for name, t in loose.items() if t.symbols & set(left)}
    shapes = "; ".join(f"{shown(name)} {_dims(t)}" for name, t in touched.items())
    by_symbol = " ".join(f"-s '{shown(name)}' N" for name in left)
    name, tensor_type = next(iter(touched.items()))
    by_shape = (
        f"-d '{shown(name)}' {','.join('N' if isinstance(d, Expr) else str(d) for d in tensor_type.shape)}"
    )
    return UsageError(
        f"{len(left)} symbolic dimension{'s' * (len(left) > 1)} must be numbers, found {shapes}",
        Where(file=file),
        do=f"fix them with {by_symbol}, or by input: {by_shape}",
    )


def _dims(tensor_type: TensorType) -> str:
    return f"[{','.join(str(dim) for dim in tensor_type.shape)}]"


def _listed(loose: Mapping[str, TensorType]) -> str:
    return ", ".join(f"'{shown(name)}'" for name in loose)
