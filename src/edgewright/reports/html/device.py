"""How to run what was built: on a phone, in ONNX Runtime, and here."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from edgewright.build.records import BuildRecord
from edgewright.reports.html.verdict import name_chip

FOLDER = "/data/local/tmp/edgewright"


@dataclass(frozen=True)
class Recipe:
    """One way to run it; ``code`` is copied as it is, in the folder of the report."""

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


def _make_phone_recipe(record: BuildRecord, binary: str) -> Recipe:
    version = record.architecture.lstrip("vV")
    name = PurePosixPath(binary).name
    libraries = [
        "bin/aarch64-android/qnn-net-run",
        "lib/aarch64-android/libQnnHtp.so",
        f"lib/aarch64-android/libQnnHtpV{version}Stub.so",
        f"lib/hexagon-v{version}/unsigned/libQnnHtpV{version}Skel.so",
    ]
    pushed = " \\\n  ".join(f"$QAIRT_SDK_ROOT/{path}" for path in libraries)
    run = (
        f"cd {FOLDER} && export LD_LIBRARY_PATH=. ADSP_LIBRARY_PATH=. &&\n"
        f"  ./qnn-net-run --retrieve_context {name} --backend libQnnHtp.so"
        " --input_list inputs.txt --output_dir results"
    )
    code = (
        f"adb push {shlex.quote(binary)} inputs.txt inputs {FOLDER}/\n"
        f"adb push {pushed} \\\n  {FOLDER}/\n"
        f"adb shell {shlex.quote(run)}\n"
        f"adb pull {FOLDER}/results"
    )
    text = (
        "inputs.txt names a raw float32 file of each input on a line, as in name:=inputs/0.raw. The libraries"
    )
    return Recipe("On a phone: qnn-net-run", f"{text} come from Qualcomm's SDK (QAIRT).", code)


def _make_runtime_recipe(record: BuildRecord, wrapper: str) -> Recipe:
    shapes = [list(tensor.shape) for tensor in record.contract if tensor.role == "input"]
    name, shape = _find_first_input(record), shapes[0] if shapes else []
    code = f"""import numpy as np
import onnxruntime as ort

# The file names the context binary beside it: keep them together.
options = {{"backend_path": "QnnHtp.dll"}}  # libQnnHtp.so on Linux and Android
session = ort.InferenceSession({wrapper!r}, providers=[("QNNExecutionProvider", options)])
print(session.run(None, {{{name!r}: np.zeros({shape}, np.float32)}})[0])"""
    text = (
        "On Windows on Snapdragon, Android or Linux, with ONNX Runtime's QNN execution provider (EPContext)."
    )
    return Recipe("ONNX Runtime", text, code)


def _make_compile_recipe(record: BuildRecord, dlc: str) -> Recipe:
    code = (
        "pip install 'edgewright[native]'\n"
        f"qnn-context-binary-generator --model {shlex.quote(dlc)} --backend libQnnHtp.so"
        f" --binary_file model --target {shlex.quote(name_chip(record, is_short=True))}"
    )
    text = "This build had no genuine compiler: its context binary is for the simulation only."
    return Recipe("For a device, compile the DLC", text, code)


def _list_local_recipes(record: BuildRecord, dlc: str, binary: str) -> Iterator[Recipe]:
    if binary:
        path = shlex.quote(binary)
        yield Recipe(
            "On this machine",
            "The chip's arithmetic: on the emulator where its wheel is installed, else in the simulation.",
            f"qnn-net-run --retrieve_context {path} --backend libQnnHtp.so --input_list inputs.txt\n"
            f"edgewright check {path} --target {shlex.quote(name_chip(record, is_short=True))}",
        )
    if dlc:
        yield Recipe(
            "In Python",
            "Numpy in, numpy out.",
            "import edgewright as ew\n\n"
            f"model = ew.load({dlc!r})\n"
            f'outputs = model.run({{{_find_first_input(record)!r}: array}}, backend="htp-sim")',
        )


def _find_first_input(record: BuildRecord) -> str:
    return next((tensor.name for tensor in record.contract if tensor.role == "input"), "input")
