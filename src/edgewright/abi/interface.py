"""A loaded QNN library: its provider's function table, called by name."""

import ctypes
import os
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from edgewright.abi.codes import CAUGHT
from edgewright.abi.structs import ProviderHead, SystemProviderHead
from edgewright.abi.tables import BACKEND_TABLE, SIGNATURES, SYSTEM_TABLE
from edgewright.abi.versions import LibraryVersion, identify_version
from edgewright.core.errors import BackendCrash, EnvironmentProblem, Where

# Offsets of the function table after the provider's head.
_BACKEND_TABLE_AT = 40
_SYSTEM_TABLE_AT = 32


class Interface:
    """The functions of a provider."""

    def __init__(self, library: ctypes.CDLL, address: int, at: int, names: tuple[str, ...]) -> None:
        self.library = library
        self.address = address
        self.table = address + at
        table = ctypes.cast(self.table, POINTER(c_void_p))
        self._addresses = {name: table[index] for index, name in enumerate(names)}
        self._functions: dict[str, Callable[..., int]] = {}

    def has(self, name: str) -> bool:
        """Whether the library offers a function."""
        return bool(self._addresses.get(name))

    def call(self, name: str, *arguments: Any) -> int:
        """The error number that a function returns; 0 is success."""
        if name not in self._functions:
            self._functions[name] = self._bound(name, SIGNATURES[name])
        return self._functions[name](*arguments) & CAUGHT

    def version(self) -> LibraryVersion:
        """The version that the library reports."""
        head = ctypes.cast(self.address, POINTER(ProviderHead)).contents
        build = c_char_p()
        if self.has("backendGetBuildId"):
            self.call("backendGetBuildId", byref(build))
        return identify_version(
            (build.value or b"").decode(), _read_version(head.core), _read_version(head.backend)
        )

    def _bound(self, name: str, arguments: tuple[Any, ...]) -> Callable[..., int]:
        address = self._addresses.get(name)
        if not address:
            raise BackendCrash(f"the library has no function '{name}'", do="use another library of the wheel")
        return CFUNCTYPE(c_uint64, *arguments)(address)


def load_backend(path: Path) -> Interface:
    """A backend library, loaded without letting it print."""
    library, address = _find_provider(path, "QnnInterface_getProviders")
    return Interface(library, address, _BACKEND_TABLE_AT, BACKEND_TABLE)


def load_system(path: Path) -> Interface:
    """The System library."""
    library, address = _find_provider(path, "QnnSystemInterface_getProviders")
    head = ctypes.cast(address, POINTER(SystemProviderHead)).contents
    if head.system.major != 1:
        raise EnvironmentProblem(
            f"the System library has API {head.system.major}.{head.system.minor}, expected 1.x",
            Where(file=str(path)),
            do="install the tested wheel: pip install onnxruntime-qnn==2.7.0",
        )
    return Interface(library, address, _SYSTEM_TABLE_AT, SYSTEM_TABLE)


def _find_provider(path: Path, entry: str) -> tuple[ctypes.CDLL, int]:
    library = _open_library(path)
    get = getattr(library, entry)
    get.restype = c_uint64
    providers, count = POINTER(c_void_p)(), c_uint32()
    code = int(get(byref(providers), byref(count))) & CAUGHT
    if code or not count.value or not providers[0]:
        raise BackendCrash(
            f"{entry} answered {code} with {count.value} providers, expected 0 with at least 1",
            Where(file=str(path)),
        )
    return library, int(providers[0] or 0)


def _open_library(path: Path) -> ctypes.CDLL:
    """The library; its output while loading goes to stderr, not among a tool's own lines."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        return ctypes.CDLL(str(path))
    except OSError as problem:
        raise EnvironmentProblem(
            f"the library cannot be loaded: {problem}", Where(file=str(path)), do="run edgewright doctor"
        ) from None
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _read_version(version: Any) -> tuple[int, int, int]:
    return version.major, version.minor, version.patch
