"""Reads the pickles of a TorchScript archive as data: nothing that they name is imported or called."""

import pickletools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedFeature, Where, shown
from edgewright.frontends.pytorch.archive import Archive
from edgewright.frontends.pytorch.stored_tensor import Layout, make_tensor

LARGEST_PICKLE = 1 << 26
MOST_CODES = 4_000_000
# Storages by the names that torch has for them; quantized ones hold plain integers.
STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.DoubleStorage": "float64",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ShortStorage": "int16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
    "torch.ComplexFloatStorage": "complex64",
    "torch.ComplexDoubleStorage": "complex128",
    "torch.QInt8Storage": "int8",
    "torch.QUInt8Storage": "uint8",
    "torch.QInt32Storage": "int32",
}
CLASSES = "__torch__."
# What Python raises where a pickle is not what it should be.
DAMAGE = (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, UnicodeDecodeError)
_MARK = object()
T = TypeVar("T")


@dataclass(eq=False)
class StoredObject:
    """An object of one of the archive's own classes: its attributes, or what its ``__setstate__`` gets."""

    class_name: str
    state: Any = None


@dataclass(frozen=True)
class EnumMember:
    """A member of one of the archive's own enumerations; equal to another of the same value."""

    class_name: str
    value: Any


@dataclass(eq=False)
class QuantizedWeights:
    """Stored integers with their encoding: numbers for the whole tensor, or vectors along an axis."""

    integers: Any
    scales: Any
    zeros: Any
    axis: int | None = None


@dataclass(frozen=True)
class _Global:
    name: str


@dataclass(frozen=True)
class _Storage:
    data: memoryview
    dtype_name: str


