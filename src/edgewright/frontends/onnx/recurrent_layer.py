"""What ONNX's LSTM, GRU and RNN share: weights by gate, states by direction, activations, and the outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.cutting import cut_parts
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim
from edgewright.ops.rearrange import Concat

# An input that our own LSTM has behind those of ONNX's: weights that make outputs of what its units hold.
PROJECTION = 8
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
# Defaults of the activations that take factors: (alpha, beta); None where one takes none.
FACTORS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, None),
    "relu": (None, None),
    "tanh": (None, None),
    "sigmoid": (None, None),
    "softsign": (None, None),
    "softplus": (None, None),
}


@dataclass(frozen=True)
class Activation:
    """An activation by its lower-case name, with its factors where it takes any."""

    name: str
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True)
class Layer:
    """A recurrent node whose inputs have been checked against each other."""

    ctx: Context
    node: SourceNode
    gates: int
    defaults: tuple[str, ...]

    def __post_init__(self) -> None:
        x, weights, recurrent = (self.ctx.type(value) for value in self.node.inputs[:3])
        if x.rank != 3 or weights.rank != 3 or recurrent.rank != 3:
            raise ShapeMismatch(f"x, W and R are {x}, {weights} and {recurrent}, expected three axes each")
        rows, count = self.gates * self.units, len(self.directions)
        self._check("W", self.node.inputs[1], (count, rows, x.shape[2]))
        self._check("R", self.node.inputs[2], (count, rows, self.width))
        self._check("the projection", self.node.input(PROJECTION), (count, self.width, self.units))
        self._check("B", self.node.input(3), (count, 2 * rows))

    @cached_property
    def units(self) -> int:
        """Size of the gates, and of the state where nothing projects it."""
        size = self.ctx.shape(self.node.inputs[2])[-1]
        wanted: int = self.node.attr("hidden_size", size)
        if self.node.input(PROJECTION):
            return wanted
        if not isinstance(size, int) or size != wanted or size < 1:
            raise ShapeMismatch(f"hidden_size is {wanted}, but R has {size} columns", self.node.where)
        return size

    @property
    def width(self) -> Dim:
        """Size of what a step gives and the next one reads."""
        return self.ctx.shape(self.node.inputs[2])[-1]

    @cached_property
    def directions(self) -> tuple[bool, ...]:
        """For each direction, whether it runs from the end to the start."""
        name = self.node.attr("direction", "forward")
        if name not in DIRECTIONS:
            raise BadInput(f"direction is '{name}', expected one of {list(DIRECTIONS)}", self.node.where)
        return DIRECTIONS[name]

    @property
    def time_axis(self) -> int:
        """0, or 1 where the batch comes first."""
        return 1 if self.node.attr("layout", 0) else 0

    @property
    def x(self) -> str:
        """The sequence, [time, batch, width] or [batch, time, width]."""
        return self.node.inputs[0]

    @property
    def clip(self) -> float:
        """Bound of what goes into the activations; 0 for none."""
        return abs(float(self.node.attr("clip", 0.0)))

    @cached_property
    def lengths(self) -> str:
        """Lengths of the sequences, where they are not all as long as the tensor."""
        value = self.node.input(4)
        known = self.ctx.find_array(value) if value else None
        steps = self.ctx.shape(self.x)[self.time_axis]
        return "" if known is not None and isinstance(steps, int) and (known == steps).all() else value

    @cached_property
    def activations(self) -> list[tuple[Activation, ...]]:
        """The activations of each direction."""
        count = len(self.defaults)
        names = self.node.attr("activations") or list(self.defaults) * len(self.directions)
        alphas, betas = (iter(self.node.attr(f"activation_{which}", [])) for which in ("alpha", "beta"))
        if len(names) != count * len(self.directions):
            raise BadInput(
                f"{len(names)} activations are given, expected {count} for each direction", self.node.where
            )
        found = []
        for name in (name.lower() for name in names):
            if name not in FACTORS:
                raise self.ctx.refuse(self.node, f"activation '{name}' is not known")
            alpha, beta = FACTORS[name]
            found.append(
                Activation(
                    name,
                    None if alpha is None else next(alphas, alpha),
                    None if beta is None else next(betas, beta),
                )
            )
        return [tuple(found[i : i + count]) for i in range(0, len(found), count)]

    @cached_property
    def weights(self) -> list[list[str]]:
        """Input weights [units, width] by direction and gate."""
        return self._by_gate(self.node.inputs[1], self.gates)

    @cached_property
    def recurrent(self) -> list[list[str]]:
        """Recurrent weights [units, units] by direction and gate."""
        return self._by_gate(self.node.inputs[2], self.gates)

    @cached_property
    def biases(self) -> list[list[str]]:
        """By direction: the gates' input biases, then their recurrent ones; "" where there are none."""
        value = self.node.input(3)
        if not value:
            return [[""] * (2 * self.gates)] * len(self.directions)
        return self._by_gate(value, 2 * self.gates)

    def vectors(self, value: str, count: int) -> list[list[str]]:
        """``count`` vectors [units] for each direction; "" where the input is left out."""
        if not value:
            return [[""] * count] * len(self.directions)
        self._check("P", value, (len(self.directions), count * self.units))
        return self._by_gate(value, count)

    @cached_property
    def projections(self) -> list[str]:
        """Weights [width, units] by direction; "" where nothing is projected."""
        value, count = self.node.input(PROJECTION), len(self.directions)
        if not value:
            return [""] * count
        flat = self.ctx.reshape(value, (count * self.width, self.units))
        return cut_parts(self.ctx, flat, 0, count)

    def states(self, value: str, size: Dim) -> list[str]:
        """The first state [batch, size] of each direction; "" where it is left out."""
        if not value:
            return [""] * len(self.directions)
        axis, count = self.time_axis, len(self.directions)
        batch = self.ctx.shape(self.x)[1 - axis]
        wanted = (batch, count, size) if axis else (count, batch, size)
        self._check("initial state", value, wanted)
        split = cut_parts(self.ctx, value, axis, count)
        return [self.ctx.reshape(part, (self.ctx.shape(part)[1 - axis], size)) for part in split]

    def joined_sequence(self, sequences: Sequence[str]) -> str:
        """Y: the directions side by side."""
        axis = self.time_axis + 1
        return self._join_values(sequences, axis)

    def joined_states(self, states: Sequence[str]) -> str:
        """Y_h or Y_c: the directions side by side."""
        return self._join_values(states, self.time_axis)

    def _join_values(self, values: Sequence[str], axis: int) -> str:
        shaped = []
        for value in values:
            shape = self.ctx.shape(value)
            shaped.append(self.ctx.reshape(value, (*shape[:axis], 1, *shape[axis:])))
        return shaped[0] if len(shaped) == 1 else self.ctx.emit(Concat(axis=axis), *shaped)

    def _by_gate(self, value: str, count: int) -> list[list[str]]:
        rest = self.ctx.shape(value)[2:]
        total = len(self.directions) * count
        flat = self.ctx.reshape(value, (total * self.units, *rest))
        split = cut_parts(self.ctx, flat, 0, total)
        return [split[i : i + count] for i in range(0, total, count)]

    def _check(self, what: str, value: str, wanted: tuple[Dim, ...]) -> None:
        if not value:
            return
        found = self.ctx.shape(value)
        if len(found) != len(wanted) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(found, wanted, strict=True)
        ):
            raise ShapeMismatch(f"{what} has shape {list(found)}, expected {list(wanted)}", self.node.where)
