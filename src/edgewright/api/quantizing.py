"""What every way to quantize shares: wishes in the words of the tools, and what is known beforehand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any

from edgewright.artifacts.encodings import parse_encodings, read_encodings
from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.overrides import Resolved, resolve
from edgewright.quantize.pins import Origin
from edgewright.quantize.quantizer import Quantized, quantize_graph
from edgewright.quantize.schemes import scheme_named
from edgewright.quantize.settings import Settings
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

__all__ = ["OverridesSource", "Wishes", "quantized"]

# The path of an encodings file, or its content.
OverridesSource = str | Path | Mapping[str, Any]
ALGORITHMS = ("cle", "bc")


@dataclass(frozen=True)
class Wishes:
    """How a model is quantized: widths in bits, schemes by the names of the tools' options."""

    act_bw: int = 8
    weight_bw: int = 8
    bias_bw: int = 32
    float_bw: int = 32
    # 0: as the rest of what stays in floating point.
    float_bias_bw: int = 0
    act_quantizer: str = "tf"
    param_quantizer: str = "tf"
    percentile: float = 99.99
    per_channel: bool = True
    per_row: bool = False
    block_size: int = 0
    steps: tuple[int, int] | None = None
    algorithms: tuple[str, ...] = ()
    overrides: OverridesSource | None = None

    def __post_init__(self) -> None:
        for name in self.algorithms:
            if name not in ALGORITHMS:
                raise UsageError(
                    f"there is no algorithm '{shown(name)}', expected {' or '.join(ALGORITHMS)}",
                    do=did_you_mean(name, ALGORITHMS),
                )

    @property
    def passes(self) -> int:
        """How often samples are walked."""
        has_histograms = scheme_named(self.act_quantizer, self.percentile).needs_histogram
        return 1 + has_histograms + 2 * ("bc" in self.algorithms)

    def encodings(self) -> EncodingSet:
        """What the encodings file says; nothing where there is none."""
        if self.overrides is None:
            return EncodingSet()
        if isinstance(self.overrides, Mapping):
            return parse_encodings(_as_json(self.overrides), "overrides")
        return read_encodings(self.overrides)

    def settings(self, file: EncodingSet) -> Settings:
        """The quantizer's settings; widths that an encodings file gives for all tensors come first."""
        return Settings(
            act_bits=file.act_bits or self.act_bw,
            weight_bits=file.weight_bits or self.weight_bw,
            bias_bits=file.bias_bits or self.bias_bw,
            float_bits=self.float_bw,
            float_bias_bits=self.float_bias_bw,
            act_scheme=scheme_named(self.act_quantizer, self.percentile),
            weight_scheme=scheme_named(self.param_quantizer, self.percentile),
            is_act_symmetric=self.act_quantizer == "symmetric",
            is_weight_symmetric=self.param_quantizer == "symmetric",
            is_per_channel=self.per_channel,
            is_per_row=self.per_row,
            block_size=self.block_size,
            steps=self.steps,
        )


def quantized(
    graph: Graph,
    wishes: Wishes,
    samples: Samples | None,
    executor: Executor,
    *,
    brought: Sequence[TensorEncoding] = (),
    known: Collection[str] = (),
) -> Quantized:
    """Quantizes a float graph, which is left as it is.

    Args:
        graph: rewritten and laid out as it shall be.
        wishes: widths, schemes and encodings.
        samples: calibration data; without it, what has no encoding stays in floating point.
        executor: runs the samples.
        brought: encodings that the source model itself had.
        known: all names of the source model's tensors: encodings of one that is gone are ignored.
    """
    file = wishes.encodings()
    resolved = _resolved(graph, brought, file, known)
    return quantize_graph(graph, wishes.settings(file), samples, executor, resolved)


def _resolved(
    graph: Graph, brought: Sequence[TensorEncoding], file: EncodingSet, known: Collection[str]
) -> Resolved:
    """Encodings by value: those of the file come before those of the source model."""
    own = resolve(graph, brought, [entry.name for entry in brought], origin=Origin.SOURCE)
    given = resolve(graph, file.tensors, known)
    return Resolved({**own.pins, **given.pins}, given.ignored)


def _as_json(content: Mapping[str, Any]) -> bytes:
    try:
        return dumps(content).encode()
    except (TypeError, ValueError) as problem:
        raise UsageError(
            f"the overrides cannot be written as JSON: {shown(problem)}",
            do="give plain numbers, texts, lists and dictionaries, as in an encodings file",
        ) from None
