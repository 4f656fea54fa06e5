"""Phones, tablets, headsets and PCs by the names that they are sold under, and the chips inside of them."""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# Makers, the family name that people leave out, and what is not a letter, a digit or a plus.
_NOISE = re.compile(
    r"samsung|galaxy|microsoft|google|lenovo|motorola|asus|sony|meta|dell|apple|qualcomm|thundercomm|robotics"
    r"|[^a-z0-9+]"
)


@dataclass(frozen=True)
class Device:
    """A device; ``chip`` is empty where none of its variants has one of Qualcomm's."""

    name: str
    chip: str = ""
    # Where variants are sold that have this chip, and the chip of the others.
    where: str = ""
    elsewhere: str = ""

    def __str__(self) -> str:
        """As in: Samsung Galaxy S24 has SM8650 in North America and China, elsewhere Exynos 2400."""
        if not self.chip:
            return f"{self.name} has {self.elsewhere}"
        return f"{self.name} has {self.chip}" + (
            f" {self.where}, elsewhere {self.elsewhere}" if self.where else ""
        )


@cache
def list_devices() -> dict[str, Device]:
    """All devices by their folded names."""
    table = json.loads((files("edgewright") / "_data" / "devices.json").read_text("utf-8"))
    return {_fold_name(name): Device(name, **entry) for name, entry in table.items()}


def find_device(text: str) -> Device | None:
    """The device of that name, with or without its maker's; None where it is not known."""
    return list_devices().get(_fold_name(text))


def _fold_name(text: str) -> str:
    return _NOISE.sub("", text.lower())
