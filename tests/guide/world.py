"""What a reader of the guide is taken to have: models, inputs, lists and converted artifacts."""

import json
import shutil
import zipfile
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path

import numpy as np
from onnx import helper

import edgewright as ew
from edgewright.tools import (
    qairt_converter,
    qnn_accuracy_debugger,
    qnn_context_binary_generator,
    qnn_model_lib_generator,
    qnn_onnx_converter,
    umbrella,
)
from tests.cli.models import FLOAT, save

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "examples" / "models"
TARGET = "x86_64-linux-clang"
SAMPLES = 3


class World:
    """Artifacts by name, each made once and copied to whoever needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._make = cache(self._make_artifact)

    def bring(self, names: tuple[str, ...], place: Path) -> None:
        """Copy the named artifacts into a folder."""
        for name in names:
            shutil.copytree(self._make(name), place, dirs_exist_ok=True, symlinks=True)

    def _make_artifact(self, name: str) -> Path:
        place = self._folder / name
        place.mkdir()
        maker, *below = MAKERS[name]
        for other in below:
            shutil.copytree(self._make(other), place, dirs_exist_ok=True, symlinks=True)
        with chdir(place):
            maker(place)
        return place


def call(main: Callable[[list[str]], int], *words: object) -> None:
    """A tool that must do what it is asked to."""
    assert main([str(word) for word in words]) == 0, words


def make_digits(place: Path) -> None:
    """The digit classifier as model.onnx, with inputs as pixels and a list of them by absolute paths."""
    shutil.copy(MODELS / "mnist_cntk.onnx", place / "model.onnx")
    images = np.load(ROOT / "examples/data/digits.npz")["images"][:SAMPLES].astype(np.float32)
    for number, image in enumerate(images):
        image.tofile(place / f"{number}.raw")
        (image / 255).tofile(place / f"scaled{number}.raw")
    write_list(place / "input_list.txt", [f"{number}.raw" for number in range(SAMPLES)])
    write_list(place / "scaled_list.txt", [f"scaled{number}.raw" for number in range(SAMPLES)])


def make_tensorflow(place: Path) -> None:
    """A frozen graph and a SavedModel."""
    shutil.copy(MODELS / "mnist_cnn_fakequant_frozen.pb", place / "frozen_graph.pb")
    with zipfile.ZipFile(ROOT / "tests/unit/frontends/tensorflow/models.zip") as stored:
        stored.extractall(place, [name for name in stored.namelist() if name.startswith("saved/")])


def make_tflite(place: Path) -> None:
    """model.tflite."""
    shutil.copy(MODELS / "mnist_dscnn_int8.tflite", place / "model.tflite")


def make_torchscript(place: Path) -> None:
    """A traced model.pt."""
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU()).eval()
    torch.jit.trace(layers, torch.randn(1, 3, 8, 8)).save(str(place / "model.pt"))


def make_pair(place: Path) -> None:
    """Networks of two images, under each pair of names that the guide uses."""
    names = {
        "pair.onnx": ("data1", "data2", "out_1", "out_2"),
        "preserve.onnx": ("input1", "input2", "output1", "output2"),
        "eyes.onnx": ("input_left_eye", "input_right_eye", "gaze", "blink"),
        "layers.onnx": ("Input_1", "Input_2", "Output_1", "Output_2"),
        "custom.onnx": ("input_0", "input_1", "output_0", "output_1"),
    }
    for file, (first, second, sum_name, other) in names.items():
        pair_net(place / file, first, second, sum_name, other)
    rng = np.random.default_rng(4)
    for number in range(SAMPLES):
        for side in ("left", "right"):
            rng.random((1, 3, 8, 8), np.float32).tofile(place / f"{side}{number}.rawtensor")


def pair_net(path: Path, first: str, second: str, sum_name: str, other: str) -> None:
    """Both inputs through one convolution; the sum is an output, and so is its pool."""
    rng = np.random.default_rng(3)
    weights = {"w": (rng.standard_normal((3, 3, 3, 3)) / 4).astype(np.float32)}
    nodes = [
        helper.make_node("Conv", [first, "w"], ["a"], pads=[1, 1, 1, 1], name="conv_a"),
        helper.make_node("Conv", [second, "w"], ["b"], pads=[1, 1, 1, 1], name="conv_b"),
        helper.make_node("Add", ["a", "b"], [sum_name], name="add"),
        helper.make_node("Relu", [sum_name], [other], name="relu"),
    ]
    images = [(name, FLOAT, [1, 3, 8, 8]) for name in (first, second)]
    save(path, nodes, images, [(name, FLOAT, [1, 3, 8, 8]) for name in (sum_name, other)], weights)


def make_three_convolutions(place: Path) -> None:
    """The network of the guide's mixed precision: data_0, conv1_1, conv2_1, conv3_1 with named weights."""
    rng = np.random.default_rng(6)
    constants, nodes, value = {}, [], "data_0"
    for number in (1, 2, 3):
        constants[f"conv{number}_w_0"] = (rng.standard_normal((3, 3, 3, 3)) / 4).astype(np.float32)
        constants[f"conv{number}_b_0"] = rng.standard_normal(3).astype(np.float32)
        words = [value, f"conv{number}_w_0", f"conv{number}_b_0"]
        value = f"conv{number}_1"
        nodes.append(helper.make_node("Conv", words, [value], pads=[1, 1, 1, 1], name=f"conv{number}"))
    image = [1, 3, 8, 8]
    save(place / "three.onnx", nodes, [("data_0", FLOAT, image)], [(value, FLOAT, image)], constants)
    for number in range(SAMPLES):
        rng.standard_normal((1, 3, 8, 8)).astype(np.float32).tofile(place / f"image{number}.raw")
    write_list(place / "image_list.txt", [f"image{number}.raw" for number in range(SAMPLES)])


