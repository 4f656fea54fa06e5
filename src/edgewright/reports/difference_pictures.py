"""Pictures of an output beside its reference, element by element: plain PNG files, written by ourselves."""

import struct
import zlib

import numpy as np

from edgewright.core.numbers import Array

# A panel is drawn at least so large, and of larger planes every n-th element is taken.
SMALLEST, LARGEST, STRIP, GAP = 96, 512, 24, 6
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw_difference(golden: Array, target: Array) -> bytes:
    """A PNG file: the reference, the output, and how far each element is from its reference (in red).

    Planes are the two largest axes of the first element; one axis becomes a strip.
    """
    first, second = (_take_plane(array) for array in (golden, target))
    if first.shape != second.shape:
        first, second = (_take_plane(array.reshape(-1)) for array in (golden, target))
        second = np.resize(second, first.shape)
    both = np.nan_to_num(np.stack([first, second]))
    low, reach = float(both.min()), float(both.max() - both.min()) or 1.0
    gap = np.nan_to_num(np.abs(second - first))
    panels = [_colour_plane((plane - low) / reach, is_red=False) for plane in both]
    panels.append(_colour_plane(gap / (float(gap.max()) or 1.0), is_red=True))
    axis = 0 if first.shape[0] == 1 else 1
    space = np.full(
        (GAP, panels[0].shape[1], 3) if axis == 0 else (panels[0].shape[0], GAP, 3), 255, np.uint8
    )
    return _encode(np.concatenate([panels[0], space, panels[1], space, panels[2]], axis=axis))


def _take_plane(array: Array) -> Array:
    values = np.asarray(array, np.float64)
    large = [axis for axis in range(values.ndim) if values.shape[axis] > 1]
    if len(large) < 2:
        plane = values.reshape(1, -1)
    else:
        axes = sorted(sorted(large, key=lambda axis: values.shape[axis])[-2:])
        plane = values[tuple(slice(None) if axis in axes else 0 for axis in range(values.ndim))]
    steps = [max(1, -(-size // LARGEST)) for size in plane.shape]
    thinned: Array = plane[:: steps[0], :: steps[1]]
    return thinned


def _colour_plane(shares: Array, *, is_red: bool) -> Array:
    """Colours of shares from 0 to 1: from black to white, or from white to red."""
    levels = np.rint(np.clip(shares, 0.0, 1.0) * 255).astype(np.uint8)
    pixels = (
        np.stack([np.full_like(levels, 255), 255 - levels, 255 - levels], -1) if is_red else levels[..., None]
    )
    pixels = np.broadcast_to(pixels, (*levels.shape, 3))
    height, width = levels.shape
    tall = STRIP if height == 1 else max(1, -(-SMALLEST // height))
    return pixels.repeat(tall, axis=0).repeat(max(1, -(-SMALLEST // width)), axis=1)


def _encode(pixels: Array) -> bytes:
    """PNG of 8 bits for each of three colours (PNG specification, 11.2: IHDR, IDAT, IEND)."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 3)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_make_chunk(*part) for part in parts)


def _make_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
