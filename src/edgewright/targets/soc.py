"""Chips by name, market name, architecture or number, and what is known about their HTP."""

import json
import logging
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.targets.devices import Device, find_device, list_devices

log = logging.getLogger(__name__)

# Hexagon architectures before this one have a DSP, which other libraries serve.
FIRST_HTP = 68
# The first one that computes in half precision (onnxruntime#21848).
FIRST_WITH_HALF = 73
# The chip that the HTP library assumes where only an architecture is given (measured, 2.51).
_OF_ARCH = {68: 30, 69: 36, 73: 43, 75: 57, 79: 69, 81: 87, 85: 103}
_ARCH = re.compile(r"v(?:ersion)?[ _-]?(\d{2})", re.IGNORECASE)
_NOISE = re.compile(r"^qualcomm|snapdragon|[^a-z0-9+]")


@dataclass(frozen=True)
class Soc:
    """One chip; 0 for numbers that are not public."""

    name: str
    # The numbers that QNN knows it by; the first one is the one to write.
    soc_models: tuple[int, ...] = ()
    arch: int = 0
    vtcm_mb: int = 0
    names: tuple[str, ...] = ()

    @property
    def soc_model(self) -> int:
        """The number to write into a device configuration."""
        return self.soc_models[0] if self.soc_models else 0

    @property
    def has_htp(self) -> bool:
        """Whether it is known to have an HTP that can be compiled for."""
        return self.arch >= FIRST_HTP and self.soc_model > 0

    def __str__(self) -> str:
        """Its name and what it is, as in: SM8650 (Snapdragon 8 Gen 3, v75, SoC 57)."""
        parts = [f"Snapdragon {name}" for name in self.names[:1]]
        parts += [f"v{self.arch}"] if self.arch else []
        parts += [f"SoC {self.soc_model}"] if self.soc_model else []
        return f"{self.name} ({', '.join(parts)})" if parts else self.name


@cache
def list_socs() -> dict[str, Soc]:
    """All chips by their names."""
    table = json.loads((files("edgewright") / "_data" / "socs.json").read_text("utf-8"))
    return {name: Soc(name, **{k: _freeze(v) for k, v in chip.items()}) for name, chip in table.items()}


def find_soc(text: str) -> Soc:
    """The chip that SM8650, 'Snapdragon 8 Gen 3', 'Galaxy S24 Ultra', v75 or its number 57 stands for."""
    word = str(text).strip()  # in Python, 57 is natural
    name = _map_spellings().get(_fold_spelling(word))
    if name is not None:  # first: 888 is a chip, not a SoC number
        return list_socs()[name]
    if re.fullmatch(r"[0-9]{1,9}", word):
        return find_soc_by_number(int(word))
    arch = _ARCH.fullmatch(word)
    if arch:
        return _of_arch(int(arch.group(1)))
    device = find_device(word)
    if device is not None:
        return _find_chip_inside(device)
    raise UsageError(
        f"target '{shown(text)}' is unknown, expected a chip (SM8650, 'Snapdragon 8 Gen 3'), "
        "a device ('Galaxy S24 Ultra'), an architecture (v75) or a SoC number (57)",
        do=_suggest_names(word),
    )


def find_htp_soc(text: str) -> Soc:
    """The same, for a chip whose HTP can be compiled for."""
    chip = find_soc(text)
    if chip.has_htp:
        return chip
    known = ", ".join(f"v{arch}" for arch in _OF_ARCH)
    if chip.arch:
        why = f"is Hexagon v{chip.arch}, the HTP begins with v{FIRST_HTP}"
    else:
        why = "has no HTP that is publicly known"
    raise UnsupportedFeature(f"target {chip.name} {why}", do=f"name its architecture if you know it: {known}")


def find_soc_by_number(number: int) -> Soc:
    """The chip with a SoC number of QNN; if there are several, the one that most is known about."""
    chips = [chip for chip in list_socs().values() if number in chip.soc_models]
    if chips:
        return max(chips, key=lambda chip: (chip.soc_model == number, bool(chip.vtcm_mb), bool(chip.arch)))
    for arch, model in _OF_ARCH.items():
        if model == number:
            return Soc(f"v{arch}", (number,), arch)
    known = sorted({model for chip in list_socs().values() if chip.has_htp for model in chip.soc_models})
    near = min(known, key=lambda model: abs(model - number))
    raise UsageError(
        f"no chip with SoC number {number} is known",
        do=f"the nearest with an HTP is {find_soc_by_number(near)}",
    )


@cache  # a build asks twice, and the warning is for once
def _find_chip_inside(device: Device) -> Soc:
    if not device.chip:
        raise UnsupportedFeature(
            f"{device}, which is none of Qualcomm's chips: nothing that is built here runs on it",
            do="name a device or a chip of Qualcomm's: edgewright targets lists them",
        )
    if device.where:
        log.warning("%s; what is built for %s does not run on the others", device, device.chip)
    return list_socs()[device.chip]


def _of_arch(arch: int) -> Soc:
    if arch in _OF_ARCH:
        return find_soc_by_number(_OF_ARCH[arch])
    known = ", ".join(f"v{each}" for each in _OF_ARCH)
    raise UsageError(f"architecture 'v{arch}' is unknown, expected one of: {known}", do="use one of them")


@cache
def _map_spellings() -> dict[str, str]:
    """Folded spelling -> name; a chip's own name comes before the market names of others."""
    market = {
        _fold_spelling(name): chip.name for chip in reversed(list_socs().values()) for name in chip.names
    }
    return market | {_fold_spelling(name): name for name in list_socs()}


def _fold_spelling(text: str) -> str:
    return _NOISE.sub("", text.lower())


def _suggest_names(word: str) -> str:
    from difflib import get_close_matches  # only needed once something is wrong

    spellings = get_close_matches(_fold_spelling(word), _map_spellings(), n=6, cutoff=0.6)
    names = list(dict.fromkeys(str(list_socs()[_map_spellings()[spelled]]) for spelled in spellings))[:3]
    devices = get_close_matches(word.lower(), {d.name.lower(): d for d in list_devices().values()}, n=1)
    names += [str(device) for device in list_devices().values() if device.name.lower() in devices]
    return f"nearest: {'; '.join(names)}" if names else "edgewright targets lists them"


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
