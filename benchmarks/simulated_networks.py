"""How far simulation and float model are from the genuine emulator, network by network.

``python -m benchmarks.simulated_networks``: architectures of timm with random weights, in half precision and
quantized at our defaults, on images that did not calibrate. It needs timm, which no extra of ours installs.
"""

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import edgewright as ew
from benchmarks.architecture import build_architecture, convert_architecture
from benchmarks.distances import COLUMNS, FORMS, LIMITS_DB, Distance, measure_gap
from benchmarks.tables import Table, add_write_option

__all__ = ["measure"]

NAMES = (
    "mobilenetv2_035 mobilenetv3_small_050 efficientnet_b0 lcnet_035 regnety_002 ghostnet_050 resnet18 "
    "densenet121 repvit_m0_9 mobileone_s0 convnext_atto vit_tiny_patch16_224 mobilevit_xxs edgenext_xx_small"
)
CALIBRATING = 8


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
        yield Distance(name, form, measure_gap(emulated, simulated), measure_gap(emulated, real))


def _first(outputs: dict[str, Any]) -> Any:
    return next(iter(outputs.values()))


def main() -> None:
    """Prints rows as they come."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only architectures whose name holds this")
    parser.add_argument("--names", nargs="+", default=NAMES.split(), help="architectures of timm")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), help="number forms")
    add_write_option(parser)
    options = parser.parse_args()
    table, rows = (
        Table("simulated-networks", ("network", *COLUMNS), options, ("timm", "torch")),
        list[Distance](),
    )
    for name in (name for name in options.names if options.filter in name):
        for row in measure(name, options.forms):
            table.add(*row.list_cells())
            rows.append(row)
    missed = [f"{row.name} {row.form}" for row in rows if row.simulation_db < LIMITS_DB[row.form]]
    table.finish(f"Missed: {', '.join(missed) or 'none'}.")


if __name__ == "__main__":
    main()
