"""Everything that is known about an op, gathered from its class."""

import dataclasses
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from enum import IntEnum
from typing import Any

import edgewright.ops  # noqa: F401 - registers the ops
from edgewright.backends.cpu.registry import LOWERINGS
from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import DType
from edgewright.core.words import did_you_mean
from edgewright.ir.op import ANY, FLOATS, INTEGERS, NUMERIC, REGISTRY, Op, Port

_SETS = ((ANY, "any"), (NUMERIC, "numeric"), (FLOATS, "float"), (INTEGERS, "integer"))


@dataclass(frozen=True)
class PortCard:
    """An input or output: what is allowed there."""

    name: str
    dtypes: tuple[str, ...]
    rank: int | None
    is_required: bool
    is_repeated: bool


@dataclass(frozen=True)
class ParamCard:
    """A parameter: its kind and type, and its default and choices, if any."""

    name: str
    kind: str  # scalar, tensor, or structural (not stored by QNN)
    dtype: str
    is_required: bool
    default: str = ""
    choices: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class OpCard:
    """An op on one page."""

    name: str
    meaning: str
    inputs: tuple[PortCard, ...]
    outputs: tuple[PortCard, ...]
    params: tuple[ParamCard, ...]
    encoding_rule: str
    htp_precision: str
    traits: tuple[str, ...]
    has_reference: bool
    cpu: str  # engine, reference, or no
    samples: tuple[str, ...]


def list_op_names() -> list[str]:
    """The names of all ops, in alphabetical order."""
    return sorted(REGISTRY)


def make_op_card(name: str) -> OpCard:
    """The card of the op with this QNN name."""
    kind = REGISTRY.get(name)
    if kind is None:
        raise UsageError(
            f"op '{shown(name)}' is not one of the {len(REGISTRY)} that are known",
            do=did_you_mean(name, REGISTRY, "edgewright op lists them all"),
        )
    return OpCard(
        name=kind.qnn_name(),
        meaning=" ".join((kind.__doc__ or "").split()),
        inputs=_describe_ports(kind.inputs),
        outputs=_describe_ports(kind.outputs),
        params=_describe_params(kind),
        encoding_rule=kind.encoding_rule.value,
        htp_precision=kind.htp_precision.value,
        traits=_list_traits(kind),
        has_reference=kind.has_reference(),
        cpu=_describe_cpu_support(kind),
        samples=tuple(sample.label for sample in kind.samples()),
    )


def _describe_ports(ports: Sequence[Port]) -> tuple[PortCard, ...]:
    return tuple(
        PortCard(port.name, _name_dtypes(port.dtypes), port.rank, port.is_required, port.is_repeated)
        for port in ports
    )


def _name_dtypes(dtypes: frozenset[DType]) -> tuple[str, ...]:
    for known, word in _SETS:
        if dtypes == known:
            return (word,)
    return tuple(dtype.name.lower() for dtype in sorted(dtypes))


def _describe_params(kind: type[Op]) -> tuple[ParamCard, ...]:
    return tuple(_describe_param(item) for item in dataclasses.fields(kind))


def _describe_param(item: dataclasses.Field[Any]) -> ParamCard:
    dtype, is_tensor = item.metadata.get("param", (None, False))
    is_required = item.default is MISSING and item.default_factory is MISSING
    default = "" if is_required or item.default in (None, MISSING) else str(item.default)
    choices = (
        tuple((member.name, int(member)) for enum in _find_enums(item.type) for member in enum)
        if dtype
        else ()
    )
    return ParamCard(
        item.name,
        "structural" if dtype is None else "tensor" if is_tensor else "scalar",
        "" if dtype is None else dtype.name.lower(),
        is_required,
        getattr(item.default, "name", default),
        choices,
    )


def _find_enums(hint: Any) -> list[type[IntEnum]]:
    """The enums in a type hint, also in a union with None."""
    parts = (hint, *typing.get_args(hint))
    return [part for part in parts if isinstance(part, type) and issubclass(part, IntEnum)]


def _list_traits(kind: type[Op]) -> tuple[str, ...]:
    """The statements about an op that do not hold for most others."""
    statements = [name for name in Op.__annotations__ if isinstance(getattr(Op, name), bool)]
    changed = [name for name in statements if getattr(kind, name) != getattr(Op, name)]
    return tuple(name if getattr(kind, name) else f"not {name}" for name in changed)


def _describe_cpu_support(kind: type[Op]) -> str:
    if kind in LOWERINGS:
        return "engine"
    return "reference" if kind.has_reference() else "no"
