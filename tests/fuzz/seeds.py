"""Sound files of each format to start from, small ones; of tests that have some already, where there are."""

import io
import json
import tempfile
import wave
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
from onnx import helper as h

from tests.hostile import config_cases
from tests.hostile.artifacts import convert_small, npy, zip_of
from tests.hostile.case import Case
from tests.hostile.onnx_cases import const, info, model

Seeds = Mapping[str, bytes]
LARGEST = 1 << 15
SDK = Path(__file__).parents[2] / "src" / "edgewright" / "_data" / "sdk"


def list_onnx() -> Seeds:
    """Models of ONNX's own tests."""
    from tests.backend.fuzz import models

    return {name: data for name, data in models() if len(data) < LARGEST}


def list_tflite() -> Seeds:
    """One model for each op."""
    from tests.unit.frontends.tflite.cases import float_cases
    from tests.unit.frontends.tflite.flow_cases import flow_cases
    from tests.unit.frontends.tflite.quantized_cases import quantized_cases

    return {case.name: case.data for case in (*float_cases(), *quantized_cases(), *flow_cases())}


def list_tensorflow() -> Seeds:
    """One graph for each op."""
    from tests.hostile.tensorflow_cases import CASES

    file = Path(__file__).parents[1] / "unit" / "frontends" / "tensorflow" / "cases.npz"
    cases = np.load(file, allow_pickle=False)
    stored = {name: cases[name].tobytes() for name in cases.files if cases[name].dtype == np.uint8}
    return {
        name: data for name, data in {**stored, **_pick(CASES[::7], "in/m.pb")}.items() if len(data) < LARGEST
    }


