"""What every op is: ports, typed parameters, a shape rule, a numpy meaning, samples and traits."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.registry import Registry
from edgewright.ir.encodings import Encoding
from edgewright.ir.traits import EVERYTHING, EncodingRule, HtpPrecision, HtpWork, Range, Roles
from edgewright.ir.types import TensorType

ANY = frozenset(DType)
FIXED_POINTS = frozenset(dtype for dtype in DType if dtype.is_fixed_point)
FLOATS = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer)
NUMERIC = FLOATS | INTEGERS | FIXED_POINTS
# What numpy raises for invalid parameters or values.
FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Port:
    """One input or output of an op."""

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


def scalar(dtype: DType, default: Any = MISSING) -> Any:
    """A dataclass field that is a scalar QNN parameter; None means not given."""
    return field(default=default, metadata={"param": (dtype, False)})


def tensor(dtype: DType, default: Any = MISSING) -> Any:
    """A dataclass field that is a tensor QNN parameter (nested tuples); None means not given."""
    return field(default=default, metadata={"param": (dtype, True)})


def structural(default: Any = MISSING) -> Any:
    """A dataclass field that QNN does not store: lift restores it by ``Op.read_structure``."""
    return field(default=default, metadata={"structural": True})


@dataclass(frozen=True, kw_only=True)
class Op:
    """Base of all ops. Subclasses are frozen dataclasses whose fields are the parameters.

    What is true of an op stands here as a trait, with the default of most ops; passes, quantizer, backends
    and reports ask the op instead of listing ops. An op that stands for another (ElementWiseNeuron) has the
    traits of ``specific()``.
    """

    inputs: ClassVar[tuple[Port, ...]] = (Port("in[0]"),)
    outputs: ClassVar[tuple[Port, ...]] = (Port("out[0]"),)
    # What a quantizer may do with the output's encoding.
    encoding_rule: ClassVar[EncodingRule] = EncodingRule.FREE
    # Whether the result may be computed ahead of time (random ops and the like say no).
    is_pure: ClassVar[bool] = True
    # Whether a known result may replace the op (not where the op defines what an encoding means).
    is_foldable: ClassVar[bool] = True
    # Whether it works on stored numbers rather than the real numbers they stand for (Cast, Quantize).
    is_encoder: ClassVar[bool] = False
    # Whether it multiplies in[0] by the weights in in[1], sums up, and adds the bias in in[2].
    is_product: ClassVar[bool] = False
    # Whether each channel is convolved by itself.
    is_depthwise: ClassVar[bool] = False
    # The smallest and the largest possible output; use ``value_range``.
    limits: ClassVar[Range] = EVERYTHING
    # Whether it chooses the largest or smallest elements: it keeps their encoding, but does not only move.
    is_selection: ClassVar[bool] = False
    # Whether it clamps its input to ``value_range`` (Relu and similar).
    is_clamp: ClassVar[bool] = False
    # Whether the result is a probability or its logarithm: the scores that it is computed from say more.
    is_probability: ClassVar[bool] = False
    # Whether elements far below the others have no effect, so that a mask may push them there (Softmax).
    ignores_masked: ClassVar[bool] = False
    # Which way the result goes as each input grows: 1 up, -1 down, 0 where it is no number (a condition).
    # None where that depends on the numbers; what a mask pushes far out stays far out behind such an op.
    slopes: ClassVar[tuple[int, ...] | None] = None
    # Whether finite numbers may become NaN (0 / 0, a logarithm of -1).
    may_make_nan: ClassVar[bool] = False
    # Whether 8 bits lose so much of the result that it must stay in floating point.
    is_fragile: ClassVar[bool] = False
    # Whether norms and statistics are spelled out with it: next to a fragile op it stays float as well.
    is_arithmetic: ClassVar[bool] = False
    # Inputs whose channel factors are kept: scaling a channel of the last axis scales it in the output.
    scaled_inputs: ClassVar[tuple[int, ...]] = ()
    # The numbers that it is computed in when a model is quantized for the HTP.
    htp_precision: ClassVar[HtpPrecision] = HtpPrecision.FIXED_POINT
    # What it costs there where it is no product.
    htp_work: ClassVar[HtpWork] = HtpWork.ELEMENTS
    # Whether the HTP rounds floats in the middle between two of 11 bits to the even one, not away from zero.
    has_even_ties_on_htp: ClassVar[bool] = True
    # Whether the HTP computes it from the float32 sums of the product before it, not from their 11 bits.
    reads_whole_sums_on_htp: ClassVar[bool] = False
    # Whether the HTP computes it from the full sums of the product before it, not from their 8 bits.
    is_fused_on_htp: ClassVar[bool] = False
    # Whether the HTP computes it with the product before it: sums times a gate.
    is_gated_on_htp: ClassVar[bool] = False
    # Whether the HTP stores its results in the encoding of the Relu right behind it, not in its own.
    is_rectified_on_htp: ClassVar[bool] = False
    # Whether HTP has a table for it where it is a function of one value of 8 bits.
    is_tabulated_on_htp: ClassVar[bool] = False
    # Whether the HTP takes 4-bit weights with 8-bit and 16-bit activations (measured on the library).
    takes_4_bit_weights: ClassVar[bool] = False

    @classmethod
    def qnn_name(cls) -> str:
        """Name of the op in QNN."""
        return cls.__name__

    def display_name(self) -> str:
        """The name that a user knows: QNN's, or the source's where QNN has none."""
        return self.qnn_name()

    def specific(self) -> "Op":
        """The op that has the meaning: itself, unless it stands for another one."""
        return self

    @property
    def keeps_encoding(self) -> bool:
        """Whether elements are passed on unchanged, so that the output has the encoding of the input."""
        return self.specific().encoding_rule == EncodingRule.SAME_AS_INPUT

    @classmethod
    def only_moves(cls) -> bool:
        """Whether it gives elements another place and computes nothing."""
        return cls.encoding_rule == EncodingRule.SAME_AS_INPUT and not cls.is_selection

    @property
    def has_fixed_types(self) -> bool:
        """Whether its purpose is the types of its tensors, so that a quantizer must keep them."""
        return self.is_encoder

    @property
    def has_rows(self) -> bool:
        """Whether weights are [out, in] rather than [in, out]."""
        return False

    def value_range(self) -> Range:
        """``limits``, unless parameters narrow them."""
        return self.limits

    def active_range(self, tolerance: float) -> Range:
        """The range of inputs that matter: beyond it the output is flat within the tolerance."""
        del tolerance
        return EVERYTHING

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """Whether HTP's library computes something else in these fixed-point types, and not in floats."""
        del inputs
        return False

    def find_htp_encoding(self, result: TensorType) -> Encoding | None:
        """Which encoding HTP's library wants for a result instead of its own; None where it takes that."""
        del result
        return None

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """Which inputs are weights and biases, where they are constants."""
        del inputs
        return Roles()

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
        """Types of the outputs for types of the inputs. An optional input left out is None."""
        raise NotImplementedError(f"{type(self).__name__} has no shape rule")

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The reference, in plain numpy; slow is fine. An optional input left out is None."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Refuses values that no run could use; ``known`` has None where an input is not constant."""
        del types, known

    def begin_session(self) -> Self:
        """The op as one session runs it: itself, unless it remembers something from run to run."""
        return self

    def types_for(self, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
        """``infer`` with optional inputs left out as None."""
        return self.infer(*inputs)  # type: ignore[arg-type]

    def values_for(self, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
        """``compute`` with optional inputs left out as None; values it cannot handle are an error."""
        try:
            return self.compute(*inputs)  # type: ignore[arg-type]
        except MemoryError:
            raise LimitExceeded(
                f"{self.qnn_name()} needs more memory than is available",
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
        """Whether the op has ``compute``."""
        return cls.compute is not Op.compute

    @classmethod
    def samples(cls) -> Iterator["Sample"]:
        """Examples for tests, docs and coverage tables."""
        yield from ()

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Values of the structural fields, derived from the tensors of a stored node."""
        del inputs, outputs
        return {}

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The op for inputs transposed by ``order`` so that its outputs are transposed by ``order``.

        The list tells which inputs must be transposed (the others are given as they are).
        None: the op depends on its layout.
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
    """The optional input at ``index``; None if it is left out or beyond the end of the list."""
    return inputs[index] if index < len(inputs) else None


def register(cls: type[T]) -> type[T]:
    """Puts an op into the catalogue under its QNN name."""
    REGISTRY.add(cls.qnn_name(), cls)
    return cls


def part_of_another(cls: type[T]) -> type[T]:
    """Makes an op that is not in the catalogue known to the text form."""
    PARTS[cls.qnn_name()] = cls
    return cls
