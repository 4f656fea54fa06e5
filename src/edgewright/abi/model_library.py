"""The two functions of a model library: loaded by prefix, and called with a backend's function table."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_int32, c_void_p, memmove
from ctypes import c_uint32 as u32

from edgewright.abi.structs import Tensor

# Defined as in typing, without importing it: a process that only composes must start fast.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MODEL_ERRORS = {
    1: "TENSOR",
    2: "PARAMS",
    3: "NODES",
    4: "GRAPH",
    5: "CONTEXT",
    6: "GENERATION",
    7: "SETUP",
    8: "INVALID_ARGUMENT",
    9: "FILE",
    10: "MEMORY_ALLOCATE",
    11: "GRAPH_OP_VALIDATION",
}
# Pointers in the function table that a library was compiled for, by the SDK that it names.
_TABLES = {"2.21": 56, "2.22": 56, "2.23": 56, "2.24": 59, "2.25": 62}
_COUNTED = "(build it again from its model.cpp: qnn-model-lib-generator -c model.cpp -b model.bin)"


class Unloadable(Exception):
    """The library cannot be loaded, or lacks a function."""


class Refused(Exception):
    """The library returned an error."""


class GraphInfo(Structure):
    _fields_ = (
        ("graph", c_void_p),
        ("name", c_char_p),
        ("inputs", POINTER(Tensor)),
        ("inputs_count", u32),
        ("outputs", POINTER(Tensor)),
        ("outputs_count", u32),
    )


class GraphConfigInfo(Structure):
    """How the graph with this name is compiled."""

    _fields_ = (("name", c_char_p), ("configs", c_void_p))


_Graphs = POINTER(POINTER(GraphInfo))


class ModelLibrary:
    """A loaded model library. It is code: load it only in a process that may crash."""

    def __init__(self, path: str, prefix: str = "QnnModel") -> None:
        try:
            self._library = ctypes.CDLL(path)
        except OSError as problem:
            raise Unloadable(str(problem)) from None
        self._compose = self._find_function(f"{prefix}_composeGraphs")
        self._pointers = count_table_pointers(self._sdk())

    def compose(
        self, backend: Any, table: int, context: Any, configs: Sequence[GraphConfigInfo] = ()
    ) -> list[GraphInfo]:
        """The graphs that the library builds through a function table, which is at ``table``."""

        class Table(Structure):
            _fields_ = (("functions", c_void_p * self._pointers),)

        passed = Table()
        memmove(byref(passed), table, ctypes.sizeof(passed))
        made, count = _Graphs(), u32()
        kind = POINTER(GraphConfigInfo)
        wanted = (kind * len(configs))(*(ctypes.pointer(config) for config in configs)) if configs else None
        arguments = (c_void_p, Table, c_void_p, POINTER(kind), u32, POINTER(_Graphs), POINTER(u32))
        call = CFUNCTYPE(c_int32, *arguments, c_bool, c_void_p, u32)(self._compose)
        code = call(backend, passed, context, wanted, len(configs), byref(made), byref(count), False, None, 1)
        if code:
            raise Refused(f"MODEL_{MODEL_ERRORS.get(code, 'UNKNOWN')}_ERROR ({code})")
        return [made[index].contents for index in range(count.value)]

    def _find_function(self, name: str) -> int:
        try:
            return ctypes.cast(getattr(self._library, name), c_void_p).value or 0
        except AttributeError:
            raise Unloadable(f"it has no function '{name}'") from None

    def _sdk(self) -> str:
        try:
            return (c_char_p.in_dll(self._library, "QNN_SDK_VERSION").value or b"").decode(errors="replace")
        except ValueError:
            return ""


def count_table_pointers(sdk: str) -> int:
    """Pointers in the table of the SDK that a library names; one that names none counts as 2.22."""
    named = ".".join(sdk.rpartition("v")[2].split(".")[:2])
    if not named:
        return _TABLES["2.22"]
    if named not in _TABLES:
        raise Unloadable(f"it was made by SDK {named}, expected one of {', '.join(_TABLES)} {_COUNTED}")
    return _TABLES[named]
