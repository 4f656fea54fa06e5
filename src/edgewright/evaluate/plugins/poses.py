"""Keypoints of poses in the maps of a CenterNet that sees people: regressed, then moved to peaks nearby."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.plugins.boxes import Placement

JOINTS = 17
# CenterNet's: peaks of joints of a lower score are none, and one may be so far away, as a share of the box.
LOWEST, FARTHEST = 0.1, 0.3


def find_keypoints(maps: Sequence[Array], rows: Array, columns: Array, corners: Array) -> Array | None:
    """Places [detection, joint, (x, y)] in pixels of the maps; None of a model without maps of joints."""
    regressed = [each for each in maps if each.shape[0] == 2 * JOINTS]
    if not regressed:
        return None
    moves = regressed[0][:, rows, columns].T.reshape(len(rows), JOINTS, 2)
    points: Array = moves.astype(float) + np.stack([columns, rows], 1)[:, None]
    heats = [each for each in maps if each.shape[0] == JOINTS]
    offsets = [each for each in maps if each.shape[0] == 2][2:]
    if not heats or not offsets:
        return points
    for joint in range(JOINTS):
        peaks = _list_peaks(heats[0][joint], offsets[0])
        points[:, joint] = _move_to_peaks(points[:, joint], peaks, corners)
    return points


def list_keypoints(points: Array, placement: Placement) -> list[float]:
    """As COCO's results have them: x, y in pixels of the image, and 1 for each joint."""
    placed = placement.place_in_image(np.concatenate([points, points], 1))[:, :2]
    return [float(value) for x, y in placed for value in (x, y, 1.0)]


def _list_peaks(heat: Array, offsets: Array) -> Array:
    """Places of values that none of their neighbours exceeds."""
    share = heat if heat.min() >= 0 and heat.max() <= 1 else 1 / (1 + np.exp(-heat.astype(float)))
    height, width = share.shape
    padded = np.pad(share, 1, constant_values=-np.inf)
    around = np.max([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)], 0)
    rows, columns = np.nonzero((share == around) & (share > LOWEST))
    return np.stack([columns + offsets[0][rows, columns], rows + offsets[1][rows, columns]], 1).astype(float)


def _move_to_peaks(points: Array, peaks: Array, corners: Array) -> Array:
    """The nearest peak inside the box, where it is near enough."""
    if not len(peaks):
        return points
    distances = np.linalg.norm(points[:, None] - peaks[None], axis=-1)
    nearest = distances.argmin(1)
    chosen, gaps = peaks[nearest], distances.min(1)
    is_inside = (chosen >= corners[:, :2]).all(1) & (chosen <= corners[:, 2:]).all(1)
    is_near = gaps <= FARTHEST * (corners[:, 2:] - corners[:, :2]).max(1)
    return np.where((is_inside & is_near)[:, None], chosen, points)
