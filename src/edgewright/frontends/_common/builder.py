"""Builds an IR graph op by op, folding what is already known: the part all frontends share."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import BadInput, UnsupportedOp, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Expr, Shape, lower_bound, symbol
from edgewright.ir.graph import Graph, Node
from edgewright.ir.limits import check_size
from edgewright.ir.op import Op
from edgewright.ir.symbols import symbols_of
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape, Transpose

# Values up to this size are folded while the graph is built: shape arithmetic, never weights.
SMALL = 1024
# Folding on demand (a parameter that must be known) may look at more, but not at a bomb.
LARGEST_FOLD = 1 << 26
VIEWS = (Transpose, Reshape)


class NeedsValue(Exception):
    """A parameter must be known to build the graph, but it is computed from ``value`` at run time.

    ``is_shape``: the shape of the value is all that is needed.
    """

    def __init__(self, value: str, *, is_shape: bool = False) -> None:
        super().__init__(value)
        self.value = value
        self.is_shape = is_shape


class Builder:
    """A graph under construction and what is known of its values.

    ``emit`` adds an op and returns the name of its first output; small results of known inputs are folded
    through the op's own meaning, with symbolic dimensions as ordinary numbers.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.prefix = ""
        self.source = ""
        self.emitted: list[Node] = []
        self._dims: dict[str, Array] = {}  # object arrays that hold symbolic dimensions
        self._counted: set[str] = set()  # symbols whose number depends on data
        self._scalars: dict[tuple[bytes, str, tuple[int, ...]], str] = {}
        self._dynamic: set[str] = set()  # values that depend on a graph input or on chance

    def type(self, value: str) -> TensorType:
        """Type of a value."""
        if not value:
            raise BadInput("an input is left out, expected a value", do="export the model again")
        return self.graph.types[value]

    def shape(self, value: str) -> Shape:
        """Shape of a value."""
        return self.type(value).shape

    def rank(self, value: str) -> int:
        """Number of dimensions of a value."""
        return len(self.type(value).shape)

    def dtype(self, value: str) -> DType:
        """Datatype of a value."""
        return self.type(value).dtype

    def emit(self, op: Op, *inputs: str, outputs: int = 1) -> str:
        """Adds an op and returns its first output."""
        return self.emit_all(op, *inputs, outputs=outputs)[0]

    def emit_all(self, op: Op, *inputs: str, outputs: int | None = None) -> list[str]:
        """Adds an op and returns all its outputs."""
        _check_given(op, inputs)
        given = [self.graph.types[value] if value else None for value in inputs]
        types = op.types_for(given)
        count = len(types) if outputs is None else outputs
        is_computed = bool(inputs) and op.is_pure and not any(self._is_dynamic(v) for v in inputs if v)
        for tensor_type in types:
            check_size(tensor_type, is_computed=is_computed)
        op.check_constants(given, [self.graph.constants.get(value) for value in inputs])
        if self._counted:
            self._check_params(op)
        folded = self._fold(op, inputs, types[:count])
        followed = self._follow_dims(op, inputs, types[:count]) if folded is None else []
        if followed and not any(array is None or array.dtype == object for array in followed):
            folded = tuple(array for array in followed if array is not None)
        if folded is not None:
            names = [
                self.add_constant(array, tensor_type)
                for array, tensor_type in zip(folded, types, strict=False)
            ]
            if isinstance(op, VIEWS):
                self._remember(names, inputs[0])
            return names
        name = self._choose_node_name(op)
        values = [self.graph.fresh_name(self.prefix or "value") for _ in range(count)]
        node = Node(name, op, list(inputs), values, source=self.source)
        self.graph.add(node, types[:count])
        self.emitted.append(node)
        self._dims.update(
            (value, array) for value, array in zip(values, followed, strict=False) if array is not None
        )
        if not is_computed and (inputs or not op.is_pure):
            self._dynamic.update(values)
        return values

    def add_constant(
        self, array: Array, tensor_type: TensorType | None = None, name: str | None = None
    ) -> str:
        """Adds a constant and returns its name."""
        key = (
            (array.tobytes(), array.dtype.str, array.shape)
            if array.size <= 1 and array.dtype != object
            else None
        )
        if key is not None and name is None and tensor_type is None and key in self._scalars:
            return self._scalars[key]
        value = self.graph.add_constant(
            name or self.graph.fresh_name(self.prefix or "constant"), array, tensor_type
        )
        if key is not None and tensor_type is None:
            self._scalars[key] = value
        return value

    def add_scalar(self, number: float | bool, like: str | DType, rank: int = 0) -> str:
        """A constant of one element in the datatype of another value."""
        dtype = like if isinstance(like, DType) else self.dtype(like)
        return self.add_constant(np.full((1,) * rank, number).astype(dtype.numpy))

    def find_array(self, value: str) -> Array | None:
        """The value as an array where it is constant or follows from constants; None where it does not."""
        if value in self.graph.constants:
            return self.graph.constants[value]
        if value in self._dims or self._is_dynamic(value):
            return None
        return self._evaluate(value)

    def read_array(self, value: str) -> Array:
        """The value as an array; raises NeedsValue where it is not known."""
        self.type(value)
        array = self.find_array(value)
        if array is None:
            raise NeedsValue(value)
        return array

    def read_dims(self, value: str) -> Shape:
        """A vector of integers that may hold symbolic dimensions; raises NeedsValue where it is not known."""
        if value in self._dims:
            dims = tuple(_as_dim(item) for item in self._dims[value].reshape(-1))
            self._check_foreseeable(dims, value)
            return dims
        array = self.read_array(value)
        if array.dtype.kind not in "biu" and not np.all(np.isfinite(array.astype(np.float64))):
            raise BadInput(f"a parameter is {array.tolist()}, expected whole numbers", Where(tensor=value))
        return tuple(int(item) for item in array.reshape(-1))

    def read_ints(self, value: str) -> tuple[int, ...]:
        """A vector of integers that must be numbers."""
        dims = self.read_dims(value)
        if any(isinstance(item, Expr) for item in dims):
            raise NeedsValue(value)
        return tuple(int(item) for item in dims)

    def count_at_run(self, hint: str) -> Expr:
        """A new dimension that only a run can tell: values may have it, no parameter may depend on it."""
        name = self.graph.fresh_name(f"{hint}_count")
        self._counted.add(name)
        return symbol(name)

    def set_dims(self, value: str, dims: Sequence[Dim]) -> None:
        """Says that a value holds these dimensions."""
        array = np.empty(len(dims), object)
        array[:] = list(dims)
        self._dims[value] = array

    def list_symbols(self, value: str) -> frozenset[str]:
        """Names of the symbols that a vector of dimensions depends on; none where the value is no such."""
        items = self._dims[value].reshape(-1) if value in self._dims else ()
        return frozenset().union(*(item.symbols for item in items if isinstance(item, Expr)))

    def rename(self, old: str, new: str) -> None:
        """Gives a produced value another name, here and in the graph."""
        self.graph.rename_value(old, new)
        if old in self._dims:
            self._dims[new] = self._dims.pop(old)
        if old in self._dynamic:
            self._dynamic.discard(old)
            self._dynamic.add(new)

    def reshape(self, value: str, shape: Sequence[Dim]) -> str:
        """The value in another shape; itself where that is its shape already."""
        if tuple(shape) == self.shape(value):
            return value
        return self.emit(Reshape(shape=tuple(shape)), value)

    def transpose(self, value: str, order: Sequence[int]) -> str:
        """The value with its axes in another order; itself where that changes nothing."""
        if tuple(order) == tuple(range(len(order))):
            return value
        return self.emit(Transpose(perm=tuple(order)), value)

    def move_channels_last(self, value: str) -> str:
        """N, C, spatial... to N, spatial..., C."""
        rank = self.rank(value)
        return self.transpose(value, (0, *range(2, rank), 1))

    def move_channels_first(self, value: str) -> str:
        """N, spatial..., C to N, C, spatial..."""
        rank = self.rank(value)
        return self.transpose(value, (0, rank - 1, *range(1, rank - 1)))

    def _choose_node_name(self, op: Op) -> str:
        """The source node's own name for the op that it is; moves around it say what they are."""
        base = self.source or self.prefix or type(op).__name__
        name = f"{base}_{type(op).__name__}" if isinstance(op, VIEWS) else base
        return self.graph.free_name(name)

    def _remember(self, values: Sequence[str], source: str) -> None:
        """A constant in another layout keeps the name that the source model has for it."""
        for value in values:
            self.graph.source_names.setdefault(value, self.graph.source_names.get(source, source))

    def _check_params(self, op: Op) -> None:
        """No parameter may hold a size that only a run can tell; a reshape can leave one such size open."""
        if isinstance(op, Reshape):
            counted = [dim for dim in op.shape if isinstance(dim, Expr) and dim.symbols & self._counted]
            self._check_foreseeable(tuple(counted[1:]), "")
        for param in op.params():
            counted_symbols = symbols_of(param.value) & self._counted
            self._check_foreseeable(tuple(symbol(name) for name in sorted(counted_symbols)), "")

    def _check_foreseeable(self, dims: Shape, value: str) -> None:
        counted = [dim for dim in dims if isinstance(dim, Expr) and dim.symbols & self._counted]
        if counted:
            raise UnsupportedOp(
                f"a parameter depends on the size '{counted[0]}', which only a run can tell",
                Where(tensor=value or None),
                do="cut the graph where that size arises (NonZero, Compress ...), or make it a constant",
            )

    def _fold(self, op: Op, inputs: Sequence[str], types: Sequence[TensorType]) -> tuple[Array, ...] | None:
        if not (op.is_pure and op.is_foldable and op.has_reference() and inputs):
            return None
        if not all(value in self.graph.constants or not value for value in inputs):
            return None
        sizes = [t.count for t in (*types, *(self.type(v) for v in inputs if v))]
        if not all(t.is_static for t in types):
            return None
        if isinstance(op, VIEWS) or all(isinstance(size, int) and size <= SMALL for size in sizes):
            return self._compute(op, [self.graph.constants[v] if v else None for v in inputs])
        return None

    def _compute(self, op: Op, arrays: Sequence[Array | None]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return op.values_for(arrays)

    def _follow_dims(self, op: Op, inputs: Sequence[str], types: Sequence[TensorType]) -> list[Array | None]:
        """Follows symbolic dimensions through integer arithmetic; empty where there are none."""
        if not any(value in self._dims for value in inputs) or any(_is_long(t.count) for t in types):
            return []
        arrays = [self._dims.get(v, self.graph.constants.get(v)) if v else None for v in inputs]
        if any(array is None and value for array, value in zip(arrays, inputs, strict=True)):
            return []
        try:
            with np.errstate(all="ignore"):
                results = op.compute(*arrays)  # type: ignore[arg-type]
        except (TypeError, ValueError, AttributeError, IndexError):
            return []
        return [_settle_dims(array, t, arrays) for array, t in zip(results, types, strict=False)]

    def _is_dynamic(self, value: str) -> bool:
        return value in self._dynamic or (
            value not in self.graph.constants and self.graph.producer(value) is None
        )

    def _evaluate(self, value: str) -> Array | None:
        """Computes a value from constants alone; None where an op has no reference or a result is huge."""
        nodes = self._list_producers(value)
        if any(not node.op.has_reference() for node in nodes) or self._is_huge(nodes):
            return None
        arrays_by_value: dict[str, Array] = {}
        for node in nodes:
            arrays = [
                None if not v else arrays_by_value[v] if v in arrays_by_value else self.graph.constants[v]
                for v in node.inputs
            ]
            arrays_by_value.update(zip(node.outputs, self._compute(node.op, arrays), strict=False))
        return arrays_by_value[value]

    def _list_producers(self, value: str) -> list[Node]:
        """The nodes a value is computed by, in an order that can run."""
        order: dict[str, Node] = {}
        pending = [self.graph.producer(value)]
        while pending:
            node = pending[-1]
            before = [] if node is None else [self.graph.producer(v) for v in node.inputs if v]
            missing = [other for other in before if other is not None and other.name not in order]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if node is not None:
                order.setdefault(node.name, node)
        return list(order.values())

    def _is_huge(self, nodes: Sequence[Node]) -> bool:
        counts = [tensor_type.count for node in nodes for tensor_type in self.graph.output_types(node)]
        return any(not isinstance(count, int) for count in counts) or sum(map(int, counts)) > LARGEST_FOLD


def _is_long(count: Dim) -> bool:
    return not isinstance(count, int) or count > SMALL


def _check_given(op: Op, inputs: Sequence[str]) -> None:
    """No gap where the op needs an input: shape rules and meanings do not expect one."""
    ports = [*op.inputs, *op.inputs[-1:] * (len(inputs) - len(op.inputs))]
    missing = [p.name for p, value in zip(ports, inputs, strict=False) if p.is_required and not value]
    if missing:
        raise BadInput(
            f"input '{missing[0]}' of {op.qnn_name()} is left out, expected a value",
            do="export the model again",
        )


def _as_dim(item: object) -> Dim:
    return item if isinstance(item, Expr) else int(item)  # type: ignore[call-overload]


def _settle_dims(result: Array, tensor_type: TensorType, arrays: Sequence[Array | None]) -> Array | None:
    """A followed result: plain numbers where no symbol is left, None where it cannot be trusted."""
    if not isinstance(result, np.ndarray) or tensor_type.dtype.is_float:
        return None
    if result.dtype != object:
        return result if _is_decided(arrays) else None
    if any(isinstance(item, Expr) for item in result.reshape(-1)):
        return result
    return result.astype(tensor_type.dtype.numpy)


def _is_decided(arrays: Sequence[Array | None]) -> bool:
    """Whether a comparison of two arrays of dimensions comes out the same for every value of the symbols."""
    left, right = arrays if len(arrays) == 2 else (None, None)
    if left is None or right is None:
        return False
    gaps = (_as_dim(a) - _as_dim(b) for a, b in np.broadcast(left, right))
    return all(isinstance(gap, int) or max(_find_minimum(gap), _find_minimum(gap * -1)) > 0 for gap in gaps)


def _find_minimum(dim: Dim) -> int:
    low = lower_bound(dim)
    return 0 if low is None else low
