"""Hostile configurations of every tool, names that are markup, and files where others are expected."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper as h

from tests.hostile.artifacts import INPUT, npy, sound
from tests.hostile.case import Case, Content
from tests.hostile.onnx_cases import SOUND, model

SDK = Path(__file__).parents[2] / "src" / "edgewright" / "_data" / "sdk"
FILES: dict[str, Content] = {
    "in/m.onnx": SOUND.SerializeToString(),
    "in/m.dlc": sound("m.dlc"),
    "in/m_net.json": sound("m_net.json"),
    "in/m.bin": sound("m.bin"),
    "in/list.txt": "in/x.raw\n",
    "in/x.raw": INPUT.tobytes(),
    "in/x.npy": npy(np.zeros((4, 1, 4, 4), np.float32)),
}
# Texts that no configuration is.
TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "a number": "7",
    "a list": "[]",
    "a text": '"x"',
    "deep": "[" * 100_000,
    "not UTF-8": b"\xff\xfe\xff",
    "NUL": b"\0\0\0\0",
    "null": "null",
    "an unknown key": '{"nonsense": 1}',
}
JSON_TOOLS = {
    "throughput": ("qnn-throughput-net-run", "--config", "in/c.json", "--output", "out/r.json"),
    "bench": ("qnn-bench", "-c", "in/c.json", "-o", "out"),
    "quantization checker": ("qnn-quantization-checker", "--config_file", "in/c.json", "--model", "in/m.onnx", "--input_list", "in/list.txt", "--output_dir", "out"),
    "backend config": ("qnn-context-binary-generator", "--model", "in/m_net.json", "--backend", "cpu", "--binary_file", "c", "--output_dir", "out", "--config_file", "in/c.json"),
    "overrides": ("edgewright", "quantize", "in/m.onnx", "--data", "in/x.npy", "--quantization_overrides", "in/c.json", "-o", "out/m.dlc"),
    "architecture checker": ("qnn-architecture-checker", "-i", "in/c.json", "-o", "out"),
    "profile log": ("qnn-profile-viewer", "--input_log", "in/c.json", "--output", "out/p.csv"),
    "replay": ("edgewright", "replay", "in/c.json", "--backend", "cpu"),
    "model as JSON": ("edgewright", "inspect", "in/c.json"),
}  # fmt: skip
YAML_TOOLS = {
    "evaluator": ("qnn-accuracy-evaluator", "-config", "in/c.yaml", "-work_dir", "out"),
    "sweep": ("edgewright", "sweep", "in/c.yaml", "-o", "out"),
}


def list_texts() -> Iterator[Case]:
    """What is no configuration at all."""
    for tool, words in JSON_TOOLS.items():
        for label, text in TEXTS.items():
            # A table of nothing but unknown keys is a table: some tools warn, and go on with defaults.
            yield Case(f"{tool}: {label}", words, {**FILES, "in/c.json": text}, (2, 3, 4))
    for tool, words in YAML_TOOLS.items():
        for label, text in {**TEXTS, "tags": "model: !!python/object/apply:os.system ['touch pwned']\n", "references": "a: &a [1]\nb: *a\n", "tabs": "a:\n\t- b\n"}.items():  # fmt: skip
            yield Case(f"{tool}: {label}", words, {**FILES, "in/c.yaml": text}, (2, 3, 4))


def edit(name: str, *path: Any, value: Any) -> str:
    """An example of the SDK with one value replaced."""
    tree = json.loads((SDK / name).read_text())
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(tree)


def list_values() -> Iterator[Case]:
    """Values that no key has."""
    throughput, bench = "throughput_example.json", "bench_example.json"
    for label, text in {
        "an iteration of words": edit(throughput, "testCase", "iteration", value="many"),
        "10^30 iterations": edit(throughput, "testCase", "iteration", value=10**30), "a thread of no backend": edit(throughput, "testCase", "threads", 0, "backend", value="gone"),
        "no threads": edit(throughput, "testCase", "threads", value=[]), "a backend with ../": edit(throughput, "backends", 0, "backendPath", value="../../evil.so"),
        "a name of 5,000 letters": edit(throughput, "models", 0, "modelPath", value="x" * 5000), "NUL in a name": edit(throughput, "models", 0, "modelPath", value="a\0b"),
        "two models of one name": edit(throughput, "models", 1, "modelName", value="model_1"), "an interval of NaN": edit(throughput, "testCase", "threads", 0, "interval", value=float("nan")),
    }.items():  # fmt: skip
        yield Case(
            f"throughput: {label}", JSON_TOOLS["throughput"], {**FILES, "in/c.json": text}, (2, 3, 4, 6)
        )
    for label, text in {
        "runs below 0": edit(bench, "Runs", value=-1), "runs of words": edit(bench, "Runs", value="x"), "10^30 runs": edit(bench, "Runs", value=10**30), "a backend of nobody": edit(bench, "Backends", value=["TPU"]),
        "no backends": edit(bench, "Backends", value=[]), "a model with ../": edit(bench, "Model", "qnn_model", value="../../../etc/passwd"), "a model of a number": edit(bench, "Model", value=7),
        "a name with ../": edit(bench, "Name", value="../../up"), "data of numbers": edit(bench, "Model", "Data", value=[1, 2]), "a level of nobody": edit(bench, "ProfilingLevel", value="evil"),
    }.items():  # fmt: skip
        yield Case(f"bench: {label}", JSON_TOOLS["bench"], {**FILES, "in/c.json": text}, (2, 3, 4, 6))


def list_evaluations() -> Iterator[Case]:
    """Configurations of the evaluator."""
    plain = (SDK / "qnn_raw_inputs_config.yaml").read_text().replace("path: samples", "path: in")
    beside: dict[str, Content] = {"in/calibration.txt": "x.raw\n", "in/inputlist.txt": "x.raw\n"}
    plain = plain.replace("model_path: model.onnx", "model_path: in/m.onnx")
    for label, text in {
        "a path with ../": plain.replace("path: in\n", "path: ../../../etc\n"), "a plugin of nobody": plain + "  processing:\n    preprocessing:\n      transformations:\n        - plugin:\n            name: evil\n",
        "a plugin that is a file": plain + "  processing:\n    preprocessing:\n      transformations:\n        - plugin:\n            name: ../../evil.py\n", "a comparator of nobody": plain.replace("type: snr", "type: evil"),
        "a precision of nobody": plain.replace("precision: fp32", "precision: fp1"), "two references": plain.replace("tag: half", "is_ref: True"),
        "no model": plain.replace("model_path: in/m.onnx", ""), "fetch-top below 0": plain.replace("fetch-top: 3", "fetch-top: -3"),
        "a model that is not there": plain.replace("in/m.onnx", "in/gone.onnx"), "10,000 schemas": plain.replace("act_bw: 8 | 16", "act_bw: " + " | ".join(["8"] * 10_000)),
    }.items():  # fmt: skip
        yield Case(
            f"evaluator: {label}", YAML_TOOLS["evaluator"], {**FILES, **beside, "in/c.yaml": text}, (2, 3, 4)
        )


MARKUP = "<img src=x onerror=alert(1)>\"'&amp;{{7*7}}${x}</script><script>"


def list_names() -> Iterator[Case]:
    """Names that are markup, code or odd letters end in pages and sources as they are spelled, and do no harm."""
    for label, name in {
        "markup": MARKUP, "a template": "{% for x in range(9999999) %}{% endfor %}", "code": 'a"); system("id"); //', "right to left": "\u202egpj.exe", "letters that combine": "e\u0301" * 200,
        "a zero width": "a\u200bb", "emoji": "🧨", "a percent": "%s%n%x", "a back slash": "a\\..\\b", "a colon": "x:=y", "a comma": "a,b", "spaces": "  a  b  ", "a keyword": "return", "a device": "CON", "a surrogate's place": "\ufffe",
    }.items():  # fmt: skip
        nodes = [
            h.make_node("Relu", ["x"], [name], name=name),
            h.make_node("Abs", [name], ["y"], name=f"{name}2"),
        ]
        data = model(nodes).SerializeToString()
        for tool, words in {
            "converted": ("edgewright", "convert", "in/m.onnx", "-o", "out/m.cpp"), "as a page": ("edgewright", "view", "in/m.onnx", "--export", "out/v.html"), "in a DLC": ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc"),
        }.items():  # fmt: skip
            yield Case(f"a tensor's name, {label}, {tool}", words, {"in/m.onnx": data}, (0,))


def list_exchanged() -> Iterator[Case]:
    """A file where another kind is expected."""
    kinds = ["in/m.onnx", "in/m.dlc", "in/m_net.json", "in/m.bin", "in/x.npy", "in/x.raw", "in/list.txt"]
    takers = {
        "context": ("qnn-context-binary-utility", "--context_binary", "{}", "--json_file", "out/c.json"), "encodings": ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--quantization_overrides", "{}"),
        "I/O": ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--io_config", "{}"), "package": ("qnn-op-package-generator", "-p", "{}", "-o", "out"), "log": ("qnn-profile-viewer", "--input_log", "{}", "--output", "out/p.csv"),
        "library": ("qnn-model-lib-generator", "-c", "{}", "-o", "out"), "language model": ("edgewright", "llm", "quantize", "{}", "-o", "out/m.gguf"), "build": ("edgewright", "compare-builds", "{}", "{}"),
        "TFLite": ("qnn-tflite-converter", "-i", "{}", "-o", "out/m.cpp"), "TensorFlow": ("qnn-tensorflow-converter", "-i", "{}", "-o", "out/m.cpp", "-d", "x", "1,4", "--out_node", "y"), "EP context": ("edgewright", "export-ep-context", "{}", "-o", "out/m.onnx"),
    }  # fmt: skip
    for taker, words in takers.items():
        for kind in kinds:
            # The converters of TFLite and TensorFlow take any model, told by its content.
            codes = (0, 2, 3, 4) if kind == "in/m.onnx" and taker in {"TFLite", "TensorFlow"} else (2, 3, 4)
            yield Case(f"{kind} as {taker}", tuple(word.format(kind) for word in words), FILES, codes)


CASES = [*list_texts(), *list_values(), *list_evaluations(), *list_names(), *list_exchanged()]
