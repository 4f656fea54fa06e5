"""Profiling events of the library, labelled as measured on the host, not on a device."""

from collections.abc import Iterator
from ctypes import POINTER, byref, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from edgewright.abi.codes import ProfileUnit
from edgewright.abi.structs import Config, EventData
from edgewright.backends.qnn.library import Library, configs
from edgewright.backends.qnn.options import ProfilingLevel
from edgewright.backends.qnn.tensors import Kept

MEASURED_ON = "host emulation"
_OPTRACE = 2


@dataclass(frozen=True)
class ProfileEvent:
    """One measurement; `depth` is its nesting."""

    name: str
    value: int
    unit: str
    depth: int = 0
    measured_on: str = MEASURED_ON


class Profile:
    """A profile handle, or nothing at level OFF.

    With optrace the library writes the schematic of each graph that it compiles into the current folder.
    """

    def __init__(self, library: Library, level: ProfilingLevel, *, is_traced: bool = False) -> None:
        self._library = library
        self.handle = c_void_p()
        if level != ProfilingLevel.OFF:
            library.must("profileCreate", library.backend, int(level), byref(self.handle))
        if self.handle and is_traced:
            optrace = Config(option=_OPTRACE)
            optrace.value.number = 1
            library.must("profileSetConfig", self.handle, configs([optrace], Kept()))

    def events(self) -> list[ProfileEvent]:
        """What was measured since the last call, parts after the whole."""
        return list(self._walk("profileGetEvents", self.handle, 0)) if self.handle else []

    def free(self) -> None:
        """Frees the handle."""
        if self.handle:
            self._library.interface.call("profileFree", self.handle)
            self.handle = c_void_p()

    def _walk(self, function: str, of: Any, depth: int) -> Iterator[ProfileEvent]:
        ids, count = POINTER(c_uint64)(), c_uint32()
        if self._library.interface.call(function, of, byref(ids), byref(count)):
            return
        for index in range(count.value):
            data = EventData()
            if self._library.interface.call("profileGetEventData", ids[index], byref(data)):
                continue
            name = (data.identifier or b"").decode(errors="replace")
            yield ProfileEvent(name, data.value, _unit(data.unit), depth)
            yield from self._walk("profileGetSubEvents", c_uint64(ids[index]), depth + 1)


def _unit(number: int) -> str:
    known = {int(unit): unit.name.lower() for unit in ProfileUnit}
    return known.get(number, f"unit {number}")
