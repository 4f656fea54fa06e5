"""Which of an op's overloads a call of TorchScript means: the first whose arguments fit, as torch decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.frontends.pytorch.values import Tensor

# How freely values are taken: as they are; numbers as other numbers; tensors as numbers that data decide.
EXACT, WIDE, LATE = range(3)
_NUMBERS = frozenset({"IntType", "FloatType", "NumberType", "BoolType", "ComplexType", "SymIntType"})


@dataclass(frozen=True)
class Bound:
    """An op with all of its arguments, defaults filled in."""

    op: Any
    positional: list[Any]
    named: dict[str, Any]


class Overloads:
    """The overloads that torch knows."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._schemas: dict[str, Sequence[Any]] = {}

    def bind(self, kind: str, args: Sequence[Any], named: Mapping[str, Any]) -> Bound | None:
        """The overload of an op given as "aten::add" that takes the arguments; None where there is none."""
        for freedom in (EXACT, WIDE, LATE):
            for schema in self._list_schemas(kind):
                values = _fill(schema.arguments, args, named)
                if values is not None and self._check_all(values, schema.arguments, freedom):
                    return self._make(kind, schema, values)
        return None

    def is_known(self, kind: str) -> bool:
        """Whether torch has an op of this name at all."""
        return bool(self._list_schemas(kind))

    def _list_schemas(self, kind: str) -> Sequence[Any]:
        if kind not in self._schemas:
            self._schemas[kind] = self._torch._C._jit_get_schemas_for_operator(kind)
        return self._schemas[kind]

    def _make(self, kind: str, schema: Any, values: list[Any]) -> Bound | None:
        space, _, name = kind.partition("::")
        packet = getattr(getattr(self._torch.ops, space, None), name, None)
        op = getattr(packet, schema.overload_name or "default", None)
        if op is None:
            return None
        count = len([item for item in schema.arguments if not item.kwarg_only])
        names = [item.name for item in schema.arguments[count:]]
        return Bound(op, values[:count], dict(zip(names, values[count:], strict=True)))

    def _check_all(self, values: Sequence[Any], arguments: Sequence[Any], freedom: int) -> bool:
        return all(
            self._check_fit(value, item.type, freedom) for value, item in zip(values, arguments, strict=True)
        )

    def _check_fit(self, value: Any, kind: Any, freedom: int) -> bool:
        word = kind.kind()
        if word == "OptionalType":
            return value is None or self._check_fit(value, kind.getElementType(), freedom)
        if isinstance(value, Tensor):
            return word in {"TensorType", "VarType", "AnyType"} or (freedom == LATE and word in _NUMBERS)
        if word == "ListType":
            element = kind.getElementType()
            is_open = element.kind() in {"VarType", "AnyType"}
            return isinstance(value, list) and (
                is_open or all(self._check_fit(item, element, freedom) for item in value)
            )
        if word in _NUMBERS:
            return _check_number(value, word, freedom)
        return self._check_other(value, word, freedom)

    def _check_other(self, value: Any, word: str, freedom: int) -> bool:
        if word == "TensorType":
            return freedom == LATE and isinstance(value, bool | int | float)
        kinds: dict[str, Any] = {
            "StringType": str,
            "DeviceObjType": self._torch.device,
            "DictType": dict,
            "TupleType": tuple,
        }
        if word in kinds:
            return isinstance(value, kinds[word])
        if word == "GeneratorType":
            return value is None
        # Types that are open, and objects.
        return word in {"VarType", "AnyType", "AnyEnumType", "ClassType"}


def _fill(arguments: Sequence[Any], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any] | None:
    """One value for each argument; None where some are missing or too many."""
    open_names = {item.name for item in arguments[len(args) :]}
    if len(args) > len([a for a in arguments if not a.kwarg_only]) or not open_names.issuperset(named):
        return None
    values = list(args)
    for item in arguments[len(args) :]:
        if item.name in named:
            values.append(named[item.name])
        elif item.has_default_value():
            values.append(item.default_value)
        else:
            return None
    return values


def _check_number(value: Any, word: str, freedom: int) -> bool:
    if isinstance(value, bool):
        return word == "BoolType" or freedom >= WIDE
    if isinstance(value, int):
        return word in {"IntType", "SymIntType", "NumberType"} or (freedom >= WIDE and word != "BoolType")
    if isinstance(value, float):
        return word in {"FloatType", "NumberType"} or (freedom >= WIDE and word == "ComplexType")
    return isinstance(value, complex) and word in {"ComplexType", "NumberType"}
