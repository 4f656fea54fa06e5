"""Real data for calibration and evaluation: digits, photographs, speech, text, files, rendered words.

What calibrates is never evaluated: different digits, crops, parts of recordings, pages and files.
"""

import sysconfig
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.models import FETCHED

__all__ = ["Material", "mdct"]

Array = NDArray[Any]
DIGITS = Path(__file__).parents[1] / "examples" / "data" / "digits.npz"
# The photographs are crops of a few scenes, so many of each: the first ones calibrate.
CROPS_OF_A_SCENE, CALIBRATING_CROPS = 6, 2
# Every so many-th word, page and file calibrates.
TURN = 4


@dataclass(frozen=True)
class Material:
    """Folders with mnist.npz, calib_imgs54_u8_nchw.npz, alsa_wav, moby_dick.txt, words.npz."""

    folders: tuple[Path, ...]
    is_calibrating: bool = False

    def digits(self, count: int) -> Iterator[Array]:
        """Digits 28 x 28, 0 to 255; without MNIST those of the repository."""
        part = self._digits("x", "images")
        yield from (part[i].astype(np.float32) for i in range(min(count, len(part))))

    def labels(self, count: int) -> list[int]:
        """What the digits are."""
        found: list[int] = self._digits("y", "labels")[:count].tolist()
        return found

    def photographs(self, count: int, height: int, width: int) -> Iterator[Array]:
        """Random crops and flips of photographs: [height, width, 3], 0 to 255, RGB."""
        images = _loaded(self._required("calib_imgs54_u8_nchw.npz"))["x"]
        turns = np.arange(len(images)) % CROPS_OF_A_SCENE
        of_us = turns < CALIBRATING_CROPS if self.is_calibrating else turns >= CALIBRATING_CROPS
        chosen = images[of_us]
        random = np.random.default_rng(11 if self.is_calibrating else 13)
        for number in range(count):
            yield _crop(random, chosen[number % len(chosen)].transpose(1, 2, 0), height, width)

    def speech(self, count: int, rate: int, length: int) -> Iterator[Array]:
        """Windows of recordings, -1 to 1, loudness varied."""
        files = sorted(self._required("alsa_wav").glob("*.wav"))
        random = np.random.default_rng(17 if self.is_calibrating else 19)
        for number in range(count):
            track = self._part(_track(files[number % len(files)], rate))
            at = int(random.integers(0, max(1, len(track) - length)))
            window = np.zeros(length, np.float32)
            part = track[at : at + length]
            window[: len(part)] = part
            yield window * np.float32(random.uniform(0.3, 1.0))

    def sentences(self, count: int, words: int) -> Iterator[list[str]]:
        """Runs of words of a novel, lower case."""
        text = _words(self._required("moby_dick.txt"))
        random = np.random.default_rng(23 if self.is_calibrating else 29)
        pages = np.arange(len(text) // 512)
        of_us = pages[(pages % TURN == 0) == self.is_calibrating]
        for _ in range(count):
            at = int(random.choice(of_us)) * 512 + int(random.integers(0, 512 - words))
            yield list(text[at : at + words])

    def files(self, count: int, size: int) -> Iterator[bytes]:
        """Beginnings and ends of files of this Python: sources, byte code, libraries, texts."""
        paths = _files(Path(sysconfig.get_paths()["stdlib"]))
        of_us = [path for number, path in enumerate(paths) if (number % TURN == 0) == self.is_calibrating]
        for path in of_us[:count]:
            data = path.read_bytes()
            yield data[:size] + data[-size:]

    def lines(self, count: int, height: int, width: int) -> Iterator[Array]:
        """Images of single words, or of photographs where no words.npz is there: [height, width, 3]."""
        found = self._find("words.npz")
        if found is None:
            yield from self.photographs(count, height, width)
            return
        images = _loaded(found)["images"]
        of_us = images[(np.arange(len(images)) % TURN == 0) == self.is_calibrating]
        for number in range(min(count, len(of_us))):
            yield _resized(of_us[number].astype(np.float32), height, width)

    def _digits(self, of_mnist: str, of_ours: str) -> Array:
        found = self._find("mnist.npz")
        if found is not None:
            return _loaded(found)[f"{of_mnist}_train" if self.is_calibrating else f"{of_mnist}_test"]
        stored = _loaded(DIGITS)[of_ours]
        # Sorted by class: a part of any order would have some classes only.
        order = np.random.default_rng(5).permutation(len(stored))
        return stored[order[:100] if self.is_calibrating else order[100:]]

    def _part(self, track: Array) -> Array:
        """The beginning of a recording calibrates, the rest is evaluated."""
        cut = len(track) * 2 // 5
        return track[:cut] if self.is_calibrating else track[cut:]

    def _find(self, name: str) -> Path | None:
        places = (folder / name for folder in (*self.folders, FETCHED))
        return next((place for place in places if place.exists()), None)

    def _required(self, name: str) -> Path:
        found = self._find(name)
        if found is None:
            places = [str(folder) for folder in self.folders]
            raise FileNotFoundError(f"no {name} in {places}: `make bench-models` makes it")
        return found


def mdct(window: Array) -> Array:
    """Magnitudes of the DCT of type 4, lower half, from 0 to 1."""
    size = len(window)
    turned = window * np.exp(-1j * np.pi * np.arange(size) / (2 * size))
    whole = np.fft.fft(turned, 2 * size)[:size] * np.exp(-1j * np.pi * (np.arange(size) + 0.5) / (2 * size))
    half = np.abs(whole.real[: size // 2])
    half -= half.min()
    return np.asarray(half / max(half.max(), 1e-9), np.float32)


@cache
def _loaded(path: Path) -> dict[str, Array]:
    with np.load(path) as stored:
        return {name: stored[name] for name in stored}


@cache
def _track(path: Path, rate: int) -> Array:
    with wave.open(str(path)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        given = file.getframerate()
    # A moving average keeps what the lower rate cannot hold out of it.
    width = max(1, given // rate)
    smooth = np.convolve(raw, np.ones(width) / width, "same")
    places = np.arange(int(len(raw) * rate / given)) * (given / rate)
    return np.interp(places, np.arange(len(raw)), smooth).astype(np.float32)


@cache
def _words(path: Path) -> tuple[str, ...]:
    text = path.read_text("utf-8", errors="ignore").lower()
    return tuple("".join(c if c.isascii() and c.isalpha() else " " for c in text).split())


@cache
def _files(root: Path) -> tuple[Path, ...]:
    kinds = ("*.py", "*.pyc", "*.so", "*.txt", "*.cfg", "*.json", "*.html")
    found = sorted(path for kind in kinds for path in root.rglob(kind) if path.is_file())
    kept = [path for path in found if path.stat().st_size > 2048 and "site-packages" not in path.parts]
    random = np.random.default_rng(31)
    return tuple(kept[i] for i in random.permutation(len(kept)))


def _crop(random: np.random.Generator, image: Array, height: int, width: int) -> Array:
    rows, columns = image.shape[:2]
    part = random.uniform(0.5, 1.0)
    tall, wide = int(rows * part), int(columns * part)
    if height < width:
        tall = max(8, int(tall * height / width))
    top, left = int(random.integers(0, rows - tall + 1)), int(random.integers(0, columns - wide + 1))
    crop = image[top : top + tall, left : left + wide].astype(np.float32)
    return _resized(crop[:, ::-1] if random.random() < 0.5 else crop, height, width)


def _resized(image: Array, height: int, width: int) -> Array:
    """Bilinear, with the centres of pixels aligned."""
    for axis, size in ((0, height), (1, width)):
        given = image.shape[axis]
        place = np.clip((np.arange(size) + 0.5) * given / size - 0.5, 0, given - 1)
        low = np.floor(place).astype(int)
        part = (place - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(3)])
        high = np.minimum(low + 1, given - 1)
        image = image.take(low, axis) * (1 - part) + image.take(high, axis) * part
    return image
