"""How far simulation and float model are from the genuine emulator, in decibels, and what is asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["COLUMNS", "FORMS", "LIMITS_DB", "Distance", "measure_gap"]

COLUMNS = ("precision", "simulation to emulator, dB", "float to emulator, dB")
FORMS: dict[str, dict[str, Any]] = {"fp16": {"float_bw": 16}, "w8a8": {"act_bw": 8}, "w8a16": {"act_bw": 16}}
LIMITS_DB = {"fp16": 60.0, "w8a8": 35.0, "w8a16": 60.0}
# What is given where there is no noise at all.
IDENTICAL_DB = 120.0


@dataclass(frozen=True)
class Distance:
    """Decibels between the emulator and the two others."""

    name: str
    form: str
    simulation_db: float
    float_db: float

    def list_cells(self) -> list[str]:
        """The row of the table; what misses its limit is bold."""
        figure = "identical" if self.simulation_db >= IDENTICAL_DB else f"{self.simulation_db:.1f}"
        is_met = self.simulation_db >= LIMITS_DB[self.form]
        return [self.name, self.form, figure if is_met else f"**{figure}**", f"{self.float_db:.1f}"]


def measure_gap(emulated: Any, other: Any) -> float:
    """Decibels between the emulator and another run."""
    signal, noise = (np.square(array, dtype=np.float64).sum() for array in (emulated, emulated - other))
    return float(10 * np.log10(signal / max(noise, signal * 1e-12)))
