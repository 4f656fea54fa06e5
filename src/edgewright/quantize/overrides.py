"""Encodings that a file, or the source model itself, gives: found in the graph, checked, and pinned."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from edgewright.core.errors import EdgewrightError, Problems, UsageError, Where, shown
from edgewright.core.numbers import DType
from edgewright.core.words import did_you_mean
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.traits import Roles
from edgewright.ir.types import TensorType
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.roles import find_roles
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding, make_entry

ACTIVATION_WIDTHS = (8, 16)
WEIGHT_WIDTHS = (4, 8, 16)
BIAS_WIDTHS = (8, 16, 32)
FLOAT_WIDTHS = (16, 32)


@dataclass
class ResolvedEncodings:
    """Pins by value, and the names of a file that no value of the graph has any more."""

    pins: dict[str, Pin] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class KnownEncodings:
    """What is known of a graph's tensors before it is quantized."""

    # Encodings that the source model itself had.
    source: Sequence[TensorEncoding] = ()
    # The names of all of its tensors: overrides of one that is gone are ignored.
    tensors: Collection[str] = ()
    # What was found in the graph already; it comes before all else.
    resolved: ResolvedEncodings = field(default_factory=ResolvedEncodings)

    def resolve(self, graph: Graph, overrides: EncodingSet | None) -> ResolvedEncodings:
        """Pins for a graph: overrides come before what the source model had."""
        own = resolve_encodings(graph, self.source, origin=Origin.SOURCE)
        given = resolve_encodings(graph, overrides.tensors if overrides else (), self.tensors)
        return ResolvedEncodings(
            {**own.pins, **given.pins, **self.resolved.pins}, [*given.ignored, *self.resolved.ignored]
        )


def resolve_encodings(
    graph: Graph,
    tensors: Iterable[TensorEncoding],
    known: Collection[str] = (),
    *,
    origin: str = Origin.FILE,
) -> ResolvedEncodings:
    """Finds the values that entries name and checks that they fit; all problems are reported together.

    ``known`` are the names of the source model: an entry for one of them whose value was folded away is
    ignored and listed, a name that nobody knows is an error.
    """
    names, gone = _map_names(graph), {*known, *graph.source_names.values()}
    uses = _Uses(graph)
    resolved = ResolvedEncodings()
    problems: list[EdgewrightError] = []
    for tensor in tensors:
        values = names.get(tensor.name, [])
        # What the model itself brought was there; conversion may have folded it away since. What another
        # conversion added, this one may not add.
        if not values and (tensor.name in gone or tensor.is_added or origin == Origin.SOURCE):
            resolved.ignored.append(tensor.name)
        elif not values:
            problems.append(_make_unknown_error(tensor.name, names.keys() | gone))
        for value in values:
            if _is_stored_so(graph.types[value], tensor):
                continue
            try:
                resolved.pins[value] = _pin(graph, value, tensor, uses, origin)
            except EdgewrightError as problem:
                problems.append(problem)
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return resolved


class _Uses:
    """What constants are to the nodes that read them."""

    def __init__(self, graph: Graph) -> None:
        self._weights: dict[str, Roles] = {}
        self._biases: set[str] = set()
        for node in graph.nodes:
            roles = find_roles(graph, node)
            self._weights.update(dict.fromkeys((node.inputs[p] for p in roles.weights), roles))
            self._biases.update(node.inputs[place] for place in roles.biases)

    def find_roles(self, value: str) -> Roles | None:
        """The roles of the node whose weights a value is."""
        return self._weights.get(value)

    def list_widths(self, graph: Graph, value: str) -> tuple[int, ...]:
        """The widths that a value may have."""
        if value in self._weights:
            return WEIGHT_WIDTHS
        if value in self._biases:
            return BIAS_WIDTHS
        return (*WEIGHT_WIDTHS, 32) if value in graph.constants else ACTIVATION_WIDTHS

    def find_axis(self, graph: Graph, value: str, count: int) -> int | None:
        """The axis of a constant that has so many channels."""
        roles, shape = self.find_roles(value), graph.types[value].shape
        if roles is not None and roles.axis is not None:
            return roles.axis if shape[roles.axis] == count else None
        fitting = [axis for axis, size in enumerate(shape) if size == count]
        return fitting[-1] if fitting else None


def _is_stored_so(tensor_type: TensorType, tensor: TensorEncoding) -> bool:
    """Whether the model itself stores a tensor in this encoding: there is nothing to quantize."""
    if tensor_type.encoding is None or tensor.is_float:
        return False
    entry = make_entry(tensor.name, tensor_type, is_param=bool(tensor.is_param))
    return (entry.bits, entry.scales, entry.offsets) == (tensor.bits, tensor.scales, tensor.offsets)


