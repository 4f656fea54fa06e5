"""The demo: inspect, convert, run, quantize and compile a small real network, and check every step.

Everything is done with the command line tools and the three-line Python API, as a user would.
"""

import importlib.util
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import edgewright as ew

EXAMPLES = Path(__file__).parent
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"
DIGITS = EXAMPLES / "data" / "digits.npz"
INPUT, OUTPUT = "Input3", "Plus214_Output_0"
SHOWN = 5
CHIP, COMPILED = "SM8650", 20
# Every fifth digit calibrates: ten of each class. The others tell how good the result is.
CALIBRATION = 5

Images = NDArray[np.float32]
Labels = NDArray[np.uint8]


def main(folder: Path) -> int:
    """Runs all steps in a folder; a step that fails ends the demo with its exit code."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(DIGITS) as stored:
        images, labels = stored["images"].astype(np.float32), stored["labels"]
    inspect()
    convert(folder)
    run_on_files(folder, images[:SHOWN], labels[:SHOWN])
    score(folder, images, labels)
    compare(folder)
    quantize(folder, images, labels)
    compile_for_chip(folder, images)
    list_files(folder, began)
    return 0


def inspect() -> None:
    """What is in the source model?"""
    say(1, "Look at the model: a digit classifier from the ONNX model zoo")
    tool("edgewright", "inspect", MODEL)


def convert(folder: Path) -> None:
    """The three files of a QNN model."""
    say(2, "Convert it to a QNN model")
    tool("qnn-onnx-converter", "--input_network", MODEL, "--output_path", folder / "mnist.cpp")


def run_on_files(folder: Path, images: Images, labels: Labels) -> None:
    """Raw files in, raw files out."""
    say(3, f"Run it on {len(images)} digits in raw files")
    files = [folder / f"digit_{number}.raw" for number in range(len(images))]
    for file, image in zip(files, images, strict=True):
        image.tofile(file)  # one channel: 28 x 28 values are the same in NCHW and NHWC
    listed = folder / "inputs.txt"
    listed.write_text("".join(f"{INPUT}:={file}\n" for file in files), "utf-8")
    results = folder / "results"
    tool(
        *("qnn-net-run", "--model", folder / "mnist_net.json", "--backend", "libQnnCpu.so"),
        *("--input_list", listed, "--output_dir", results, "--profiling_level", "basic"),
    )
    described = json.loads((results / "run.json").read_text("utf-8"))["outputs"][0]
    for number, label in enumerate(labels):
        scores = np.fromfile(results / f"Result_{number}" / described["file"], described["file_dtype"])
        print(f"  Result_{number}: digit {label} is read as {scores.argmax()}")


def score(folder: Path, images: Images, labels: Labels) -> None:
    """The same model from Python."""
    say(4, f"Load it in Python and score it on {len(images)} labelled digits")
    print("  model = ew.load('mnist_net.json'); model.run({...})")
    model = ew.load(folder / "mnist_net.json")
    shape = (1, 28, 28, 1)
    found = [model.run({INPUT: image.reshape(shape)})[OUTPUT].argmax() for image in images]
    right = int(np.sum(np.array(found) == labels))
    print(f"  {right} of {len(labels)} digits are right: {100 * right / len(labels):.1f} %")


def compare(folder: Path) -> None:
    """The converted model against the original, on the same inputs."""
    say(5, "Compare the converted model with the original in ONNX Runtime")
    model, listed = folder / "mnist_net.json", folder / "inputs.txt"
    tool("edgewright", "run", model, "--input_list", listed, "--compare", MODEL)


def quantize(folder: Path, images: Images, labels: Labels) -> None:
    """Fixed point, simulated as the NPU computes it."""
    chosen = np.arange(len(images)) % CALIBRATION == 0
    say(6, f"Quantize it with {chosen.sum()} digits, and read the other {(~chosen).sum()} in fixed point")
    samples = folder / "calibration.npz"
    np.savez(samples, **{INPUT: images[chosen][:, None]})
    models = {"float": ew.convert(MODEL)}
    for precision in ("w8a8", "w4a8"):
        target = folder / f"mnist_{precision}.dlc"
        tool("edgewright", "quantize", MODEL, "--data", samples, "--precision", precision, "-o", target)
        models[precision] = ew.load(target)
        print()
    for name, model in models.items():
        backend = "cpu" if name == "float" else "htp-sim"
        feeds = ({INPUT: image[None, None]} for image in images[~chosen])
        found = [model.run(feed, backend=backend)[OUTPUT].argmax() for feed in feeds]
        right = int(np.sum(np.array(found) == labels[~chosen]))
        share = 100 * right / len(found)
        print(f"  {name:>5} on {backend}: {right} of {len(found)} digits are right: {share:.1f} %")


def compile_for_chip(folder: Path, images: Images) -> None:
    """A context binary: by Qualcomm's own compiler and emulator where its wheel is, or by the simulation."""
    is_genuine = bool(importlib.util.find_spec("onnxruntime_qnn")) and sys.platform == "linux"
    backend = "htp-native" if is_genuine else "htp-sim"
    say(7, f"Compile it for {CHIP} with {backend}, and run the binary")
    binary = folder / f"mnist_{CHIP}"
    tool(
        *("qnn-context-binary-generator", "--model", folder / "mnist_w8a8.dlc", "--backend", backend),
        *("--target", CHIP, "--binary_file", binary.name, "--output_dir", folder),
    )
    print()
    tool("edgewright", "check", binary.with_suffix(".bin"), "--target", CHIP)
    compiled = ew.load_context(binary.with_suffix(".bin"))
    simulated = ew.load(folder / "mnist_w8a8.dlc")
    feeds = [{INPUT: image[None, None]} for image in images[:: len(images) // COMPILED]]
    pairs = [(compiled.run(feed)[OUTPUT], simulated.run(feed, backend="htp-sim")[OUTPUT]) for feed in feeds]
    same = sum(bool(np.array_equal(first, second)) for first, second in pairs)
    print(f"\n  {same} of {len(pairs)} digits: {backend} and the simulation agree, bit for bit")


def list_files(folder: Path, began: float) -> None:
    """What is left on disk."""
    say(8, "What was written")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("digit_"):
            print(f"  {path.stat().st_size:8d} bytes  {path}")
    print(f"\nDone in {time.monotonic() - began:.1f} s.")


def say(number: int, title: str) -> None:
    """The heading of a step."""
    print(f"\n[{number}] {title}\n")


def tool(name: str, *words: object) -> None:
    """Runs a command line tool of this environment and shows the command."""
    program = Path(sys.executable).with_name(name)
    command = [name, *map(str, words)]
    print(f"  $ {shlex.join(command)}", flush=True)
    done = subprocess.run([str(program), *command[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("output", "demo")))
