"""What every way to quantize shares: wishes in the words of the tools, and what is known beforehand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any

from edgewright.artifacts.encodings import parse_encodings, read_encodings
from edgewright.core.errors import UsageError, shown
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.overrides import Resolved, resolve
from edgewright.quantize.pins import Origin
from edgewright.quantize.quantizer import Quantized, quantize_graph
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.rules import RULES
from edgewright.quantize.schemes import Scheme, scheme_named
from edgewright.quantize.settings import Settings
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

__all__ = ["AppliedRule", "OverridesSource", "Wishes", "applied_rules", "quantized"]

ADJUSTED, AUTO = "adjusted", "auto"

# The path of an encodings file, or its content.
OverridesSource = str | Path | Mapping[str, Any]


@dataclass(frozen=True)
class Wishes:
    """How a model is quantized: widths in bits, schemes by the names of the tools' options."""

    act_bw: int = 8
    weight_bw: int = 8
    bias_bw: int = 32
    float_bw: int = 32
    # 0: as the rest of what stays in floating point.
    float_bias_bw: int = 0
    # "auto": what comes closest to the float model, with corrected biases where they help.
    act_quantizer: str = "tf"
    param_quantizer: str = "tf"
    percentile: float = 99.99
    per_channel: bool = True
    # None: as per_channel, and for weights of 4 bits, too few for one scale over a whole matrix.
    per_row: bool | None = None
    block_size: int = 0
    steps: tuple[int, int] | None = None
    algorithms: tuple[str, ...] = ()
    overrides: OverridesSource | None = None

    @property
    def passes(self) -> int:
        """How often samples are walked."""
        searching = 4 if self.act_quantizer == AUTO else 0
        return 1 + self._act_scheme().needs_histogram + 2 * len(self.algorithms) + searching

    def notes(self) -> list[str]:
        """What will be done otherwise than asked."""
        found = []
        if self.act_quantizer == ADJUSTED:
            found.append("the quantizer 'adjusted' is for weights: activations cover all that was seen (tf)")
        if self.param_quantizer == ADJUSTED and self.weight_bw != 8:
            found.append(f"the quantizer 'adjusted' is for 8 bits: weights of {self.weight_bw} use tf")
        return found

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
            act_scheme=self._act_scheme(),
            weight_scheme=scheme_named(self.param_quantizer, self.percentile),
            is_act_symmetric=self.act_quantizer == "symmetric",
            is_weight_symmetric=self.param_quantizer == "symmetric",
            is_per_channel=self.per_channel,
            is_per_row=self.per_channel or self.weight_bw == 4 if self.per_row is None else self.per_row,
            block_size=self.block_size,
            steps=self.steps,
            algorithms=self.algorithms,
            is_searched=self.act_quantizer == AUTO,
        )

    def _act_scheme(self) -> Scheme:
        is_plain = self.act_quantizer in {ADJUSTED, AUTO}
        return scheme_named("tf" if is_plain else self.act_quantizer, self.percentile)


@dataclass(frozen=True)
class AppliedRule:
    """A rule of the target, and how often it was applied."""

    name: str
    text: str
    count: int


def applied_rules(report: QuantizationReport) -> tuple[AppliedRule, ...]:
    """The rules that a quantization followed."""
    return tuple(AppliedRule(name, RULES[name].text, len(hits)) for name, hits in report.rules.items())


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
    result = quantize_graph(graph, wishes.settings(file), samples, executor, resolved)
    result.report.notes[:0] = wishes.notes()
    return result


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
