"""How to run what was built: on a phone, in ONNX Runtime, and here; each runs as it is pasted, anywhere."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from edgewright.build.records import BuildRecord
from edgewright.ir.contract import IoTensor, dtype_of_word
from edgewright.reports.html.verdict import name_chip

PHONE_FOLDER = "/data/local/tmp/edgewright"
# One sample, which every build writes beside its models.
EXAMPLE, INPUT_LIST = "example", "example/inputs.txt"


@dataclass(frozen=True)
class Recipe:
    """One way to run it; ``code`` is copied as it is."""

    title: str
    text: str
    code: str


def list_recipes(record: BuildRecord) -> tuple[Recipe, ...]:
    """All ways that the written files allow."""
    paths = [artifact.path for artifact in record.artifacts]
    binary = next((path for path in paths if path.endswith("context.bin")), "")
    wrapper = next((path for path in paths if path.endswith("_ctx.onnx")), "")
    dlc = next((path for path in paths if path.endswith(".dlc")), "")
    recipes: list[Recipe] = []
    if binary and wrapper:
        recipes += [_make_phone_recipe(record, binary), _make_runtime_recipe(record, wrapper)]
    elif dlc:
        recipes.append(_make_compile_recipe(record, dlc))
    recipes += _list_local_recipes(record, dlc, binary)
    return tuple(recipes)


def _enter_folder(record: BuildRecord) -> str:
    return f"cd {shlex.quote(record.folder or '.')}\n"


def _make_phone_recipe(record: BuildRecord, binary: str) -> Recipe:
    version = record.architecture.lstrip("vV")
    name = PurePosixPath(binary).name
    libraries = [
        "bin/aarch64-android/qnn-net-run",
        "lib/aarch64-android/libQnnHtp.so",
        f"lib/aarch64-android/libQnnHtpV{version}Stub.so",
        f"lib/hexagon-v{version}/unsigned/libQnnHtpV{version}Skel.so",
    ]
    pushed = " \\\n  ".join(f'"$QAIRT_SDK_ROOT/{path}"' for path in libraries)
    run = (
        f"cd {PHONE_FOLDER} && export LD_LIBRARY_PATH=. ADSP_LIBRARY_PATH=. && chmod +x qnn-net-run &&\n"
        f"  ./qnn-net-run --retrieve_context {name} --backend libQnnHtp.so"
        f" --input_list {INPUT_LIST} --output_dir results"
    )
    code = (
        f"{_enter_folder(record)}"
        f"adb shell mkdir -p {PHONE_FOLDER}\n"
        f"adb push {shlex.quote(binary)} {EXAMPLE} {PHONE_FOLDER}/\n"
        f"adb push {pushed} \\\n  {PHONE_FOLDER}/\n"
        f"adb shell {shlex.quote(run)}\n"
        f"adb pull {PHONE_FOLDER}/results"
    )
    text = f"The libraries come from Qualcomm's SDK (QAIRT). {_describe_example()}"
    return Recipe("On a phone: qnn-net-run", text, code)


def _describe_example() -> str:
    return f"{INPUT_LIST} names the raw float32 files of one sample; yours go there in the same way."


def _make_runtime_recipe(record: BuildRecord, wrapper: str) -> Recipe:
    code = f"""from pathlib import Path

import numpy as np
import onnxruntime
import onnxruntime_qnn

PROVIDER = "QNNExecutionProvider"
onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(devices[:1], {{"backend_path": onnxruntime_qnn.get_qnn_htp_path()}})

