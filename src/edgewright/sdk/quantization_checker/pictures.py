"""Histograms of weights and biases: the float values, and what each variant stores of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from edgewright.analyse.quantization.compare_tensors import BIAS, WEIGHT, list_constants, store_constant
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.lower.names import NameTable
from edgewright.sdk.quantization_checker.variants import Variant

# Draws the float values and those of one variant under a title.
Draw = Callable[[str, Array, Array], bytes]
FOLDERS = {WEIGHT: "hist_analysis_weights", BIAS: "hist_analysis_biases"}
MOST_CHANNELS = 64


def write_pictures(variants: Sequence[Variant], folder: Path, draw: Draw, *, is_sliced: bool) -> None:
    """One file for each tensor and variant; where asked for, one for each of its channels too."""
    for variant in variants:
        for kind, home in FOLDERS.items():
            name_file = NameTable()
            for _, value in list_constants(variant.quantized, kind):
                stored = store_constant(variant.source, variant.quantized, value)
                if stored is None:
                    continue
                name = name_file(variant.quantized.source_names.get(value, value))
                title = f"{variant.quantized.source_names.get(value, value)} ({variant.name})"
                pairs = {"": (stored.real, stored.decoded)}
                if is_sliced:
                    pairs |= _list_slices(stored.real, stored.decoded)
                for suffix, (real, decoded) in pairs.items():
                    path = folder / home / f"{name}_{variant.name}{suffix}.png"
                    write_whole(path, [draw(f"{title}{suffix.replace('_', ' ')}", real, decoded)])


def _list_slices(real: Array, decoded: Array) -> dict[str, tuple[Array, Array]]:
    count = real.shape[-1] if real.ndim > 1 else 0
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_CHANNELS)).astype(int)) if count else ()
    return {f"_channel_{place}": (real[..., place], decoded[..., place]) for place in chosen}
