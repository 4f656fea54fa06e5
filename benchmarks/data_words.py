"""Renders words of a text as images for OCR models: python -m benchmarks.data_words TEXT words.npz.

Needs Pillow, which comes with its own scalable font; the benchmarks themselves do not.
"""

import sys
from pathlib import Path

import numpy as np

COUNT, HEIGHT, WIDTH = 800, 48, 320


def main(text: str, target: str) -> None:
    """Writes ``images``: uint8 [800, 48, 320, 3], dark words on light ground, sizes and grounds varied."""
    from PIL import Image, ImageDraw, ImageFont

    random = np.random.default_rng(3)
    letters = "".join(c if c.isalpha() else " " for c in Path(text).read_text("utf-8", errors="ignore"))
    words = [word for word in letters.split() if word.isascii() and 3 <= len(word) <= 14]
    images = np.zeros((COUNT, HEIGHT, WIDTH, 3), np.uint8)
    for number in range(COUNT):
        shown = " ".join(words[int(i)] for i in random.integers(0, len(words), random.integers(1, 3)))
        ground, ink = random.integers(170, 256, 3), random.integers(0, 90, 3)
        image = Image.new("RGB", (WIDTH, HEIGHT), tuple(ground.tolist()))
        font = ImageFont.load_default(int(random.integers(22, 34)))
        place = (int(random.integers(2, 12)), int(random.integers(0, 10)))
        ImageDraw.Draw(image).text(place, shown, fill=tuple(ink.tolist()), font=font)
        noise = random.normal(0, random.uniform(0, 8), (HEIGHT, WIDTH, 3))
        images[number] = np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)
    np.savez_compressed(target, images=images)


if __name__ == "__main__":
    main(*sys.argv[1:3])
