"""A model as a viewer shows it, whatever file it came from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding

# The kinds of nodes that a picture has.
OP, INPUT, OUTPUT = "op", "input", "output"


@dataclass(frozen=True, eq=False)
class ViewTensor:
    """A value, a weight, or an input or output; what is not known of it is empty."""

    name: str
    dtype: str = ""
    # None where not even the rank is known; an open dimension is a text.
    shape: tuple[int | str, ...] | None = None
    encoding: Encoding | None = None
    # What an encoding says that is not in the file's own terms (a range, a width that is only wished for).
    encoding_text: str = ""
    # Its name in the source model, where that is another one.
    source: str = ""
    # Constants only: the stored elements, read when somebody looks at them.
    load: Callable[[], Array] | None = None
    channel_axis: int = -1
    # Results only: how their elements are distributed over samples.
    values: dict[str, Any] | None = None


@dataclass(frozen=True)
class ViewNode:
    """One op; inputs and outputs are names of tensors ("" where one is left out)."""

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: tuple[tuple[str, str], ...] = ()
    # Its name in the source model: what it is grouped and matched by.
    source: str = ""
    # Where the op is defined, if not in the format's own set.
    package: str = ""
    macs: int | None = None
    # What a reader must know of it, such as why it does not convert.
    note: str = ""


@dataclass(frozen=True, eq=False)
class ViewGraph:
    """Nodes in an order that can run, and the tensors between them."""

    name: str
    tensors: dict[str, ViewTensor]
    nodes: tuple[ViewNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Overlay:
    """A number for each of some nodes, which colours the picture."""

    key: str
    title: str
    # By the name of the node.
    values: dict[str, float]
    unit: str = ""
    # Whether a small number is the one to look at (decibels, bits).
    is_low_worse: bool = False
    # Where the slider stands at first; None: at the worst tenth.
    threshold: float | None = None


@dataclass(frozen=True)
class Diff:
    """What a comparison says of single nodes: rows of the panel, by the name of the node."""

    rows: dict[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, eq=False)
class ViewModel:
    """A file with everything that its page shows."""

    title: str
    format: str
    graphs: tuple[ViewGraph, ...]
    # Rows of the panel about the model as a whole.
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    # By the name of the graph.
    overlays: dict[str, tuple[Overlay, ...]] = field(default_factory=dict)
    diffs: dict[str, Diff] = field(default_factory=dict)
