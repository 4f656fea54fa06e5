"""The records of an estimate: every time is a range."""

from dataclasses import dataclass

# Where a time comes from.
MEASURED, SCALED, MODELLED, GENERATION = "a", "b", "c", "d"
TIERS = {
    MEASURED: "a known network: the public measurement",
    SCALED: "scaled from a time on another chip",
    MODELLED: "a new network: the fitted model, layer by layer",
    GENERATION: "a chip without data: the range of its generation",
}


@dataclass(frozen=True)
class TimeRange:
    """A time in microseconds: the likeliest one, and the interval that holds 80 of 100 networks."""

    microseconds: float
    low: float
    high: float

    def scale(self, factor: float, low: float | None = None, high: float | None = None) -> "TimeRange":
        """The same by a factor, which may itself be a range."""
        return TimeRange(
            self.microseconds * factor,
            self.low * (factor if low is None else low),
            self.high * (factor if high is None else high),
        )

    def __str__(self) -> str:
        """As in: 1.6 ms (1.2 to 2.3)."""
        unit, size = ("ms", 1e3) if self.microseconds >= 1e3 else ("us", 1.0)
        low, middle, high = (_spell(each / size) for each in (self.low, self.microseconds, self.high))
        return f"{middle} {unit} ({low} to {high})"


def _spell(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}" if number < 10 else f"{number:.1f}"


@dataclass(frozen=True)
class LayerShare:
    """What a layer takes of the whole time; shares are ranges over fits that left networks out."""

    name: str
    op: str
    share: float
    share_low: float
    share_high: float
    # What most of it is: compute, movement or overhead.
    bound: str
    # Multiply-accumulates for each byte that is moved: its place below the roofline.
    intensity: float
    macs: int
    # What would make it cheaper; empty where nothing simple would.
    remedy: str = ""


@dataclass(frozen=True)
class MemoryRange:
    """Bytes that a model takes on the chip; not calibrated, as nothing public tells how many it does."""

    # Of the compiled context: its real size where it was compiled (both ends are then the same).
    context: tuple[int, int]
    is_compiled: bool
    # Buffers of inputs and outputs.
    io: int
    # Tensors that are alive at one time, and what of them does not fit into VTCM.
    peak_activation: tuple[int, int]
    spill_fill: tuple[int, int]
    note: str = "not calibrated: computed from shapes, compare with the device"


@dataclass(frozen=True)
class Change:
    """What a change would do to the time: the factor on it, as a range."""

    name: str
    text: str
    factor: float
    low: float
    high: float

    def __str__(self) -> str:
        """As in: 0.82 of the time (0.74 to 0.9)."""
        return f"{self.factor:.2g} of the time ({self.low:.2g} to {self.high:.2g})"


@dataclass(frozen=True)
class TargetEstimate:
    """A network on one chip in one precision."""

    chip: str
    architecture: str
    precision: str
    tier: str
    time: TimeRange
    # The measurement, pair of chips or fit that it comes from, in a sentence.
    basis: str
    # Reasons why it may be much slower: known cliffs of compilers that the graph looks like.
    cliffs: tuple[str, ...] = ()
    memory: MemoryRange | None = None
    # The costliest layers first.
    layers: tuple[LayerShare, ...] = ()
    # The share of compute, movement and overhead in the modelled time.
    bounds: tuple[tuple[str, float], ...] = ()

    @property
    def tier_text(self) -> str:
        """What the tier means."""
        return TIERS[self.tier]


@dataclass(frozen=True)
class Estimate:
    """All that is said about a network."""

    model: str
    # plain convolutions, convolutions or attention: intervals are given for each.
    kind: str
    ops: int
    macs: int
    # The public network whose graph it has; empty for a new one.
    known_as: str
    targets: tuple[TargetEstimate, ...]
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
