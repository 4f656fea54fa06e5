"""Definitions of the ops that ONNX Runtime has no kernel for, written apart from `edgewright.ops`.

Element by element, from papers' formulas and from the documents that QNN's definitions name; where ONNX
Runtime has an op that is a part of the meaning (suppression, attention), it computes that part.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx.helper as oh
import onnxruntime
from onnx import ValueInfoProto
from scipy.linalg import hadamard
from scipy.ndimage import map_coordinates

from edgewright.core.numbers import Array

Definition = Callable[..., Sequence[Any]]
DEFINITIONS: dict[str, Definition] = {}


def defines(*names: str) -> Callable[[Definition], Definition]:
    def add(function: Definition) -> Definition:
        DEFINITIONS.update(dict.fromkeys(names, function))
        return function

    return add


def run_onnx(
    kind: str, inputs: Sequence[Array | None], outputs: int = 1, domain: str = "", **attributes: Any
) -> list[Array]:
    """One op in ONNX Runtime."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    node = oh.make_node(kind, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    given = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    values = [
        oh.make_tensor_value_info(name, oh.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    results = [ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    imports = [oh.make_opsetid("", 20), *([oh.make_opsetid(domain, 1)] if domain else [])]
    model = oh.make_model(oh.make_graph([node], "g", values, results), opset_imports=imports, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: list[Array] = session.run(None, given)
    return found


def keep_by_onnx(boxes: Array, scores: Array, iou: float, least: float, limit: int) -> list[int]:
    """Rows that ONNX's NonMaxSuppression keeps of one class, best first."""
    inputs = [
        boxes[None].astype(np.float32),
        scores[None, None].astype(np.float32),
        np.asarray([limit], np.int64),
        np.asarray([iou], np.float32),
        np.asarray([least], np.float32),
    ]
    return [int(row) for row in run_onnx("NonMaxSuppression", inputs)[0][:, 2]]


def fill(rows: Sequence[Any], count: int, shape: tuple[int, ...] = ()) -> Array:
    filled = np.zeros((count, *shape), np.float64)
    for place, row in enumerate(rows[:count]):
        filled[place] = row
    return filled


def iou_of(a: Sequence[float], b: Sequence[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return common / (areas - common) if areas > common else 0.0


@defines("GroupQueryAttention")
def attention(op: Any, *inputs: Array) -> list[Array]:
    """ONNX Runtime's contributed op: it takes its inputs in another order, and its cache grows."""
    given = [inputs[place] if place < len(inputs) else None for place in (0, 3, 4, 5, 6, 1, 2, 7, 8)]
    past, steps = given[3], inputs[0].shape[1]
    given[6] = np.asarray([steps if past is None else past.shape[2]], np.int32)
    heads = {"num_heads": op.num_heads, "kv_num_heads": op.kv_num_heads}
    result, *caches = run_onnx(
        "GroupQueryAttention", given, 3, "com.microsoft", do_rotary=op.do_rotary, scale=op.scale, **heads
    )
    for place, cache in enumerate(caches):
        end = int(inputs[1].max()) + 1
        length = (op.length or steps) if past is None else past.shape[2]
        whole = np.zeros((*cache.shape[:2], length, cache.shape[3]), cache.dtype)
        if past is not None:
            whole[:] = inputs[5 + place]
        whole[:, :, :end] = cache[:, :, :end]
        caches[place] = whole
    return [result, *caches]


@defines("ArgbToRgb")
def argb(op: Any, x: Array) -> list[Array]:
    first = 0 if op.input_order else 1
    order = [first + place for place in ((2, 1, 0) if op.reverse_output else (0, 1, 2))]
    return [np.stack([x[..., place] for place in order], -1)]


@defines("Nv12ToRgb", "Nv21ToRgb")
def camera(op: Any, x: Array) -> list[Array]:
    """From the luma of BT.601: Y = 0.299 R + 0.587 G + 0.114 B, Cb and Cr by B - Y and R - Y."""
    height, width = op.size
    result = np.zeros((len(x), height, width, 3))
    for image, row, column in product(range(len(x)), range(height), range(width)):
        pair = height * width + (row // 2) * width + column // 2 * 2
        first, second = float(x[image, pair]) - 128, float(x[image, pair + 1]) - 128
        cb, cr = (first, second) if type(op).__name__ == "Nv12ToRgb" else (second, first)
        luma = float(x[image, row * width + column])
        red, blue = luma + 2 * (1 - 0.299) * cr, luma + 2 * (1 - 0.114) * cb
        green = (luma - 0.299 * red - 0.114 * blue) / 0.587
        colours = [min(max(colour, 0), 255) for colour in (red, green, blue)]
        result[image, row, column] = colours[::-1] if op.output_order else colours
    return [np.floor(result + 1e-3) if x.dtype.kind in "iu" else result]


@defines("Im2Col")
def columns(op: Any, x: Array) -> list[Array]:
    """ONNX Runtime's convolution with kernels of a single one."""
    taps = [*product(range(op.kernel_size[0]), range(op.kernel_size[1]))]
    channels = x.shape[3]
    weights = np.zeros((channels * len(taps), channels, *op.kernel_size), np.float32)
    for channel, (index, tap) in product(range(channels), enumerate(taps)):
        weights[channel * len(taps) + index, channel, *tap] = 1
    (top, bottom), (left, right) = op.pad_amount
    (found,) = run_onnx(
        "Conv", [x.transpose(0, 3, 1, 2).astype(np.float32), weights],
        strides=list(op.stride), dilations=list(op.dilation), pads=[top, left, bottom, right],
    )  # fmt: skip
    return [found.reshape(*found.shape[:2], -1)]


@defines("ExtractPatches")
def patches(op: Any, x: Array) -> list[Array]:
    """TensorFlow's extract_patches, window by window."""
    counts, starts = [], []
    for axis in (0, 1):
        length, reach = x.shape[1 + axis], (op.size[axis] - 1) * op.rate[axis] + 1
        is_same = op.padding.name == "SAME"
        count = math.ceil(length / op.stride[axis]) if is_same else (length - reach) // op.stride[axis] + 1
        counts.append(count)
        starts.append(max(0, (count - 1) * op.stride[axis] + reach - length) // 2 if is_same else 0)
    result = np.zeros((len(x), *counts, op.size[0] * op.size[1] * x.shape[3]))
    for image, row, column in product(range(len(x)), range(counts[0]), range(counts[1])):
        patch = []
        for tap in product(range(op.size[0]), range(op.size[1])):
            places = [
                index * op.stride[axis] - starts[axis] + tap[axis] * op.rate[axis]
                for axis, index in enumerate((row, column))
            ]
            inside = 0 <= places[0] < x.shape[1] and 0 <= places[1] < x.shape[2]
            patch += [*x[image, places[0], places[1]]] if inside else [0.0] * x.shape[3]
        result[image, row, column] = patch
    return [result]


@defines("BatchToSpace", "SpaceToBatch")
def blocks(op: Any, x: Array) -> list[Array]:
    """Where TensorFlow's page says that an element goes; one op is the other backwards."""
    bh, bw = op.block_size
    is_forward = type(op).__name__ == "SpaceToBatch"
    (top, bottom), (left, right) = op.pad_amount if is_forward else op.crops
    images = len(x) if is_forward else len(x) // (bh * bw)
    factor = (1, 1) if is_forward else (bh, bw)
    height = x.shape[1] * factor[0] + (top + bottom) * (1 if is_forward else 0)
    width = x.shape[2] * factor[1] + (left + right) * (1 if is_forward else 0)
    batches = np.zeros((images * bh * bw, height // bh, width // bw, x.shape[3]))
    space = np.zeros((images, height, width, x.shape[3]))
    if is_forward:
        space[:, top : height - bottom, left : width - right] = x
    else:
        batches[:] = x
    for image, row, column in product(range(images), range(height), range(width)):
        batch = ((row % bh) * bw + column % bw) * images + image
        if is_forward:
            batches[batch, row // bh, column // bw] = space[image, row, column]
        else:
            space[image, row, column] = batches[batch, row // bh, column // bw]
    return [batches] if is_forward else [space[:, top : height - bottom, left : width - right]]


@defines("Correlation1D")
def correlation(op: Any, x: Array, other: Array) -> list[Array]:
    count, height, width, channels = x.shape
    result = np.zeros((count, height, width, 2 * op.displacement + 1))
    for image, row, column, place in product(*map(range, result.shape)):
        there = column + op.shift + place - op.displacement
        if 0 <= there < width:
            products = [
                float(x[image, row, column, c]) * float(other[image, row, there, c]) for c in range(channels)
            ]
            result[image, row, column, place] = sum(products) / channels
    return [result]


@defines("HadamardTransform")
def walsh(op: Any, x: Array) -> list[Array]:
    return [x @ hadamard(x.shape[-1]) * op.scale]


@defines("ImageProjectionTransform")
def projection(op: Any, x: Array, matrix: Array) -> list[Array]:
    """Scipy interpolates."""
    result = np.zeros(x.shape)
    for image, row, column in product(*map(range, x.shape[:3])):
        a0, a1, a2, b0, b1, b2, c0, c1 = (float(number) for number in matrix[image])
        scale = c0 * column + c1 * row + 1
        place = [(b0 * column + b1 * row + b2) / scale, (a0 * column + a1 * row + a2) / scale]
        for channel in range(x.shape[3]):
            result[image, row, column, channel] = map_coordinates(
                x[image, :, :, channel], np.reshape(place, (2, 1)),
                order=0 if op.interpolation_mode else 1, mode="grid-constant",
            )[0]  # fmt: skip
    return [result]


@defines("ExtractGlimpse")
def glimpse(op: Any, x: Array, offsets: Array) -> list[Array]:
    """TensorFlow's page: offsets from -1 to 1 around the middle, or from the corner; outside is zero here."""
    result = np.zeros((len(x), *op.size, x.shape[3]))
    for image, row, column in product(range(len(x)), *map(range, op.size)):
        places = []
        for axis, step in enumerate((row, column)):
            start, length = float(offsets[image, axis]), x.shape[1 + axis]
            if op.normalized and op.centered:
                start = (start + 1) * length / 2 - op.size[axis] / 2
            elif op.normalized:
                start = start * length
            elif op.centered:
                start = start + length / 2
            places.append(int(start) + step)
        if 0 <= places[0] < x.shape[1] and 0 <= places[1] < x.shape[2]:
            result[image, row, column] = x[image, places[0], places[1]]
    return [result]


@defines("Buffer")
def buffer(op: Any, x: Array) -> list[Array]:
    """The first run of a queue."""
    missing = list(x.shape)
    missing[op.buffer_dim] = op.buffer_size - x.shape[op.buffer_dim]
    parts = [x, np.zeros(missing)]
    return [np.concatenate(parts if op.mode.name == "NON_BLOCKING_LEFT" else parts[::-1], op.buffer_dim)]


@defines("CreateSparse")
def create_sparse(op: Any, places: Array, values: Array) -> list[Array]:
    return run_onnx("ScatterND", [np.zeros(op.shape, values.dtype), places.astype(np.int64), values])


@defines("GetSparseIndices")
def sparse_places(op: Any, x: Array) -> list[Array]:
    every = [*product(*map(range, x.shape[: op.shape[1]]))]
    specified = [place for place in every if np.any(x[place] != 0)]
    free = [place for place in every if place not in specified]
    return [np.asarray(sorted(specified + free[: op.shape[0] - len(specified)]))]


@defines("GetSparseValues")
def sparse_values(op: Any, x: Array) -> list[Array]:
    rows = x.reshape(-1, *op.shape[1:])
    return [np.asarray([row for row in rows if np.any(row != 0)])]


@defines("SparseToDense")
def dense(op: Any, x: Array) -> list[Array]:
    return [x]


@defines("MultiClassNms")
def multi_class(op: Any, boxes: Array, scores: Array, *features: Array) -> list[Array]:
    """ONNX's suppression class by class; soft suppression as in Bodla et al."""
    rows = []
    for own, score in zip(boxes, scores, strict=True):
        found = []
        for kind in range(score.shape[1]):
            if op.soft_nms_sigma:
                found += [(s, r, kind) for s, r in soft(own, score[:, kind], op)]
            else:
                kept = keep_by_onnx(own, score[:, kind], op.iou_threshold, op.score_threshold, len(own))
                found += [(float(score[row, kind]), row, kind) for row in kept]
        rows.append(sorted(found, key=lambda item: -item[0])[: op.max_num_boxes])
    return table(rows, boxes[:, :, None], op.max_num_boxes, features)


def soft(boxes: Array, scores: Array, op: Any) -> list[tuple[float, int]]:
    left = {row: float(score) for row, score in enumerate(scores)}
    kept = []
    while left:
        best = max(left, key=lambda row: left[row])
        score = left.pop(best)
        if score <= op.score_threshold:
            break
        kept.append((score, best))
        for row in left:
            ratio = iou_of(sort_box(boxes[best]), sort_box(boxes[row]))
            left[row] *= 0 if ratio > op.iou_threshold else math.exp(-(ratio**2) / (2 * op.soft_nms_sigma))
    return kept


def sort_box(box: Sequence[float]) -> list[float]:
    a, b, c, d = (float(number) for number in box)
    return [min(a, c), min(b, d), max(a, c), max(b, d)]


def table(rows: Sequence[Any], boxes: Array, room: int, features: Sequence[Array] = ()) -> list[Array]:
    def of(image: int, row: int, kind: int) -> Array:
        own: Array = boxes[image, row, min(kind, boxes.shape[2] - 1)]
        return own

    return [
        np.stack([fill([of(i, r, k) for _, r, k in found], room, (4,)) for i, found in enumerate(rows)]),
        np.stack([fill([s for s, _, _ in found], room) for found in rows]),
        np.stack([fill([k for _, _, k in found], room) for found in rows]),
        np.asarray([len(found) for found in rows]),
        *(
            np.stack(
                [fill([f[i, r] for _, r, _ in found], room, f.shape[2:]) for i, found in enumerate(rows)]
            )
            for f in features
        ),
    ]


@defines("CombinedNms")
def combined(op: Any, boxes: Array, scores: Array) -> list[Array]:
    rows = []
    for own, score in zip(boxes, scores, strict=True):
        found = []
        for kind in range(score.shape[1]):
            corners = own[:, min(kind, own.shape[1] - 1)]
            limit = op.max_boxes_per_class
            kept = keep_by_onnx(corners, score[:, kind], op.iou_threshold, op.score_threshold, limit)
            found += [(float(score[row, kind]), row, kind) for row in kept]
        total = op.max_total_boxes
        if op.pad_per_class:
            total = min(total, op.max_boxes_per_class * score.shape[1])
        rows.append(sorted(found, key=lambda item: -item[0])[: min(total, op.max_num_boxes)])
    return table(rows, np.clip(boxes, 0, 1) if op.clip_boxes else boxes, op.max_num_boxes)


@defines("DetectionOutput")
def detection(op: Any, scores: Array, deltas: Array, anchors: Array) -> list[Array]:
    """The fast way, as TFLite's page has it: every anchor stands for its best class."""
    rows, corners = [], np.zeros((len(scores), len(anchors), 4))
    for image, own in enumerate(scores):
        for row, (anchor, delta) in enumerate(zip(anchors, deltas[image], strict=True)):
            y, x, height, width = (float(n) / f for n, f in zip(delta, op.delta_scaling_factors, strict=True))
            centre = [y * anchor[2] + anchor[0], x * anchor[3] + anchor[1]]
            half = [math.exp(height) * anchor[2] / 2, math.exp(width) * anchor[3] / 2]
            corners[image, row] = [
                centre[0] - half[0],
                centre[1] - half[1],
                centre[0] + half[0],
                centre[1] + half[1],
            ]
        kinds = [1 + int(np.argmax(score[1:])) for score in own]
        best = np.asarray([own[row, kind] for row, kind in enumerate(kinds)])
        least = float(np.nextafter(np.float32(op.confidence_threshold), np.float32(-9)))
        kept = keep_by_onnx(corners[image], best, op.iou_threshold, least, len(best))
        rows.append([(float(best[row]), row, kinds[row]) for row in kept][: op.max_num_boxes])
    boxes, score, kind, count = table(rows, corners[:, :, None], op.max_num_boxes)
    return [score, boxes, kind, count]


@defines("AxisAlignedBboxTransform")
def aligned(op: Any, regions: Array, deltas: Array, owner: Array, sizes: Array) -> list[Array]:
    """R-CNN's equations 1 to 4, coordinate by coordinate."""
    result = np.zeros(deltas.shape)
    for row, kind in product(range(len(regions)), range(deltas.shape[1] // 4)):
        x1, y1, x2, y2 = (float(number) for number in regions[row])
        height, width = sizes[int(owner[row])]
        dx, dy, dw, dh = (
            float(d) / w for d, w in zip(deltas[row, 4 * kind : 4 * kind + 4], op.weights, strict=True)
        )
        x, y = (x1 + x2) / 2 + (x2 - x1) * dx, (y1 + y2) / 2 + (y2 - y1) * dy
        w, h = (x2 - x1) * math.exp(dw), (y2 - y1) * math.exp(dh)
        corners = [(x - w / 2, width), (y - h / 2, height), (x + w / 2, width), (y + h / 2, height)]
        result[row, 4 * kind : 4 * kind + 4] = [min(max(place, 0), limit) for place, limit in corners]
    return [result, [list(owner).count(image) for image in range(len(sizes))]]


@defines("BboxTransform")
def rotated(op: Any, regions: Array, deltas: Array, sizes: Array, owner: Array | None = None) -> list[Array]:
    """Caffe2's page of BBoxTransform with rotated boxes."""
    owners = [0] * len(regions) if owner is None else [int(image) for image in owner]
    result = np.zeros(deltas.shape)
    for row, kind in product(range(len(regions)), range(deltas.shape[1] // 5)):
        height, width, scale = (float(number) for number in sizes[owners[row]])
        x, y, w, h = (float(number) / scale for number in regions[row, :4])
        delta = deltas[row, 5 * kind : 5 * kind + 5]
        dx, dy, dw, dh = (float(d) / weight for d, weight in zip(delta, op.weights, strict=False))
        x, y = x + dx * w, y + dy * h
        w, h = (side * math.exp(min(d, math.log(62.5))) for side, d in ((w, dw), (h, dh)))
        angle = float(regions[row, 4]) + float(delta[4]) * 180 / math.pi
        if op.angle_bounds:
            low, high = op.angle_bounds
            angle += (high - low) if angle < low else (low - high) if angle > high else 0
        if abs(angle) <= op.angle_clip_threshold:
            x_limit, y_limit = math.floor(width / scale + 0.5), math.floor(height / scale + 0.5)
            xs = [min(max(place, 0), x_limit) for place in (x - w / 2, x + w / 2)]
            ys = [min(max(place, 0), y_limit) for place in (y - h / 2, y + h / 2)]
            x, y, w, h = sum(xs) / 2, sum(ys) / 2, xs[1] - xs[0], ys[1] - ys[0]
        factor = scale if op.apply_scale else 1.0
        result[row, 5 * kind : 5 * kind + 5] = [x * factor, y * factor, w * factor, h * factor, angle]
    return [result, [owners.count(image) for image in range(len(sizes))]]


@defines("HeatMapMaxKeyPoint")
def key_points(op: Any, maps: Array, boxes: Array) -> list[Array]:
    """Newton's step from the largest element, by differences of its neighbours."""
    count, height, width, points = maps.shape
    scores, places = np.zeros((count, points)), np.zeros((count, points, 2))
    for box, point in product(range(count), range(points)):
        heat = maps[box, :, :, point].astype(np.float64)
        row, column = divmod(int(heat.argmax()), width)

        def at(down: int, right: int, row: int = row, column: int = column, heat: Array = heat) -> float:
            r, c = abs(row + down), abs(column + right)
            return float(heat[min(r, 2 * height - 2 - r), min(c, 2 * width - 2 - c)])

        gx, gy = (at(0, 1) - at(0, -1)) / 2, (at(1, 0) - at(-1, 0)) / 2
        xx, yy = at(0, 1) + at(0, -1) - 2 * at(0, 0), at(1, 0) + at(-1, 0) - 2 * at(0, 0)
        xy = (at(1, 1) + at(-1, -1) - at(1, -1) - at(-1, 1)) / 4
        determinant = xx * yy - xy * xy
        dx = dy = 0.0
        if abs(determinant) >= 1e-3:
            dx, dy = (xy * gy - yy * gx) / determinant, (xy * gx - xx * gy) / determinant
            farthest = max(abs(dx), abs(dy))
            if farthest > 1.5:
                dx, dy = dx * 1.5 / farthest, dy * 1.5 / farthest
        scores[box, point] = at(0, 0) + gx * dx + gy * dy + xx * dx * dx / 2 + yy * dy * dy / 2 + xy * dx * dy
        x1, y1, x2, y2 = (float(number) for number in boxes[box])
        place = (x1 + (column + dx + 0.5) * (x2 - x1) / width, y1 + (row + dy + 0.5) * (y2 - y1) / height)
        places[box, point] = [round(p) for p in place] if boxes.dtype.kind == "i" else place
    return [scores, places]


@defines("BoxWithNmsLimit")
def limited(op: Any, boxes: Array, scores: Array, owner: Array) -> list[Array]:
    """Android's page of BOX_WITH_NMS_LIMIT."""
    rows = []
    for image, kind in product(sorted({int(i) for i in owner}), range(1, scores.shape[1])):
        own = [
            row for row in range(len(boxes)) if owner[row] == image and scores[row, kind] > op.score_threshold
        ]
        own.sort(key=lambda row: -float(scores[row, kind]))
        left = {
            row: float(scores[row, kind])
            for row in (own[: op.pre_nms_limit] if op.pre_nms_limit >= 0 else own)
        }
        while left:
            best = max(left, key=lambda row: left[row])
            score = left.pop(best)
            if op.nms_kernel_method and score <= op.nms_score_threshold:
                break
            rows.append((boxes[best, 4 * kind : 4 * kind + 4], score, kind, image, best))
            for row in [*left]:
                ratio = iou_of(*(boxes[r, 4 * kind : 4 * kind + 4].tolist() for r in (best, row)))
                if op.nms_kernel_method == 2:
                    left[row] *= math.exp(-ratio * ratio / op.sigma)
                elif ratio >= op.iou_threshold and op.nms_kernel_method == 1:
                    left[row] *= 1 - ratio
                elif ratio >= op.iou_threshold:
                    del left[row]
    rows = rows[: op.count]
    kinds, images = [row[2] for row in rows], [row[3] for row in rows]
    found = [
        fill([row[0] for row in rows], op.count, (4,)),
        *(fill([row[i] for row in rows], op.count) for i in (1, 2, 3)),
    ]
    if op.images:
        found.append(np.asarray([images.count(image) for image in range(op.images)]))
        found.append(fill([row[4] for row in rows], op.count))
        found.append(np.asarray([kinds.count(kind) for kind in range(scores.shape[1])]))
    return found


@defines("CollectRpnProposals")
def collected(op: Any, *inputs: Array | None) -> list[Array]:
    levels = [array for array in inputs if array is not None]
    half = len(levels) // 2
    pairs = [
        pair
        for rows, scores in zip(levels[:half], levels[half:], strict=True)
        for pair in zip(scores, rows, strict=True)
    ]
    best = sorted(pairs, key=lambda pair: -float(pair[0]))[: op.post_nms_top]
    return [fill([row for _, row in best], op.count, (5,))]


@defines("DistributeFpnProposals")
def distributed(op: Any, rows: Array) -> list[Array]:
    """Equation 1 of Lin et al., proposal by proposal."""
    levels: list[list[Array]] = [[] for _ in range(op.roi_max_level - op.roi_min_level + 1)]
    order = []
    for row in rows:
        x1, y1, x2, y2 = (float(number) for number in row[-4:])
        size = math.sqrt((x2 - x1) * (y2 - y1))
        level = math.floor(op.roi_canonical_level + math.log2(size / op.roi_canonical_scale + 1e-6))
        index = min(max(level, op.roi_min_level), op.roi_max_level) - op.roi_min_level
        order.append(index * len(rows) + len(levels[index]))
        levels[index].append(row)
    return [np.asarray(order), *(fill(level, len(rows), rows.shape[1:]) for level in levels)]


@defines("GenerateProposals")
def proposals(op: Any, scores: Array, deltas: Array, anchors: Array, sizes: Array) -> list[Array]:
    """Faster R-CNN's, anchor by anchor; ONNX suppresses."""
    found: list[tuple[float, Any, int]] = []
    for image in range(len(scores)):
        height, width = (float(number) for number in sizes[image])
        boxes = []
        for row, column, anchor in product(*map(range, scores.shape[1:])):
            x1, y1, x2, y2 = (float(number) for number in anchors[anchor])
            dx, dy, dw, dh = (float(d) for d in deltas[image, row, column, 4 * anchor : 4 * anchor + 4])
            if op.bbox_xform_clip:
                dw, dh = min(dw, math.log(62.5)), min(dh, math.log(62.5))
            x = (x1 + x2) / 2 + column * op.img_size_ratio[1] + dx * (x2 - x1)
            y = (y1 + y2) / 2 + row * op.img_size_ratio[0] + dy * (y2 - y1)
            w, h = (x2 - x1) * math.exp(dw), (y2 - y1) * math.exp(dh)
            xs = [min(max(place, 0), width) for place in (x - w / 2, x + w / 2)]
            ys = [min(max(place, 0), height) for place in (y - h / 2, y + h / 2)]
            boxes.append(((float(scores[image, row, column, anchor])), [xs[0], ys[0], xs[1], ys[1]]))
        boxes.sort(key=lambda pair: -pair[0])
        boxes = boxes[: op.pre_nms_limit]
        boxes = [(s, b) for s, b in boxes if b[2] - b[0] >= op.min_size and b[3] - b[1] >= op.min_size]
        corners, own = np.asarray([b for _, b in boxes]), np.asarray([s for s, _ in boxes])
        limit = op.post_nms_limit or len(boxes)
        found += [(*boxes[row], image) for row in keep_by_onnx(corners, own, op.iou_threshold, -1e9, limit)]
    return [
        fill([score for score, _, _ in found], op.count),
        fill([box for _, box, _ in found], op.count, (4,)),
        fill([image for _, _, image in found], op.count),
    ]
