"""How loud or large inputs are: where they differ by orders of magnitude, few samples show not all kinds."""

from collections.abc import Mapping

import numpy as np

from edgewright.core.numbers import Array

# Samples whose inputs differ by so many orders of magnitude of their size are worth telling.
MANY_ORDERS = 2.0


class InputEnergies:
    """The mean squares of every input that has real numbers."""

    def __init__(self) -> None:
        self._energies: dict[str, list[float]] = {}

    def add(self, sample: Mapping[str, Array]) -> None:
        """Takes in one more sample; what is nothing but zeros tells nothing."""
        for name, array in sample.items():
            energy = float(np.mean(np.square(array, dtype=np.float64))) if array.dtype.kind == "f" else 0.0
            if energy > 0 and np.isfinite(energy):
                self._energies.setdefault(name, []).append(energy)

    @property
    def scatter(self) -> float:
        """The standard deviation of their logarithms, of the input that scatters most."""
        return max((float(np.std(np.log(each))) for each in self._energies.values()), default=0.0)

    def describe_orders(self) -> str:
        """What to think of where inputs differ by orders of magnitude; empty where they do not."""
        for name, energies in self._energies.items():
            low, high = np.percentile(np.log10(energies), [2.5, 97.5]).tolist()
            # Energies are squares.
            if (high - low) / 2 >= MANY_ORDERS:
                return (
                    f"values of the input '{name}' differ by {(high - low) / 2:.1f} orders of magnitude from "
                    "sample to sample: such data often have kinds of samples that few of them show, and the "
                    "interval is wider for that; give samples of all kinds, the smallest and largest too"
                )
        return ""
