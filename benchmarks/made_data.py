"""Makes the data of the tables out of what was fetched: ``python -m benchmarks.made_data``; needs Pillow.

MNIST as one file, crops of photographs, and words as images.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data_words
from benchmarks.models import FETCHED
from benchmarks.sources import LIST

__all__ = ["crop_photographs", "make", "read_digits"]

SIDE = 224
PARTS = {"train": "train", "test": "t10k"}


def make(folder: Path = FETCHED) -> None:
    """Writes mnist.npz, calib_imgs54_u8_nchw.npz and words.npz where they are missing."""
    makers = {
        "mnist.npz": lambda path: np.savez_compressed(path, **read_digits(folder / "mnist")),
        "calib_imgs54_u8_nchw.npz": lambda path: np.savez_compressed(
            path, x=crop_photographs(folder / "photographs")
        ),
        "words.npz": lambda path: data_words.main(str(folder / "moby_dick.txt"), str(path)),
    }
    for name, write in makers.items():
        if not (folder / name).exists():
            # Beside its place first: a run that is interrupted leaves no half of it.
            write(folder / f"part_{name}")
            (folder / f"part_{name}").rename(folder / name)
            print(folder / name, flush=True)


def read_digits(folder: Path) -> dict[str, Any]:
    """The images and labels of MNIST's own files, behind their headers of 16 and 8 bytes."""
    arrays = {}
    for name, start in PARTS.items():
        images = np.fromfile(folder / f"{start}-images-idx3-ubyte", np.uint8)[16:]
        arrays[f"x_{name}"] = images.reshape(-1, 28, 28)
        arrays[f"y_{name}"] = np.fromfile(folder / f"{start}-labels-idx1-ubyte", np.uint8)[8:]
    return arrays


def crop_photographs(folder: Path) -> Any:
    """Six crops of each photograph, uint8 [54, 3, 224, 224]."""
    from PIL import Image

    crops = []
    for name, boxes in tomllib.loads(LIST.read_text("utf-8"))["photographs"].items():
        image = Image.open(folder / name).convert("RGB")
        for left, top, side in boxes:
            part = image.crop((left, top, left + side, top + side))
            crops.append(np.asarray(part.resize((SIDE, SIDE), Image.Resampling.BICUBIC)).transpose(2, 0, 1))
    return np.stack(crops)


if __name__ == "__main__":
    make(*map(Path, sys.argv[1:2]))
