"""What must work on 64-bit Arm; `make test-arm` runs it in qemu, and it can be run on a board as it is.

Not a test of pytest: a process in qemu starts no other ones, and pytest is not installed there.
"""

import ctypes
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"
QUANTIZED = EXAMPLES / "models" / "mnist_dscnn_int8.tflite"


def check_machine() -> str:
    assert platform.machine() in {"aarch64", "arm64"}, platform.machine()
    return f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"


def check_cpu() -> str:
    """A float model on our CPU backend, and the same in ONNX Runtime alone."""
    import onnxruntime

    import edgewright as ew

    feed = {"Input3": np.random.default_rng(0).random((1, 1, 28, 28), np.float32)}
    ours = ew.convert(MODEL).run(feed)["Plus214_Output_0"]
    theirs = onnxruntime.InferenceSession(MODEL).run(None, feed)[0]
    assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5), (ours, theirs)
    return f"ONNX Runtime {onnxruntime.__version__}"


def check_simulation() -> str:
    """A quantized model in the simulation of HTP: the digit that the CPU backend finds."""
    import edgewright as ew

    model = ew.convert(QUANTIZED)
    image = np.load(EXAMPLES / "data" / "digits.npz")["images"][0].astype(np.float32)
    feed = {model.inputs[0].name: image.reshape(model.inputs[0].shape) / 255}
    name = model.outputs[0].name
    digits = {model.run(feed, backend=backend)[name].argmax() for backend in ("cpu", "htp-sim")}
    assert len(digits) == 1, digits
    return f"digit {digits.pop()}"


def check_files() -> str:
    """A model that is written and read again."""
    import tempfile

    import edgewright as ew

    with tempfile.TemporaryDirectory() as folder:
        model = ew.convert(MODEL)
        model.save(Path(folder, "m.dlc"))
        feed = {"Input3": np.ones((1, 1, 28, 28), np.float32)}
        assert np.array_equal(
            ew.load(Path(folder, "m.dlc")).run(feed)["Plus214_Output_0"], model.run(feed)["Plus214_Output_0"]
        )
    return "DLC"


def check_libraries() -> str:
    """The genuine libraries load, and those without a chip answer."""
    from edgewright.abi.libraries import find_libraries
    from edgewright.backends.qnn.options import HtpOptions
    from edgewright.backends.qnn.system import SystemLibrary
    from edgewright.backends.qnn.worker import Host

    libraries = find_libraries()
    assert libraries is not None, "onnxruntime-qnn is not installed"
    for name in ("libQnnSystem.so", "libQnnHtpPrepare.so", "libQnnHtp.so", "libQnnSaver.so"):
        ctypes.CDLL(str(libraries.folder / name))
    if len(sys.argv) > 1:
        binary = np.fromfile(sys.argv[1], np.uint8)
        assert SystemLibrary(libraries.folder / "libQnnSystem.so").info(binary).soc_model == 57
    version = Host().start(str(libraries.folder), "libQnnIr.so", HtpOptions(soc_model=0), 1)
    return f"QNN {version.build_id}{', context binary read' if len(sys.argv) > 1 else ''}"


def check_htp() -> str:
    """HTP is the machine's own, or its absence is said and the simulation runs."""
    from edgewright.abi.libraries import has_htp
    from edgewright.backends.registry import find_backend

    name = find_backend("htp").name
    assert ("native" in name) == has_htp(), name
    return name


CHECKS: tuple[Callable[[], str], ...] = (
    check_machine,
    check_cpu,
    check_simulation,
    check_files,
    check_libraries,
    check_htp,
)


def main() -> int:
    """Run all checks; the first that fails ends the process with its traceback."""
    for check in CHECKS:
        sys.stdout.write(f"{check.__name__}: {check()}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
