"""Networks of several kinds for the Saver: what draws a file and the shapes of its inputs."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from onnx import helper

from tests.cli.models import FLOAT, INT64, save

Feeds = list[dict[str, np.ndarray]]
RNG_SEED = 11


def draw(rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]]) -> Feeds:
    return [{name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()} for _ in range(3)]


def make_attention(path: Path) -> Feeds:
    """One head of attention and a sum."""
    rng = np.random.default_rng(RNG_SEED)
    weights = {n: (rng.standard_normal((16, 16)) / 4).astype(np.float32) for n in ("q", "k", "v")}
    nodes = [
        *(helper.make_node("MatMul", ["x", name], [f"x{name}"]) for name in "qkv"),
        helper.make_node("Transpose", ["xk"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["xq", "t"], ["raw"]),
        helper.make_node("Softmax", ["raw"], ["share"], axis=-1),
        helper.make_node("MatMul", ["share", "xv"], ["mixed"]),
        helper.make_node("Add", ["mixed", "x"], ["y"]),
    ]
    save(path, nodes, [("x", FLOAT, [1, 8, 16])], [("y", FLOAT, [1, 8, 16])], weights)
    return draw(rng, {"x": (1, 8, 16)})


def make_detector(path: Path) -> Feeds:
    """Two inputs, a resize, a concat, and two heads."""
    rng = np.random.default_rng(RNG_SEED)
    weights = {
        "w": (rng.standard_normal((8, 6, 3, 3)) / 6).astype(np.float32),
        "boxes": (rng.standard_normal((4, 8, 1, 1)) / 3).astype(np.float32),
        "scores": (rng.standard_normal((2, 8, 1, 1)) / 3).astype(np.float32),
        "sizes": np.float32([1, 1, 2, 2]),
    }
    nodes = [
        helper.make_node("Resize", ["small", "", "sizes"], ["up"], mode="nearest"),
        helper.make_node("Concat", ["large", "up"], ["both"], axis=1),
        helper.make_node("Conv", ["both", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "boxes"], ["place"]),
        helper.make_node("Conv", ["r", "scores"], ["raw"]),
        helper.make_node("Sigmoid", ["raw"], ["score"]),
    ]
    inputs = [("large", FLOAT, [1, 3, 8, 8]), ("small", FLOAT, [1, 3, 4, 4])]
    outputs = [("place", FLOAT, [1, 4, 8, 8]), ("score", FLOAT, [1, 2, 8, 8])]
    save(path, nodes, inputs, outputs, weights)
    return draw(rng, {"large": (1, 3, 8, 8), "small": (1, 3, 4, 4)})


def make_text_classifier(path: Path) -> Feeds:
    """Integers in: rows of a table, their mean, and a layer."""
    rng = np.random.default_rng(RNG_SEED)
    weights = {
        "table": rng.standard_normal((20, 8)).astype(np.float32),
        "w": rng.standard_normal((8, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "w"], ["y"]),
    ]
    save(path, nodes, [("ids", INT64, [1, 6])], [("y", FLOAT, [1, 3])], weights)
    return [{"ids": rng.integers(0, 20, (1, 6))} for _ in range(3)]


def make_depthwise(path: Path) -> Feeds:
    """A depthwise convolution, a hard swish, pools and a gate."""
    rng = np.random.default_rng(RNG_SEED)
    weights = {
        "d": (rng.standard_normal((8, 1, 3, 3)) / 3).astype(np.float32),
        "p": (rng.standard_normal((8, 8, 1, 1)) / 3).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "d"], ["c"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("HardSwish", ["c"], ["h"]),
        helper.make_node("GlobalAveragePool", ["h"], ["g"]),
        helper.make_node("Conv", ["g", "p"], ["e"]),
        helper.make_node("Sigmoid", ["e"], ["s"]),
        helper.make_node("Mul", ["h", "s"], ["m"]),
        helper.make_node("MaxPool", ["m"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    save(path, nodes, [("x", FLOAT, [1, 8, 8, 8])], [("y", FLOAT, [1, 8, 4, 4])], weights)
    return draw(rng, {"x": (1, 8, 8, 8)})


def make_sound_filter(path: Path) -> Feeds:
    """Convolutions along one axis, a tanh and a transposed convolution."""
    rng = np.random.default_rng(RNG_SEED)
    weights = {
        "a": (rng.standard_normal((8, 2, 5)) / 3).astype(np.float32),
        "b": (rng.standard_normal((8, 2, 4)) / 3).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["c"], strides=[2], pads=[2, 2]),
        helper.make_node("Tanh", ["c"], ["t"]),
        helper.make_node("ConvTranspose", ["t", "b"], ["y"], strides=[2], pads=[1, 1]),
    ]
    save(path, nodes, [("x", FLOAT, [1, 2, 32])], [("y", FLOAT, [1, 2, 32])], weights)
    return draw(rng, {"x": (1, 2, 32)})


KINDS: dict[str, Callable[[Path], Feeds]] = {
    "attention": make_attention,
    "detector": make_detector,
    "text": make_text_classifier,
    "depthwise": make_depthwise,
    "sound": make_sound_filter,
}
