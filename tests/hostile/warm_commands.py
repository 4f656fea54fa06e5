"""Commands that end before they start threads, one or more for each tool that hostile files are given to."""

from pathlib import Path

from tests.hostile import tensorflow_cases, tflite_cases
from tests.hostile.artifacts import SMALL, convert_small
from tests.hostile.config_cases import op, package

COMMANDS = (
    ("edgewright", "convert", "m.onnx", "-o", "out/a.cpp"),
    ("edgewright", "convert", "m.tflite", "-o", "out/b.cpp"),
    ("edgewright", "convert", "m.pb", "-o", "out/c.cpp"),
    ("edgewright", "inspect", "m.dlc"),
    ("edgewright", "quantize", "m.onnx", "--data", "bad.npz", "-o", "out/d.dlc"),
    ("edgewright", "build", "m.onnx", "--data", "bad.npz", "--target", "SM8650", "-o", "out/e"),
    (
        "qairt-converter",
        "-i",
        "m.onnx",
        "-o",
        "out/f.dlc",
        "--quantization_overrides",
        "e.json",
        "--float_fallback",
    ),
    ("qairt-converter", "-i", "m.onnx", "-o", "out/g.dlc", "--io_config", "bad.npz"),
    ("qnn-onnx-converter", "-i", "m.onnx", "-o", "out/h.cpp", "--custom_io", "bad.npz"),
    ("qnn-net-run", "--model", "m_net.json", "--backend", "cpu", "--input_list", "bad.txt"),
    ("qnn-net-run", "--model", "m.dlc", "--backend", "cpu", "--input_list", "bad.txt"),
    ("qnn-net-run", "--retrieve_context", "context.bin", "--backend", "cpu", "--input_list", "bad.txt"),
    ("qnn-op-package-generator", "-p", "p.xml", "-o", "out/i"),
    ("qnn-context-binary-utility", "--context_binary", "context.bin", "--json_file", "out/j.json"),
    ("qnn-model-lib-generator", "-c", "bad.txt", "-o", "out/k"),
)


def lay_out(folder: Path) -> None:
    """The files that they are given."""
    files = {
        **convert_small(),
        "m.onnx": SMALL,
        "m.tflite": tflite_cases.SOUND,
        "m.pb": tensorflow_cases.SOUND,
        "bad.npz": b"no archive",
        "bad.txt": b"gone.raw\n",
        "e.json": b'{"activation_encodings": {}, "param_encodings": {}}',
        "p.xml": package(op()).encode(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
