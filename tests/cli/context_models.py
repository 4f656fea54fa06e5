"""Small converted models for the tests of context binaries, and the tools as functions."""

import numpy as np

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.core.numbers import Array
from tests.cli.models import image_net

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