def make_converted(place: Path) -> None:
    """The digit classifier quantized: model.cpp, model.bin, model_net.json."""
    words = ("--input_list", place / "input_list.txt", "-o", place / "model.cpp")
    call(qnn_onnx_converter.main, "-i", place / "model.onnx", *words)


def make_library(place: Path) -> None:
    """Its model library, as the guide calls it."""
    words = ("-c", place / "model.cpp", "-b", place / "model.bin", "-t", TARGET, "-l", "QnnModel")
    call(qnn_model_lib_generator.main, *words, "-o", place)
    shutil.copy(place / TARGET / "libQnnModel.so", place / "libQnnModel.so")


def make_dlc(place: Path) -> None:
    """The digit classifier as a float DLC."""
    call(qairt_converter.main, "-i", place / "model.onnx", "-o", place / "inception_v3.dlc")


def make_context(place: Path) -> None:
    """A context binary of the quantized model."""
    words = ("--model", place / "model_net.json", "--backend", "libQnnHtp.so", "--output_dir", place)
    call(qnn_context_binary_generator.main, *words, "--binary_file", "qnngraph.serialized")


def make_golden(place: Path) -> None:
    """Outputs of all layers of the float model, as a framework gives them."""
    words = ("--framework", "onnx", "--model_path", place / "model.onnx", "--output_dirname", "golden")
    images = ("--input_tensor", "Input3", "1,1,28,28", place / "0.raw", "--working_dir", place / "work")
    call(qnn_accuracy_debugger.main, "--framework_diagnosis", *words, *images)


def make_inference(place: Path) -> None:
    """Outputs of all layers of the quantized model, with a mapping of their names."""
    words = ("--framework", "onnx", "--model_path", place / "model.onnx", "--output_dirname", "inference")
    more = ("--runtime", "htp-sim", "--architecture", TARGET, "--input_list", place / "input_list.txt")
    place_words = ("--working_dir", place / "work")
    call(qnn_accuracy_debugger.main, "--inference_engine", *words, *more, *place_words)


def make_encodings(place: Path) -> None:
    """Encodings as AIMET writes them, of the same model."""
    images = [np.fromfile(place / f"{number}.raw", np.float32) for number in range(SAMPLES)]
    samples = [{"Input3": image.reshape(1, 1, 28, 28)} for image in images]
    encodings = ew.quantize(place / "model.onnx", samples).encodings("0.6.1")
    (place / "aimet_encodings.json").write_text(json.dumps(encodings))


def make_detections(place: Path) -> None:
    """Two folders of the boxes, classes and scores of a detector that belong together."""
    write_tensors(place, {"detection_boxes": (6, 4), "detection_classes": (6,), "scores": (6,)})


def make_tensors(place: Path) -> None:
    """Two folders of a tensor, and its encoding."""
    write_tensors(place, {"scores": (50,)})
    entry = {"scores": [{"bitwidth": 8, "min": -3.0, "max": 3.0}]}
    (place / "qnn_encoding.json").write_text(
        json.dumps({"activation_encodings": entry, "param_encodings": {}})
    )


def write_tensors(place: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Golden tensors, and others that differ a little."""
    rng = np.random.default_rng(8)
    for folder in ("golden_tensors_dir", "target_tensors_dir"):
        (place / folder).mkdir()
    for name, shape in shapes.items():
        values = np.sort(rng.random(shape).astype(np.float32), axis=-1)
        values.tofile(place / f"golden_tensors_dir/{name}.raw")
        (values + np.float32(0.01)).tofile(place / f"target_tensors_dir/{name}.raw")


def make_sdk(place: Path) -> None:
    """A tree like that of the SDK."""
    call(umbrella.main, "sdk-root", "sdk")


def write_list(path: Path, names: list[str]) -> None:
    """A list of files beside it, by their paths from there."""
    path.write_text("".join(f"{name}\n" for name in names))


MAKERS: dict[str, tuple] = {
    "digits": (make_digits,),
    "tensorflow": (make_tensorflow, "digits"),
    "tflite": (make_tflite, "digits"),
    "torchscript": (make_torchscript,),
    "pair": (make_pair,),
    "three": (make_three_convolutions,),
    "converted": (make_converted, "digits"),
    "library": (make_library, "converted"),
    "dlc": (make_dlc, "digits"),
    "context": (make_context, "converted"),
    "golden": (make_golden, "digits"),
    "inference": (make_inference, "golden"),
    "encodings": (make_encodings, "converted"),
    "detections": (make_detections,),
    "tensors": (make_tensors,),
    "sdk": (make_sdk,),
}