def list_torchscript() -> Seeds:
    """Archives that are written by hand."""
    from tests.unit.frontends.pytorch import hostile

    codes = (
        *("return torch.add(x, self.w)", "return torch.relu(x)", "return torch.matmul(x, self.w)"),
        *(
            "y = torch.reshape(x, [2, 2])\nreturn torch.softmax(y, 1)",
            "a = torch.split(x, 2, 0)\nreturn torch.cat(a, 0)",
        ),
        *("return torch.where(torch.gt(x, 0), x, self.w)", "return torch.sum(torch.mul(x, x))"),
    )
    with tempfile.TemporaryDirectory() as folder:
        for number, code in enumerate(codes):
            hostile.write(Path(folder) / f"{number}.pt", code=hostile.make_code(code))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def list_exported() -> Seeds:
    """Programs of torch.export."""
    import torch

    class Small(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([torch.relu(self.layer(x)), x[:, 1:2]], 1).softmax(-1)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.pt2"
        torch.export.save(torch.export.export(Small(), (torch.zeros(2, 4),)), path)
        return {"small": path.read_bytes()}


@cache
def convert_quantized() -> Seeds:
    """The files of a quantized model of several kinds of ops."""
    from edgewright.tools.qnn_context_binary_generator import main as generate
    from edgewright.tools.umbrella import main

    rng = np.random.default_rng(1)
    weights = [
        const("k", rng.normal(0, 1, (4, 1, 3, 3)).astype(np.float32)),
        const("b", np.zeros(4, np.float32)),
    ]
    weights += [const("w", rng.normal(0, 1, (16, 3)).astype(np.float32)), const("shape", np.array([1, 16]))]
    nodes = [
        h.make_node("Conv", ["x", "k", "b"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
        h.make_node("Relu", ["a"], ["c"]),
        h.make_node("Reshape", ["c", "shape"], ["d"]),
        h.make_node("MatMul", ["d", "w"], ["e"]),
        h.make_node("Softmax", ["e"], ["y"]),
    ]
    with (
        tempfile.TemporaryDirectory() as name,
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        folder = Path(name)
        (folder / "q.onnx").write_bytes(model(nodes, [info("x")], weights=weights).SerializeToString())
        np.save(folder / "x.npy", rng.normal(0, 1, (4, 1, 4, 4)).astype(np.float32))
        words = ["quantize", str(folder / "q.onnx"), "--data", str(folder / "x.npy"), "-o"]
        assert main([*words, str(folder / "q.dlc")]) == 0
        assert main([*words, str(folder / "q.cpp")]) == 0
        words = ["--model", str(folder / "q.dlc"), "--backend", "cpu", "--binary_file", "context"]
        assert generate([*words, "--output_dir", str(folder)]) == 0
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def list_converted(ending: str) -> Callable[[], Seeds]:
    """Those files of two converted models whose names end so."""

    def find() -> dict[str, bytes]:
        made = {f"float {k}": v for k, v in convert_small().items()}
        made |= {f"fixed {k}": v for k, v in convert_quantized().items()}
        return {name: data for name, data in made.items() if name.endswith(ending)}

    return find


def list_encodings() -> Seeds:
    """Both dialects, sound and not."""
    axis = {
        "name": "w",
        "enc_type": "PER_CHANNEL",
        "dtype": "INT",
        "bw": 4,
        "is_sym": True,
        "scale": [1.0] * 3,
        "offset": [-8] * 3,
    }
    block = {**axis, "name": "v", "enc_type": "PER_BLOCK", "block_size": 4}
    sound = {
        "0.x": {
            "version": "0.6.1",
            "activation_encodings": {"mid": [config_cases.entry()]},
            "param_encodings": {"w": [config_cases.entry()] * 3},
        },
        "1.0": {
            "version": "1.0.0",
            "activation_encodings": config_cases.listed()["activation_encodings"],
            "param_encodings": [axis],
        },
        "1.0 blocks": {"version": "1.0.0", "activation_encodings": [], "param_encodings": [block]},
        "2.0": config_cases.typed(),
        "2.0 axis": config_cases.typed(axis=0, y_scale=[1.0, 2.0], y_zero_point=[0, 1]),
    }
    return {**_pick(config_cases.CASES, "in/e.json"), **{k: json.dumps(v).encode() for k, v in sound.items()}}


def list_packages() -> Seeds:
    """Op packages: with parameters, defaults, enumerations, supplements."""
    from tests.cli.op_packages import XML

    enumeration = (
        "<Parameter><Name>mode</Name><Mandatory>false</Mandatory><Datatype>QNN_DATATYPE_UINT_32</Datatype>"
        "<Shape><Rank>SCALAR</Rank></Shape><Default>A</Default><Enumeration><Enum>A</Enum><Enum>B</Enum></Enumeration>"
        "</Parameter><UseDefaultTranslation>true</UseDefaultTranslation></OpDef>"
    )
    extended = config_cases.op(backend="HTP").replace("</OpDef>", enumeration)
    supported = "<SupportedOps><OpName>Thing</OpName></SupportedOps>"
    supplement = f'<SupplementalOpDefList Backend="CPU">{supported}</SupplementalOpDefList>'
    plain = config_cases.package(config_cases.op(), config_cases.op(name="Other"))
    sound = {
        "plain": plain,
        "parameters": XML,
        "enumeration": config_cases.package(extended),
        "supplement": plain.replace("</OpDefCollection>", f"{supplement}</OpDefCollection>"),
    }
    return {**_pick(config_cases.CASES, "in/p.xml"), **{k: v.encode() for k, v in sound.items()}}


IO_CONFIG = b"""Input Tensor Configuration:
  - Name: x
    Src Model Parameters:
      DataType: float32
      Layout: NCHW
    Desired Model Parameters:
      DataType: uint8
      Layout: NHWC
      Shape: 1,4,4,1
      Color Conversion: RGB
      QuantParams:
        Scale: 0.1
        Offset: -3
Output Tensor Configuration:
  - Name: y
    Desired Model Parameters:
      Layout: NHWC
"""
CUSTOM_IO = b"""- IOName: x
  Layout:
    Model: NCHW
    Custom: NHWC
  Datatype: uint8
  QuantParam:
    Type: QNN_DEFINITION_DEFINED
    Scale: 0.1
    Offset: 2
- IOName: y
  Datatype: float32
"""


def list_io_configs() -> Seeds:
    """A sound one, and those of the tests."""
    return {**_pick(config_cases.CASES, "in/io.yaml"), "sound": IO_CONFIG}


def list_sdk_files(*names: str) -> Callable[[], Seeds]:
    """Examples that the SDK root holds."""
    return lambda: {name: (SDK / name).read_bytes() for name in names}


def list_gguf() -> Seeds:
    """A small language model in two widths."""
    from edgewright.llm.quantize_model import choose_recipe, quantize_language_model
    from edgewright.llm.recipe import Recipe

    with tempfile.TemporaryDirectory() as name:
        folder, found = _write_tiny_checkpoint(Path(name) / "m"), {}
        for kind in ("f16", "q4_0"):
            path = Path(name) / f"{kind}.gguf"
            recipe = choose_recipe(Recipe(), None, has_text=False, gguf_type=kind)
            quantize_language_model(folder, recipe=recipe, output=path)
            found[kind] = path.read_bytes()
        return found


def list_checkpoint(file: str) -> Callable[[], Seeds]:
    """One file of a small language model's folder."""

    def find() -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as name:
            return {file: (_write_tiny_checkpoint(Path(name)) / file).read_bytes()}

    return find


@cache
def read_tiny_checkpoint() -> Seeds:
    """All files of a small language model's folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = _write_tiny_checkpoint(Path(name))
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _write_tiny_checkpoint(folder: Path) -> Path:
    from tests.unit.llm.checkpoints import write_checkpoint

    small = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1}
    return write_checkpoint(folder, **small, num_hidden_layers=1)


def list_images() -> Seeds:
    """Small pictures of every kind that is read, in colours, grey, with a palette and with 16 bits."""
    from PIL import Image

    colours = Image.fromarray(np.arange(64 * 3, dtype=np.uint8).reshape(8, 8, 3))
    forms = {"colours": colours, "grey": colours.convert("L"), "palette": colours.convert("P")}
    forms["deep"] = Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8))
    made = {}
    for kind in ("PNG", "BMP", "JPEG", "TIFF", "WEBP", "PPM"):
        for label, image in forms.items():
            file = io.BytesIO()
            try:
                image.save(file, kind)
            except (OSError, KeyError):
                continue  # this kind has no such form
            made[f"{kind} {label}"] = file.getvalue()
    return made


def list_sounds() -> Seeds:
    """A piece of sound in each width."""
    made = {}
    for width in (1, 2, 3, 4):
        file = io.BytesIO()
        with wave.open(file, "wb") as sound:
            sound.setnchannels(1 + width % 2)
            sound.setsampwidth(width)
            sound.setframerate(8000)
            sound.writeframes(bytes(range(240)))
        made[str(width)] = file.getvalue()
    return made


def list_arrays() -> Seeds:
    """Arrays of several types, shapes and orders."""
    plain = np.arange(64, dtype=np.float32).reshape(4, 1, 4, 4)
    forms = {
        "plain": plain,
        "double": plain.astype(np.float64),
        "bytes": plain.astype(np.uint8),
        "big": plain.astype(">f4"),
    }
    return {name: npy(array) for name, array in {**forms, "fortran": np.asfortranarray(plain)}.items()}


def list_archives() -> Seeds:
    """Archives of arrays."""
    import zipfile

    members = list_arrays()
    made = {name: zip_of(("x.npy", data)) for name, data in members.items()}
    packed = zip_of(
        ("x.npy", members["plain"]), ("labels.npy", npy(np.arange(4))), method=zipfile.ZIP_DEFLATED
    )
    return {**made, "packed": packed}


def list_boxes() -> Seeds:
    """Labels as COCO has them."""
    boxes = [{"image_id": 1, "category_id": 3, "bbox": [0, 0, 2.5, 4], "area": 10, "iscrowd": 0}]
    tree = {
        "images": [{"id": n, "file_name": f"{n}.png", "width": 8, "height": 8} for n in range(4)],
        "categories": [{"id": 3, "name": "cat"}],
        "annotations": boxes,
    }
    return {"boxes": json.dumps(tree).encode()}


def _pick(cases: Iterable[Case], key: str) -> dict[str, bytes]:
    """Files of cases that are hostile already."""
    contents = {case.name: case.files.get(key) for case in cases}
    plain = {
        k: v.encode() if isinstance(v, str) else v for k, v in contents.items() if isinstance(v, (str, bytes))
    }
    return {name: data for name, data in plain.items() if len(data) < LARGEST}


def list_backend_configs() -> Seeds:
    """What --config_file holds."""
    graphs = [{"graph_names": ["m"], "vtcm_mb": 4, "O": 3, "fp16_relaxed_precision": 1, "hvx_threads": 4}]
    devices = [{"soc_id": 57, "dsp_arch": "v75", "cores": [{"core_id": 0, "perf_profile": "burst"}]}]
    trees = {
        "graphs": {"graphs": graphs, "devices": devices},
        "context": {"context_configs": {"async_execute_queue_depth": 4, "context_priority": "high"}},
    }
    return {name: json.dumps(tree).encode() for name, tree in trees.items()}
