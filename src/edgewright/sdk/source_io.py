"""What the converters share about a source's ends: names that must exist, layouts, the copyright text."""

from collections.abc import Iterable, Sequence

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, EdgewrightError, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.words import did_you_mean
from edgewright.frontends._common.imported import State
from edgewright.frontends._common.source_model import SourceModel
from edgewright.ir.graph import Graph
from edgewright.ops.rearrange import Transpose
from edgewright.passes.layout.orders import order_channel_first, order_channel_last

__all__ = [
    "CHANNEL_FIRST",
    "copyright_text",
    "full_names",
    "is_channel_first",
    "state_notes",
    "unknown_names",
]

CHANNEL_FIRST = {3: "NCF", 4: "NCHW", 5: "NCDHW"}
LARGEST_COPYRIGHT = 1 << 20


def is_channel_first(graph: Graph, name: str) -> bool:
    """Whether the network itself turns the tensor: then its axes have the meaning that ONNX gives them."""
    rank = graph.types[name].rank
    maker = graph.producer(name)
    if maker is not None:
        return isinstance(maker.op, Transpose) and maker.op.perm == order_channel_first(rank)
    readers = graph.consumers(name)
    wanted = order_channel_last(rank)
    return bool(readers) and all(isinstance(r.op, Transpose) and r.op.perm == wanted for r in readers)


def full_names(ends: Iterable[str]) -> dict[str, str]:
    """Inputs or outputs by what a user may call them: TensorFlow's :0 may be left out."""
    names = list(ends)
    return {**{name.removesuffix(":0"): name for name in names}, **{name: name for name in names}}


def unknown_names(field: str, names: Iterable[str], known: Sequence[str], kind: str) -> list[EdgewrightError]:
    """A problem for each name that the option for a field gives and the model does not have."""
    return [
        UsageError(
            f"{spell_option(field)} names the {kind} '{shown(name)}', which the model does not have",
            do=did_you_mean(name, known, f"use one of: {', '.join(shown(k, 60) for k in known[:10])}"),
        )
        for name in names
        if name not in known
    ]


def state_notes(source: SourceModel) -> list[str]:
    """How to carry each variable of the source from run to run."""
    return [
        f"variable '{shown(state.input)}' is an input and an output: give it '{shown(state.output)}' of the "
        f"run before, and {_first_value(state)} at first"
        for state in source.states
    ]


def _first_value(state: State) -> str:
    encoding = state.tensor_type.encoding
    numbers = np.unique(state.first if encoding is None else encoding.decode(state.first))
    return f"{numbers[0]:g}" if numbers.size == 1 else "the values that the model starts with"


def copyright_text(file: str | None) -> str:
    """The text of a copyright file; empty where none is given."""
    if file is None:
        return ""
    try:
        return read_limited(file, LARGEST_COPYRIGHT).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"the copyright file is not UTF-8 text (byte {problem.start})",
            Where(file=file),
            do="save it as UTF-8",
        ) from None