class ScriptPickle:
    """One of the archive's pickles; ``folder`` holds the storages that it names."""

    def __init__(self, torch: Any, archive: Archive, name: str, folder: str) -> None:
        self._torch = torch
        self._archive = archive
        self._name = name
        self._folder = folder
        self._where = Where(file=archive.name, detail=name)
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, memoryview] = {}
        self._makers: dict[str, Callable[..., Any]] = {
            "torch._utils._rebuild_tensor_v2": self._make_tensor,
            "torch._utils._rebuild_qtensor": self._make_quantized,
            "torch._utils._rebuild_parameter": lambda data, *_: data,
            "collections.OrderedDict": dict,
            "torch.jit._pickle.restore_type_tag": lambda value, _kind: value,
            # Where things lie has no meaning here.
            "torch.device": lambda *_: torch.device("cpu"),
            "builtins.complex": complex,
            **{
                f"torch.jit._pickle.build_{kind}list": lambda items: items
                for kind in ("int", "double", "bool", "tensor", "complex")
            },
        }

    def read(self) -> Any:
        """The value that the pickle holds."""
        data = self._archive.read(self._name)
        if len(data) > LARGEST_PICKLE:
            raise LimitExceeded(f"the pickle has {len(data)} bytes, at most {LARGEST_PICKLE}", self._where)
        try:
            for code, argument, _ in islice(pickletools.genops(data), MOST_CODES):
                if code.name == "STOP":
                    return self._stack.pop()
                self._step(code.name, argument)
        except EdgewrightError:
            raise
        except (*DAMAGE, RecursionError, MemoryError) as problem:
            named = f"{type(problem).__name__} {shown(problem, 80)}"
            raise BadInput(
                f"'{self._name}' cannot be read ({named})", self._where, do="save the model again"
            ) from problem
        raise LimitExceeded(f"'{self._name}' has more than {MOST_CODES} codes", self._where)

    def _step(self, code: str, argument: Any) -> None:
        stack = self._stack
        if code in _PLAIN:
            stack.append(argument)
        elif code in _FIXED:
            stack.append(_FIXED[code]())
        elif code == "MARK":
            stack.append(_MARK)
        elif code in {"BINPUT", "LONG_BINPUT"}:
            self._memo[argument] = stack[-1]
        elif code == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif code in {"BINGET", "LONG_BINGET"}:
            stack.append(self._memo[argument])
        elif code == "GLOBAL":
            stack.append(_Global(".".join(str(argument).split(" "))))
        elif code not in {"PROTO", "FRAME"}:
            self._combine(code)

    def _combine(self, code: str) -> None:
        """The codes that make one value of those on the stack."""
        stack = self._stack
        if code in {"TUPLE1", "TUPLE2", "TUPLE3"}:
            stack.append(tuple(self._pop(int(code[-1]))))
        elif code == "TUPLE":
            stack.append(tuple(self._pop_marked()))
        elif code in {"APPEND", "APPENDS"}:
            items = self._pop(1) if code == "APPEND" else self._pop_marked()
            _expect(stack[-1], list).extend(items)
        elif code in {"SETITEM", "SETITEMS"}:
            items = self._pop(2) if code == "SETITEM" else self._pop_marked()
            _expect(stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))
        elif code == "NEWOBJ":
            named, _ = self._pop(2)
            stack.append(StoredObject(self._name_class(named)))
        elif code == "BUILD":
            (state,) = self._pop(1)
            _expect(stack[-1], StoredObject).state = state
        elif code == "REDUCE":
            named, given = self._pop(2)
            stack.append(self._make(_expect(named, _Global).name, given))
        elif code == "BINPERSID":
            stack.append(self._open_storage(*self._pop(1)))
        else:
            raise ValueError(f"code {code}")

    def _pop(self, count: int) -> list[Any]:
        if count > len(self._stack):
            raise IndexError("the stack is empty")
        items = self._stack[-count:]
        del self._stack[-count:]
        if any(item is _MARK for item in items):
            raise ValueError("a mark in place of a value")
        return items

    def _pop_marked(self) -> list[Any]:
        places = (i for i in range(len(self._stack) - 1, -1, -1) if self._stack[i] is _MARK)
        place = next(places, None)
        if place is None:
            raise ValueError("no mark on the stack")
        items = self._stack[place + 1 :]
        del self._stack[place:]
        return items

    def _name_class(self, named: Any) -> str:
        name = _expect(named, _Global).name
        if not name.startswith(CLASSES):
            raise self._refuse(name)
        return name

    def _make(self, name: str, given: Any) -> Any:
        if name.startswith(CLASSES):
            # Torch puts the value of an enumeration's member bare.
            return EnumMember(name, given)
        if name not in self._makers:
            raise self._refuse(name)
        return self._makers[name](*_expect(given, tuple))

    def _refuse(self, name: str) -> EdgewrightError:
        return UnsupportedFeature(
            f"'{self._name}' names '{shown(name)}'; only data of TorchScript are read, and nothing is called",
            self._where,
            do="check where the file comes from, and save the model again",
        )

    def _open_storage(self, named: Sequence[Any]) -> _Storage:
        word, kind, key, _device, count = named
        dtype_name = STORAGES.get(_expect(kind, _Global).name)
        if word != "storage" or dtype_name is None:
            raise self._refuse(kind.name)
        if key not in self._storages:
            self._storages[key] = self._archive.map(f"{self._folder}/{_expect(key, str)}")
        data = self._storages[key]
        needed = _expect(count, int) * getattr(self._torch, dtype_name).itemsize
        if not 0 <= needed <= len(data):
            raise BadInput(
                f"storage '{shown(key)}' has {len(data)} bytes, expected {needed} for {count} elements",
                self._where,
                do="check that the file is complete, and save the model again",
            )
        return _Storage(data[:needed], dtype_name)

    def _make_tensor(
        self, storage: Any, offset: Any, sizes: Any, strides: Any, _grad: Any = None, *rest: Any
    ) -> Any:
        opened = _expect(storage, _Storage)
        layout = Layout(_expect(sizes, tuple), _expect(strides, tuple), offset)
        tensor = make_tensor(self._torch, opened.data, opened.dtype_name, layout, self._where)
        flags = rest[1] if len(rest) > 1 and rest[1] is not None else {}
        if flags.get("conj"):
            tensor = tensor.conj().resolve_conj()
        return -tensor if flags.get("neg") else tensor

    def _make_quantized(
        self, storage: Any, offset: Any, sizes: Any, strides: Any, encoding: Any, *_: Any
    ) -> QuantizedWeights:
        integers = self._make_tensor(storage, offset, sizes, strides)
        kind, scales, zeros, *axis = encoding
        if _expect(kind, _Global).name == "torch.per_tensor_affine":
            return QuantizedWeights(integers, float(scales), int(zeros))
        if kind.name != "torch.per_channel_affine":
            raise self._refuse(kind.name)
        (place,) = axis
        rank, length = integers.dim(), len(scales)
        if not 0 <= _expect(place, int) < rank or not length == len(zeros) == integers.shape[place]:
            raise BadInput(
                f"a quantized tensor of the sizes {list(integers.shape)} has {length} scales and "
                f"{len(zeros)} offsets along axis {place}",
                self._where,
                do="save the model again",
            )
        return QuantizedWeights(integers, scales, zeros, place)


_PLAIN = frozenset(
    {
        *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
        *("BINUNICODE", "SHORT_BINUNICODE", "BINSTRING", "SHORT_BINSTRING"),
    }
)
_FIXED: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}


def _expect(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__.strip('_')}")
    return value
