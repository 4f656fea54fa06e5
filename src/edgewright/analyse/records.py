"""What an analysis of accuracy measured, as plain records."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that stands in the way, costs accuracy or is worth knowing, and what fixes it."""

    # error (the build cannot go on), warning (it can, at a price) or note.
    grade: str
    # unsupported-op, datatype, architecture, size, open-shape, memory, time, rule, range ...
    kind: str
    what: str
    # A node or tensor by its name in the source model; empty for the model as a whole.
    where: str = ""
    # The exact command, option or override.
    do: str = ""


@dataclass(frozen=True)
class Layer:
    """One op of the quantized graph and how far its result is from the float model's."""

    node: str
    op: str
    tensor: str
    # As the source model names what the tensor comes from; the tensor's own name where it is the same.
    source: str
    # Bits of the result and of the weights; 16 and 32 in floating point too, which ``dtype`` tells apart.
    dtype: str
    bits: int
    weight_bits: int | None
    macs: int
    # In dB, up to here and over a few held-out samples; None where it was not measured.
    sim_db: float | None
    emulator_db: float | None
    # The part that this op adds by itself when its inputs are exact; None where it was not measured.
    own_db: float | None = None
    # Of that, what rounded weights alone make; None where there are none.
    weight_db: float | None = None


@dataclass(frozen=True)
class TensorView:
    """The values of one tensor, and what its encoding makes of them."""

    tensor: str
    source: str
    # Counts of values between ``edges`` (one more than counts).
    counts: tuple[int, ...]
    edges: tuple[float, ...]
    bits: int
    scale: float
    offset: int
    # What the encoding can hold, and the share of values beyond it.
    low: float
    high: float
    clipped: float
    # Up to here in the simulation, and what this encoding alone leaves of all values and of those within its
    # range, in dB.
    sim_db: float | None = None
    own_db: float | None = None
    rounding_db: float | None = None
