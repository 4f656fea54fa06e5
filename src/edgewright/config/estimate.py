"""The options of `edgewright estimate`."""

import re
from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.quantize import PRECISIONS
from edgewright.config.rules import Excludes
from edgewright.config.values import make_number_parser

_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(us|µs|ms|s)\s*@\s*(.+?)\s*")
_UNITS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}


def parse_measured(text: str) -> tuple[float, str]:
    """Microseconds and a chip, as in 3.2ms@SM8550."""
    match = _TIME.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise ValueError("expected a time with its unit and a chip, as in 3.2ms@SM8550 or 850us@SM8650")
    return float(match[1]) * _UNITS[match[2]], match[3]


def parse_change(text: str) -> str:
    """A change of precision, or of the architecture."""
    kind, equals, value = text.partition("=")
    if not equals or not value or kind not in ("precision", "rule"):
        raise ValueError("expected precision=NAME or rule=NAME, as in precision=w8a8 or rule=all")
    return text


@dataclass(frozen=True)
class EstimateTarget(OptionGroup):
    """Where the model would run."""

    title = "Target"
    rules = (Excludes("--target", "--all-targets"), Excludes("--measured", "--what-if"))

    target: tuple[str, ...] = opt(
        nargs="+",
        default=(),
        metavar="CHIP",
        example="--target SM8650",
        help="chips: SM8650, 'Snapdragon 8 Gen 3', 'Galaxy S24', v75 or a SoC number; SM8650 without it",
    )
    all_targets: bool = opt("--all-targets", "--all_targets", help="all chips with public times")
    precision: str | None = opt(
        choices=tuple(PRECISIONS), help="bits of weights and activations; w8a8, w8a16 and fp16 without it"
    )
    measured: tuple[float, str] | None = opt(
        type=parse_measured,
        metavar="TIME@CHIP",
        example="--measured 3.2ms@SM8550",
        help="a time that you measured on one chip: it is scaled to the others",
    )
    what_if: tuple[str, ...] = opt(
        "--what-if",
        "--what_if",
        type=parse_change,
        nargs="+",
        default=(),
        metavar="CHANGE",
        example="--what-if precision=w8a8",
        help="what a change would do: precision=NAME, or rule=NAME of a modification of the architecture "
        "check (rule=all: each that applies)",
    )
    prompt_tokens: int = opt(
        "--prompt-tokens",
        "--prompt_tokens",
        type=make_number_parser(1),
        default=1024,
        metavar="N",
        help="tokens of the prompt, where MODEL is a folder of a language model",
    )
    output: str | None = opt(also="-o", metavar="FILE", help="also write a page with bars and the roofline")
