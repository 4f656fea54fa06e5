"""A backend library in use: its log, its errors, its backend and device handles. Lives in the worker."""

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, byref, c_char_p, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from edgewright.abi.codes import LogLevel
from edgewright.abi.htp_structs import HtpDeviceConfig, HtpDeviceConfigNarrow
from edgewright.abi.interface import load_backend
from edgewright.abi.structs import Config, OperationName
from edgewright.backends.qnn.tensors import Kept
from edgewright.core.errors import BackendCrash, UsageError, Where, shown

LogLine = tuple[int, str]
LONGEST_LINE = 8192
LINES_KEPT = 2000
_CUSTOM = 0
_SOC, _ARCH = 0, 1
# QnnBackend.h: QNN_BACKEND_CONFIG_OPTION_PLATFORM, a text.
_PLATFORM = 2
# A list of arguments is a pointer wherever the libraries run: to an array, a struct or the arguments.
_VSNPRINTF = ctypes.CDLL("msvcrt")["_vsnprintf"] if sys.platform == "win32" else ctypes.CDLL(None).vsnprintf


class Library:
    """A loaded backend library with its log; everything it logs is kept until it is read."""

    def __init__(self, path: Path, level: int) -> None:
        self.path = path
        self.interface = load_backend(path)
        self.version = self.interface.version()
        self.kept = Kept()
        self.lines: list[LogLine] = []
        self._heard: list[str] | None = None
        # The library keeps the pointer: the callback must live as long as it does.
        self._callback = CFUNCTYPE(None, c_char_p, c_uint32, c_uint64, c_void_p)(self._said)
        self.log = c_void_p()
        # Refusals are explained at the error level; more is only requested if it is shown.
        self.must("logCreate", self._callback, max(level, LogLevel.ERROR), byref(self.log))
        self.backend, self.device = c_void_p(), c_void_p()

    def open(self, soc_model: int, dsp_arch: int | None, platform: str = "") -> None:
        """Creates the backend and, for a chip, its device."""
        code = self.interface.call(
            "backendCreate", self.log, self._backend_configs(platform), byref(self.backend)
        )
        if code and platform:
            said = next((text for level, text in self.lines if level == LogLevel.ERROR), self.message(code))
            raise UsageError(
                f"{self.path.name} refuses the platform options '{shown(platform)}': {said}",
                do="name options that the library knows, or leave --platform_options out",
            )
        if code:
            raise self.failure("backendCreate", code)
        if soc_model:
            self.must("deviceCreate", self.log, self._device_configs(soc_model, dsp_arch), byref(self.device))

    def must(self, name: str, *arguments: Any, where: Where | None = None) -> None:
        """Calls a function and raises if it returns an error."""
        code = self.interface.call(name, *arguments)
        if code:
            raise self.failure(name, code, where)

    def failure(self, name: str, code: int, where: Where | None = None) -> BackendCrash:
        """The error for a code: the library's text for it, and its last log lines."""
        said = [text for level, text in self.lines if level == LogLevel.ERROR][-3:]
        return BackendCrash(
            f"{self.path.name}: {name} returned {code} ({self.message(code)})"
            + (f"; its log says: {' | '.join(said)}" if said else ""),
            where,
            do=f"see edgewright explain {code}",
        )

    def message(self, code: int) -> str:
        """The library's own message for a code."""
        text = c_char_p()
        if not self.interface.has("errorGetMessage") or self.interface.call(
            "errorGetMessage", code, byref(text)
        ):
            return "no message"
        return (text.value or b"no message").decode(errors="replace")

    def operations(self) -> list[str]:
        """The ops that the backend knows."""
        count, names = c_uint32(), ctypes.POINTER(OperationName)()
        self.must("backendGetSupportedOperations", self.backend, byref(count), byref(names))
        return sorted({names[index].name.decode() for index in range(count.value)})

    @contextmanager
    def heard(self) -> Iterator[list[str]]:
        """Collects what is logged inside the block."""
        texts: list[str] = []
        self._heard = texts
        yield texts
        self._heard = None

    def _backend_configs(self, platform: str) -> Any:
        if not platform:
            return None
        config = Config(option=_PLATFORM)
        config.value.custom = ctypes.addressof(self.kept.add(ctypes.create_string_buffer(platform.encode())))
        return configs([config], self.kept)

    def _device_configs(self, soc_model: int, dsp_arch: int | None) -> Any:
        kind = HtpDeviceConfigNarrow if self.version.is_narrow else HtpDeviceConfig
        soc = kind(option=_SOC)
        soc.value.soc_model = soc_model
        customs = [soc]
        if dsp_arch is not None:
            arch = kind(option=_ARCH)
            arch.value.arch.arch = dsp_arch
            customs.append(arch)
        return configs([custom_config(item, self.kept) for item in customs], self.kept)

    def _said(self, form: bytes, level: int, _time: int, arguments: int) -> None:
        room = ctypes.create_string_buffer(LONGEST_LINE)
        _VSNPRINTF(room, LONGEST_LINE, c_char_p(form), c_void_p(arguments))
        text = re.sub(r"\s+", " ", room.value.decode(errors="replace")).strip()
        if len(self.lines) > LINES_KEPT:
            del self.lines[: LINES_KEPT // 2]
        self.lines.append((level, text))
        if self._heard is not None:
            self._heard.append(text)


def custom_config(custom: ctypes.Structure, kept: Kept) -> Config:
    """A configuration that only one backend knows."""
    config = Config(option=_CUSTOM)
    config.value.custom = ctypes.addressof(kept.add(custom))
    return config


def configs(items: list[Config], kept: Kept) -> Any:
    """An array of pointers to configurations that ends with NULL; None where there are none."""
    if not items:
        return None
    kind = ctypes.POINTER(Config)
    pointers = [ctypes.pointer(kept.add(item)) for item in items]
    return kept.add((kind * (len(items) + 1))(*pointers, kind()))