def _pin(graph: Graph, value: str, tensor: TensorEncoding, uses: _Uses, origin: str) -> Pin:
    widths = FLOAT_WIDTHS if tensor.is_float else uses.list_widths(graph, value)
    if tensor.bits not in widths:
        kind = "float" if tensor.is_float else "parameter" if value in graph.constants else "activation"
        raise _make_misfit_error(
            tensor, f"the encoding has {tensor.bits} bits, expected one of {list(widths)} for this {kind}"
        )
    if not graph.types[value].dtype.is_float:
        raise _make_misfit_error(
            tensor, f"the tensor is {graph.types[value]}, expected floating point to quantize"
        )
    if tensor.is_float:
        return Pin(tensor.bits, Placed(DType[f"FLOAT_{tensor.bits}"]), origin)
    if tensor.is_wish:
        return Pin(tensor.bits, None, origin)
    return Pin(tensor.bits, _make_placed(graph, value, tensor, uses), origin)


def _make_placed(graph: Graph, value: str, tensor: TensorEncoding, uses: _Uses) -> Placed:
    if value not in graph.constants:
        if len(tensor.scales) > 1 or tensor.block_size:
            what = f"{len(tensor.scales)} encodings are given for an activation, expected one"
            raise _make_misfit_error(tensor, what)
        return _place_whole(tensor, is_activation=True)
    if tensor.block_size:
        return _place_blocks(graph, value, tensor, uses)
    # A weight of one channel has a list of one: that is an encoding for the whole too.
    if len(tensor.scales) == 1:
        return _place_whole(tensor, is_activation=False)
    offsets, is_symmetric = tensor.convert_to_signed()
    if not is_symmetric:
        half = 1 << (tensor.bits - 1)
        wrong = next(offset for offset in tensor.offsets if offset != -half)
        raise _make_misfit_error(
            tensor, f"a channel has the offset {wrong}, expected {-half}: channels are symmetric"
        )
    axis = uses.find_axis(graph, value, len(tensor.scales))
    if axis is None:
        raise _make_count_error(graph, value, tensor, uses)
    return Placed(_get_signed_type(tensor.bits), Encoding(tensor.scales, offsets, axis, tensor.bits))


def _place_whole(tensor: TensorEncoding, *, is_activation: bool) -> Placed:
    offsets, is_symmetric = tensor.convert_to_signed()
    if is_symmetric and not is_activation:
        return Placed(_get_signed_type(tensor.bits), Encoding(tensor.scales, offsets, None, tensor.bits))
    if tensor.bits == 32:
        raise _make_misfit_error(
            tensor, f"the offset is {tensor.offsets[0]}, expected a symmetric encoding in 32 bits"
        )
    dtype = DType[f"UFIXED_POINT_{max(tensor.bits, 8)}"]
    return Placed(dtype, Encoding(tensor.scales, tensor.offsets, None, tensor.bits))


def _place_blocks(graph: Graph, value: str, tensor: TensorEncoding, uses: _Uses) -> Placed:
    roles, shape = uses.find_roles(value), graph.types[value].static_shape()
    if roles is None or roles.axis is None or roles.block_axis is None:
        raise _make_misfit_error(tensor, "blocks are given for a tensor without input and output channels")
    count = shape[roles.axis] * -(-shape[roles.block_axis] // tensor.block_size)
    given = len(tensor.block_scales or tensor.scales)
    if given != count or (tensor.block_scales and len(tensor.scales) != shape[roles.axis]):
        what = f"{given} blocks of {tensor.block_size} are given, expected {count} for {list(shape)}"
        raise _make_misfit_error(tensor, what)
    offsets, is_symmetric = tensor.convert_to_signed()
    if not is_symmetric:
        raise _make_misfit_error(tensor, "the blocks are asymmetric, expected symmetric ones")
    encoding = Encoding(
        *(tensor.scales, offsets, roles.axis, tensor.bits),
        *(roles.block_axis, tensor.block_size, bytes(tensor.block_scales)),
    )
    return Placed(_get_signed_type(tensor.bits), encoding)


def _get_signed_type(bits: int) -> DType:
    return DType[f"SFIXED_POINT_{max(bits, 8)}"]


def _map_names(graph: Graph) -> dict[str, list[str]]:
    """Values by the source model's names for them; several may be one tensor in other layouts."""
    names: dict[str, list[str]] = {}
    for value in graph.types:
        names.setdefault(graph.source_names.get(value, value), []).append(value)
    return names


def _make_unknown_error(name: str, known: Collection[str]) -> UsageError:
    return UsageError(
        f"the encodings name the tensor '{shown(name)}', which the model does not have",
        do=did_you_mean(name, known, "use the names of the source model's tensors"),
    )


def _make_misfit_error(tensor: TensorEncoding, what: str) -> UsageError:
    return UsageError(what, Where(tensor=tensor.name), do="correct the entry in the encodings file")


def _make_count_error(graph: Graph, value: str, tensor: TensorEncoding, uses: _Uses) -> UsageError:
    roles, shape = uses.find_roles(value), graph.types[value].static_shape()
    expected = (
        f"{shape[roles.axis]} channels" if roles is not None and roles.axis is not None else f"{list(shape)}"
    )
    return _make_misfit_error(
        tensor, f"{len(tensor.scales)} encodings are given, expected one, or one for each of {expected}"
    )
