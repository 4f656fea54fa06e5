"""Small converted models for the tests of context binaries, and the tools as functions."""

import numpy as np
from onnx import helper

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.core.numbers import Array
from tests.cli.models import FLOAT, image_net, save

IS_NATIVE = find_libraries() is not None
NO_WHEEL = "the wheel onnxruntime-qnn is not installed here"


def quantized_net(folder, name="net", size=8, bits=8):
    """A quantized convnet as a DLC, and inputs for it."""
    source = image_net(folder / f"{name}.onnx", size=size)
    model = ew.convert(source, batch=1)
    samples = inputs(size, 4)
    quantized = ew.quantize(model, [{"image": sample} for sample in samples], act_bw=bits)
    quantized.save(folder / f"{name}.dlc")
    return folder / f"{name}.dlc"


def float_net(folder, name="float"):
    """The same in float32."""
    path = folder / f"{name}.dlc"
    ew.convert(image_net(folder / f"{name}.onnx", size=8), batch=1).save(path)
    return path


def mobile_net(path, size=64, channels=16, blocks=6):
    """Inverted residuals with random weights: expand, depthwise, project, add; then pool and classify."""
    rng = np.random.default_rng(11)
    constants, nodes, last = {}, [], "image"

    def conv(name, given, shape, activation="Clip", **attributes):
        fan_in = int(np.prod(shape[1:]))
        constants[f"{name}_w"] = (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)
        constants[f"{name}_b"] = (rng.standard_normal(shape[0]) * 0.1).astype(np.float32)
        words = [given, f"{name}_w", f"{name}_b"]
        nodes.append(helper.make_node("Conv", words, [f"{name}_c"], name=name, **attributes))
        if activation:
            nodes.append(helper.make_node(activation, [f"{name}_c", "zero", "six"], [f"{name}_a"]))
        return f"{name}_a" if activation else f"{name}_c"

    constants |= {"zero": np.float32(0), "six": np.float32(6)}
    last = conv("stem", last, (channels, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    for block in range(blocks):
        wide = conv(f"e{block}", last, (4 * channels, channels, 1, 1))
        deep = (4 * channels, 1, 3, 3)
        wide = conv(f"d{block}", wide, deep, pads=[1, 1, 1, 1], group=4 * channels)
        narrow = conv(f"p{block}", wide, (channels, 4 * channels, 1, 1), activation="")
        nodes.append(helper.make_node("Add", [last, narrow], [f"s{block}"], name=f"add{block}"))
        last = f"s{block}"
    constants["fc"] = rng.standard_normal((channels, 20)).astype(np.float32)
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"], name="pool"),
        helper.make_node("Flatten", ["pooled"], ["flat"], name="flat"),
        helper.make_node("MatMul", ["flat", "fc"], ["features"], name="classify"),
    ]
    io = [("image", FLOAT, [1, 3, size, size])], [("features", FLOAT, [1, 20])]
    return save(path, nodes, *io, constants)


def inputs(size=8, count=3) -> list[Array]:
    """Seeded images."""
    rng = np.random.default_rng(5)
    return [rng.standard_normal((1, 3, size, size)).astype(np.float32) for _ in range(count)]


def input_list(folder, size=8, count=3):
    """The same as raw files with their list."""
    lines = []
    for number, image in enumerate(inputs(size, count)):
        path = folder / f"in_{size}_{number}.raw"
        image.tofile(path)
        lines.append(f"image:={path}")
    listed = folder / f"list_{size}.txt"
    listed.write_text("\n".join(lines) + "\n")
    return listed