folder = Path({record.folder or "."!r})
# The file names the context binary beside it: keep them together.
session = onnxruntime.InferenceSession(folder / {wrapper!r}, options)
inputs = {{
{_spell_feeds(record)}
}}
names = [output.name for output in session.get_outputs()]
for name, array in zip(names, session.run(names, inputs)):
    print(name, array.shape, array.ravel()[:10])"""
    types = ", ".join(f"{tensor.name} {_name_outside(tensor)}" for tensor in _list_inputs(record))
    text = (
        "On Windows on Snapdragon, Android or Linux, with ONNX Runtime's QNN execution provider"
        f" (pip install onnxruntime-qnn). It takes {types}, as the source does."
    )
    return Recipe("ONNX Runtime", text, code)


def _spell_feeds(record: BuildRecord) -> str:
    """A dictionary's lines: the example in the types and shapes that the ONNX file takes."""
    return "\n".join(f"    {tensor.name!r}: {_spell_feed(tensor)}," for tensor in _list_inputs(record))


def _spell_feed(tensor: IoTensor) -> str:
    word, shape = _name_outside(tensor), list(tensor.source_shape or tensor.shape)
    read = _read_example(tensor)
    if "fixed_point" in tensor.source_dtype:
        # Stored numbers, of which the real ones are scale times (stored plus offset).
        read = f"({read} / {tensor.scale!r} - {tensor.offset!r}).round()"
    return f"{read}{_spell_cast(word)}.reshape({shape})"


def _read_example(tensor: IoTensor) -> str:
    return f"np.fromfile(folder / '{EXAMPLE}/{tensor.name}.raw', np.float32)"


def _spell_cast(word: str) -> str:
    """Fixed point is given as real numbers."""
    return "" if word == "float32" or "fixed_point" in word else f".astype(np.{word})"


def _name_outside(tensor: IoTensor) -> str:
    """The type that ONNX Runtime takes: the source's, and the integers of one that is quantized."""
    return dtype_of_word(tensor.source_dtype or tensor.dtype).numpy.name


def _list_inputs(record: BuildRecord) -> list[IoTensor]:
    return [tensor for tensor in record.contract if tensor.role == "input"]


def _make_compile_recipe(record: BuildRecord, dlc: str) -> Recipe:
    code = (
        f"{_enter_folder(record)}"
        f"qnn-context-binary-generator --model {shlex.quote(dlc)} --backend libQnnHtp.so"
        f" --binary_file model --target {shlex.quote(name_chip(record, is_short=True))}"
    )
    text = (
        "This build had no genuine compiler: its context binary is for the simulation only."
        " Install it with pip install 'edgewright[native]'."
    )
    return Recipe("For a device, compile the DLC", text, code)


def _list_local_recipes(record: BuildRecord, dlc: str, binary: str) -> Iterator[Recipe]:
    if binary:
        path = shlex.quote(binary)
        yield Recipe(
            "On this machine",
            "The chip's arithmetic: on the emulator where its wheel is installed, else in the simulation."
            f" {_describe_example()}",
            f"{_enter_folder(record)}"
            f"qnn-net-run --retrieve_context {path} --backend libQnnHtp.so --input_list {INPUT_LIST}\n"
            f"edgewright check {path} --target {shlex.quote(name_chip(record, is_short=True))}",
        )
    if binary:
        yield Recipe("In Python", "Numpy in, numpy out: real numbers.", _spell_python(record, binary))
    elif dlc:
        yield Recipe("In Python", "Numpy in, numpy out: the quantized model.", _spell_python(record, dlc))


def _spell_python(record: BuildRecord, file: str) -> str:
    is_binary = file.endswith(".bin")
    load, chosen = ("load_context", "") if is_binary else ("load", ', backend="htp-sim"')
    feeds = "\n".join(
        f"    {tensor.name!r}: {_read_example(tensor)}{_spell_cast(tensor.dtype)}"
        f".reshape({list(tensor.shape)}),"
        for tensor in _list_inputs(record)
    )
    return f"""from pathlib import Path

import edgewright as ew
import numpy as np

folder = Path({record.folder or "."!r})
model = ew.{load}(folder / {file!r})
inputs = {{
{feeds}
}}
for name, array in model.run(inputs{chosen}).items():
    print(name, array.shape, array.ravel()[:10])"""
