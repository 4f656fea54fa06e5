"""The card of an op as text and as JSON."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from edgewright.backends.op_card import OpCard, ParamCard, PortCard

WIDTH = 100
_CPU = {"engine": "in the engine", "reference": "in the reference", "no": "not at all"}


def as_text(card: OpCard) -> str:
    """The card for a reader."""
    lines = [card.name, *textwrap.wrap(card.meaning, WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    lines += _make_section("Inputs", [_describe_port(port) for port in card.inputs])
    lines += _make_section("Outputs", [_describe_port(port) for port in card.outputs])
    lines += _make_section("Parameters", [_describe_param(param) for param in card.params])
    lines += [f"Output encoding: {card.encoding_rule}"]
    lines += [f"On the HTP:      {card.htp_precision}"]
    lines += [f"Traits:          {', '.join(card.traits)}"] if card.traits else []
    lines += [f"CPU backend:     runs {_CPU[card.cpu]}"]
    lines += [f"Samples:         {', '.join(card.samples) or 'none'}"]
    return "\n".join(lines)


def as_json(card: OpCard) -> str:
    """The card for a program."""
    return json.dumps(asdict(card), indent=2)


def _make_section(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, _ in rows)
    return [f"{title}:", *(f"  {name:<{width}}  {text}" for name, text in rows), ""]


def _describe_port(port: PortCard) -> tuple[str, str]:
    notes = ["/".join(port.dtypes)]
    notes += [f"rank {port.rank}"] if port.rank is not None else []
    notes += ["any number of them"] if port.is_repeated else []
    notes += [] if port.is_required else ["optional"]
    return port.name, ", ".join(notes)


def _describe_param(param: ParamCard) -> tuple[str, str]:
    notes = [param.kind if param.kind == "structural" else f"{param.kind} of {param.dtype}"]
    notes += (
        ["required"] if param.is_required else [f"default {param.default}" if param.default else "optional"]
    )
    if param.choices:
        notes.append("one of " + ", ".join(f"{name}={value}" for name, value in param.choices))
    return param.name, ", ".join(notes)
