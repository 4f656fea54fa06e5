"""How far simulation and float model are from the genuine emulator, network by network.

``python -m benchmarks.simulated_networks``: architectures of timm with random weights, in half precision and
quantized at our defaults, on images that did not calibrate. It needs timm, which no extra of ours installs.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import edgewright as ew
from benchmarks.architecture import build_architecture, convert_architecture
from benchmarks.tables import Table, add_write_option

__all__ = ["Distance", "measure"]

NAMES = (
    "mobilenetv2_035 mobilenetv3_small_050 efficientnet_b0 lcnet_035 regnety_002 ghostnet_050 resnet18 "
    "densenet121 repvit_m0_9 mobileone_s0 convnext_atto vit_tiny_patch16_224 mobilevit_xxs edgenext_xx_small"
)
FORMS: dict[str, dict[str, Any]] = {"fp16": {"float_bw": 16}, "w8a8": {"act_bw": 8}, "w8a16": {"act_bw": 16}}
LIMITS_DB = {"fp16": 60.0, "w8a8": 35.0, "w8a16": 60.0}
# What is given where there is no noise at all.
IDENTICAL_DB = 120.0
CALIBRATING = 8


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


def measure(name: str, forms: list[str]) -> Iterator[Distance]:
    """One architecture in several number forms."""
    model, image = build_architecture(name)
    converted = convert_architecture(model, image)
    given = converted.inputs[0].name
    random = np.random.default_rng(1)
    images = [{given: random.normal(size=image.shape).astype(np.float32)} for _ in range(CALIBRATING)]
    feed = {given: image.numpy()}
    real = _first(converted.run(feed, threads=1))
    for form in forms:
        fixed = ew.quantize(converted, None if form == "fp16" else images, **FORMS[form])
        simulated = _first(fixed.run(feed, backend="htp-sim", threads=1))
        emulated = _first(fixed.run(feed, backend="htp-native"))
        yield Distance(name, form, _measure_gap(emulated, simulated), _measure_gap(emulated, real))


def _first(outputs: dict[str, Any]) -> Any:
    return next(iter(outputs.values()))


def _measure_gap(emulated: Any, other: Any) -> float:
    signal, noise = (np.square(array, dtype=np.float64).sum() for array in (emulated, emulated - other))
    return float(10 * np.log10(signal / max(noise, signal * 1e-12)))


def main() -> None:
    """Prints rows as they come."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only architectures whose name holds this")
    parser.add_argument("--names", nargs="+", default=NAMES.split(), help="architectures of timm")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), help="number forms")
    add_write_option(parser)
    options = parser.parse_args()
    columns = ("network", "precision", "simulation to emulator, dB", "float to emulator, dB")
    table, rows = Table("simulated-networks", columns, options, ("timm", "torch")), list[Distance]()
    for name in (name for name in options.names if options.filter in name):
        for row in measure(name, options.forms):
            table.add(*row.list_cells())
            rows.append(row)
    missed = [f"{row.name} {row.form}" for row in rows if row.simulation_db < LIMITS_DB[row.form]]
    table.finish(f"Missed: {', '.join(missed) or 'none'}.")


if __name__ == "__main__":
    main()
