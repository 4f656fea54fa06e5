"""Objects of a TorchScript program while it is walked through: modules and others with their attributes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakMethod

from edgewright.frontends.pytorch.quantized import PackedWeights
from edgewright.frontends.pytorch.script_code import Class, Code
from edgewright.frontends.pytorch.script_pickle import StoredObject
from edgewright.frontends.pytorch.tracer import Tracer
from edgewright.frontends.pytorch.values import list_boxes

SETSTATE = "__setstate__"
# Classes that torch itself brings: weights of quantized layers.
PACKED = "__torch__.torch.classes.quantized."


@dataclass(eq=False)
class Record:
    """A module or an object: its class, the path to it, and its attributes as they were read or set."""

    class_name: str
    path: str
    # What the class's code is; None where torch brings the class.
    code: Class | None = None
    stored: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    # Its number among those that the program made; -1 for what is stored.
    born: int = -1

    @property
    def is_module(self) -> bool:
        """Whether it is a network's part, not a plain object."""
        return self.code is not None and self.code.base == "Module"


class NamedValues(tuple[Any, ...]):
    """A tuple whose items have names."""

    fields: tuple[str, ...] = ()


class Objects:
    """The objects of one walk: each is made once from what is stored, and is then the program's."""

    def __init__(self, tracer: Tracer, code: Code, set_state: Callable[[Record, Any], None]) -> None:
        # Paths of attributes that depend on the input.
        self.changed: list[str] = []
        # Objects whose attributes were set, one entry each time.
        self.written: list[Record] = []
        self.count = 0
        self._tracer = tracer
        self._code = code
        # Runs the method that gets what was stored; weak, as it belongs to who owns this object.
        self._find_set_state = WeakMethod(set_state)
        # Stored values by their identity: what is stored once is one thing here, too.
        self._made: dict[int, Any] = {}

    def open(self, stored: StoredObject, path: str) -> Any:
        """The object that was stored."""
        if stored.class_name.startswith(PACKED):
            return PackedWeights.from_state(stored.class_name, stored.state, path)
        record = Record(stored.class_name, path, self._code.find_class(stored.class_name))
        self._made[id(stored)] = record
        if record.code is not None and SETSTATE in record.code.methods:
            set_state = self._find_set_state()
            assert set_state is not None
            set_state(record, self.make_boxes(stored.state, path))
        elif isinstance(stored.state, dict):
            record.stored = stored.state
        return record

    def create(self, class_name: str, path: str) -> Record:
        """A new object of the program, without attributes."""
        self.count += 1
        return Record(class_name, path, self._code.find_class(class_name), born=self.count - 1)

    def read(self, record: Record, name: str) -> Any:
        """An attribute; LookupError where there is none."""
        if name == "training" and record.is_module:
            return False
        if name not in record.attributes:
            record.attributes[name] = self.make_boxes(record.stored[name], _join(record.path, name))
        return record.attributes[name]

    def write(self, record: Record, name: str, value: Any) -> None:
        """Sets an attribute; those of modules that depend on the input are noted."""
        path = _join(record.path, name)
        is_open = any(box.data is None for box in list_boxes([value]))
        if record.is_module and is_open and path not in self.changed:
            self.changed.append(path)
        if isinstance(value, PackedWeights) and not value.path:
            value.path = path
        record.attributes[name] = value
        self.written.append(record)

    def make_boxes(self, value: Any, path: str = "") -> Any:
        """A stored value with its tensors as boxes."""
        if isinstance(value, self._tracer.torch.Tensor):
            return self._tracer.known(value, path)
        if not isinstance(value, list | tuple | dict | StoredObject):
            return value
        key = id(value)
        if key not in self._made:
            self._made[key] = self._convert_items(value, path)
        return self._made[key]

    def _convert_items(self, value: Any, path: str) -> Any:
        if isinstance(value, StoredObject):
            return self.open(value, path)
        if isinstance(value, dict):
            return {
                self.make_boxes(key): self.make_boxes(item, f"{path}.{key}") for key, item in value.items()
            }
        items = [self.make_boxes(item, f"{path}.{i}") for i, item in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
