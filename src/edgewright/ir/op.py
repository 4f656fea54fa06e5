"""What every op is: ports, typed parameters, a shape rule, a numpy meaning, samples and traits."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.registry import Registry
from edgewright.ir.types import TensorType

__all__ = [
    "ANY",
    "FAULTS",
    "FLOATS",
    "INTEGERS",
    "NUMERIC",
    "PARTS",
    "REGISTRY",
    "EncodingRule",
    "Op",
    "Param",
    "Port",
    "Sample",
    "given",
    "part_of_another",
    "register",
    "scalar",
    "structural",
    "tensor",
]

ANY = frozenset(DType)
FIXED_POINTS = frozenset(dtype for dtype in DType if dtype.is_fixed_point)
FLOATS = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer)
NUMERIC = FLOATS | INTEGERS | FIXED_POINTS
# What nonsense in parameters or values makes numpy raise.
FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Port:
    """One input or output place of an op."""

    name: str
    dtypes: frozenset[DType] = ANY
    rank: int | None = None
    is_required: bool = True
    is_repeated: bool = False


@dataclass(frozen=True)
class Param:
    """One parameter as QNN sees it: a scalar, or a small tensor as nested tuples."""

    name: str
    dtype: DType
    value: Any
    is_tensor: bool


class EncodingRule(Enum):
    """What a quantizer may do with an op's output encoding."""

    FREE = "free"
    SAME_AS_INPUT = "same as input"
    FIXED = "fixed"


def scalar(dtype: DType, default: Any = MISSING) -> Any:
    """A dataclass field that is a scalar QNN parameter; None means not given."""
    return field(default=default, metadata={"param": (dtype, False)})


def tensor(dtype: DType, default: Any = MISSING) -> Any:
    """A dataclass field that is a tensor QNN parameter (nested tuples); None means not given."""
    return field(default=default, metadata={"param": (dtype, True)})


def structural(default: Any = MISSING) -> Any:
    """A dataclass field that QNN does not store: lift restores it from the tensors (``Op.structure``)."""
    return field(default=default, metadata={"structural": True})


@dataclass(frozen=True, kw_only=True)
class Op:
    """Base of all ops. Subclasses are frozen dataclasses whose fields are the parameters."""

    inputs: ClassVar[tuple[Port, ...]] = (Port("in[0]"),)
    outputs: ClassVar[tuple[Port, ...]] = (Port("out[0]"),)
    encoding_rule: ClassVar[EncodingRule] = EncodingRule.FREE
    # Whether the result may be computed ahead of time (random ops and the like say no).
    is_pure: ClassVar[bool] = True
    # Whether a result that is known may stand for the op (not where the op says what an encoding means).
    is_foldable: ClassVar[bool] = True

    @classmethod
    def qnn_name(cls) -> str:
        """Name of the op in QNN."""
        return cls.__name__

    def params(self) -> list[Param]:
        """The parameters QNN stores, in declaration order, without those not given."""
        found = []
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if "param" in item.metadata and value is not None:
                dtype, is_tensor = item.metadata["param"]
                found.append(Param(item.name, dtype, value, is_tensor))
        return found

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Types of the outputs for types of the inputs. An optional input left out comes as None."""
        raise NotImplementedError(f"{type(self).__name__} has no shape rule")

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The meaning, in plain numpy; slow is fine. An optional input left out comes as None."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def types_for(self, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
        """``infer`` with optional inputs left out as None."""
        return self.infer(*inputs)  # type: ignore[arg-type]

    def values_for(self, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
        """``compute`` with optional inputs left out as None; values it cannot cope with are an error."""
        try:
            return self.compute(*inputs)  # type: ignore[arg-type]
        except MemoryError:
            raise LimitExceeded(
                f"{self.qnn_name()} needs more memory than there is",
                Where(op=self.qnn_name()),
                do="free memory, or use smaller inputs",
            ) from None
        except FAULTS as found:
            raise BadInput(
                f"{self.qnn_name()} cannot be computed ({type(found).__name__}: {shown(found)})",
                Where(op=self.qnn_name()),
                do="check its parameters and the values of its inputs; if they are right, report it",
            ) from found

    def canonical(self) -> "Op":
        """The one form of this meaning that the IR keeps; QNN has synonyms."""
        return self

    @classmethod
    def has_reference(cls) -> bool:
        """Whether ``compute`` says what the op means."""
        return cls.compute is not Op.compute

    @classmethod
    def samples(cls) -> Iterator["Sample"]:
        """Examples from which tests, docs and coverage tables are made."""
        yield from ()

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Values of the structural fields, read off the tensors of a stored node."""
        del inputs, outputs
        return {}

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The op for inputs transposed by ``order`` so that its outputs come out transposed by ``order``.

        The list tells which inputs must be transposed (the others are given as they are).
        None: the op cares for its layout.
        """
        del order, inputs
        return None

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """Multiply-accumulates of one run (0 unless the op is made of them)."""
        del inputs, outputs
        return 0


@dataclass(frozen=True)
class Sample:
    """An op with inputs: types are filled with random data, arrays are given as they are, None is absent."""

    label: str
    op: Op
    inputs: tuple[TensorType | Array | None, ...]


T = TypeVar("T", bound=Op)
X = TypeVar("X")
REGISTRY: Registry[str, type[Op]] = Registry("op")
# Ops that QNN has only as an operation of another one: no artifact names them, the text form does.
PARTS: dict[str, type[Op]] = {}


def given(inputs: Sequence[X], index: int) -> X | None:
    """The optional input at ``index``; None where it is left out or the list ends before it."""
    return inputs[index] if index < len(inputs) else None


def register(cls: type[T]) -> type[T]:
    """Puts an op into the catalogue under its QNN name."""
    REGISTRY.add(cls.qnn_name(), cls)
    return cls


def part_of_another(cls: type[T]) -> type[T]:
    """Lets the text form name an op that is not in the catalogue."""
    PARTS[cls.qnn_name()] = cls
    return cls
