"""Every layer of Keras and its architectures, through SavedModel and TFLite: 'make keras'.

It needs TensorFlow, in an environment of its own; our readers do not use it. The result is written to
benchmarks/keras_layers.json, from which docs/generate.py makes a page.
"""

import argparse
import datetime
import json
import os
import platform
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import edgewright as ew
from benchmarks.keras_cases import ARCHITECTURES, AUGMENTATIONS, LEFT_OUT, TEXTS, Case, list_cases

RECORD = Path(__file__).with_suffix(".json")
FORMATS = ("SavedModel", "TFLite")


def main() -> None:
    """Tries the cases that a pattern names, all where none is given, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import keras
    import tensorflow

    tensorflow.get_logger().setLevel("ERROR")
    rows: list[dict[str, Any]] = []
    for case in [*list_cases(), *_list_architectures()]:
        if re.search(options.pattern, case.layer):
            row = try_case(keras, tensorflow, case)
            rows.append(row)
            print(json.dumps(row), flush=True)
    print(dict(Counter(row[form]["kind"] for row in rows for form in FORMATS)))
    if options.out:
        versions = {"keras": keras.__version__, "tensorflow": tensorflow.__version__}
        _write_record(options.out, rows, {**versions, "python": platform.python_version()})


def _write_record(file: Path, rows: list[dict[str, Any]], versions: dict[str, str]) -> None:
    """The rows in place of those of the same cases."""
    order = [(case.layer, case.variant) for case in [*list_cases(), *_list_architectures()]]
    stored = json.loads(file.read_text())["cases"] if file.exists() else []
    known = {(row["layer"], row["variant"]): row for row in [*stored, *rows]}
    record = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions,
        "left_out": {**LEFT_OUT, **dict.fromkeys(TEXTS, "takes texts or looks words up")},
        "cases": [known[key] for key in order if key in known],
    }
    file.write_text(json.dumps(record, indent=1) + "\n")


def _list_architectures() -> list[Case]:
    return [
        Case(
            f"applications.{name}",
            f"{size} x {size}",
            lambda k, name=name, size=size: getattr(k.applications, name)(
                weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None
            ),
            ((size, size, 3),),
        )
        for name, size in ARCHITECTURES.items()
    ]


def try_case(keras: Any, tensorflow: Any, case: Case) -> dict[str, Any]:
    """How a case goes in both formats."""
    keras.utils.set_random_seed(1)
    row: dict[str, Any] = {"layer": case.layer, "variant": case.variant}
    with tempfile.TemporaryDirectory() as folder:
        try:
            model, values = _make_model(keras, case)
            given = values if len(values) > 1 else values[0]
            expected = [np.asarray(item) for item in _flatten(model(given, training=False))]
        except Exception as problem:
            reason = {"kind": "left out", "detail": f"Keras does not build it: {_shorten(problem)}"}
            return row | dict.fromkeys(FORMATS, reason)
        path = Path(folder) / "saved"
        for form in FORMATS:
            try:
                file = _write(tensorflow, model, path, form)
            except Exception as problem:
                row[form] = {"kind": "left out", "detail": f"{form} cannot hold it: {_shorten(problem)}"}
                continue
            row[form] = _try_file(file, values, expected, case.tolerance)
    keras.backend.clear_session()
    return row


def _make_model(keras: Any, case: Case) -> tuple[Any, list[Any]]:
    random = np.random.default_rng(1)
    layer = case.build(keras)
    if not case.layer.startswith("applications."):
        dtype = "int32" if case.classes else "float32"
        inputs = [keras.Input(shape, batch_size=1, dtype=dtype) for shape in case.shapes]
        is_layer = isinstance(layer, keras.layers.Layer)
        given = [inputs if len(inputs) > 1 else inputs[0]] if is_layer else inputs
        # Augmentation that is exported without it stays random.
        more = {"training": False} if case.layer in AUGMENTATIONS else {}
        layer = keras.Model(inputs, layer(*given, **more))
    _set_weights(layer, random)
    sizes = [(1, *shape) for shape in case.shapes]
    if case.classes:
        return layer, [random.integers(0, case.classes, size).astype(np.int32) for size in sizes]
    return layer, [random.normal(size=size).astype(np.float32) for size in sizes]


def _set_weights(model: Any, random: Any) -> None:
    """Weights that show: zeros and ones of biases and norms would hide mistakes."""
    for weight in model.weights:
        if weight.name in {"beta", "bias", "moving_mean"}:
            weight.assign(random.normal(size=weight.shape) * 0.1)
        elif weight.name in {"gamma", "moving_variance", "scale"}:
            weight.assign(random.uniform(0.8, 1.2, size=weight.shape))


def _flatten(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    return [value] if items is None else [tensor for item in items for tensor in _flatten(item)]


def _write(tensorflow: Any, model: Any, path: Path, form: str) -> Path:
    if not path.exists():
        model.export(str(path), verbose=False)
    if form == "SavedModel":
        return path
    file = path.with_suffix(".tflite")
    # With all shapes known: loops of recurrent layers need them.
    call = tensorflow.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0]))
    specs = [tensorflow.TensorSpec(item.shape, item.dtype) for item in model.inputs]
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(call.get_concrete_function(*specs))
    file.write_bytes(tensorflow.lite.TFLiteConverter.from_concrete_functions([frozen]).convert())
    return file


def _try_file(file: Path, values: list[Any], expected: list[Any], tolerance: float) -> dict[str, str]:
    try:
        model = ew.convert(file)
        if len(model.inputs) != len(values):
            return {"kind": "wrong", "detail": f"{len(model.inputs)} inputs, expected {len(values)}"}
        results = list(model.run(_feed(model, values)).values())
        problem = _find_difference(results, expected, tolerance)
    except ew.EdgewrightError as problem:
        first = getattr(problem, "errors", [problem])[0]
        return {"kind": "refused", "detail": first.what}
    except Exception as problem:
        return {"kind": "crash", "detail": f"{type(problem).__name__}: {_shorten(problem)}"}
    return {"kind": "wrong", "detail": problem} if problem else {"kind": "match", "detail": ""}


def _feed(model: Any, values: list[Any]) -> dict[str, Any]:
    """Values by the names of inputs: sorted names are in the order in which Keras numbers its inputs."""
    names = sorted((item.name for item in model.inputs), key=lambda name: (len(name), name))
    return dict(zip(names, values, strict=True))


def _find_difference(results: list[Any], expected: list[Any], tolerance: float) -> str:
    if len(results) != len(expected):
        return f"{len(results)} outputs, expected {len(expected)}"
    for got, want in zip(results, expected, strict=True):
        if got.shape != want.shape:
            return f"shape {list(got.shape)}, expected {list(want.shape)}"
        if want.dtype.kind in "biu":
            if not np.array_equal(got, want):
                return "elements differ"
            continue
        if not np.array_equal(np.isfinite(got), np.isfinite(want)):
            return "infinities or NaNs differ"
        finite = np.isfinite(want)
        span = max(np.abs(want[finite]).max(initial=0), 1e-2)
        error = float(np.abs(got[finite] - want[finite]).max(initial=0) / span)
        if error > tolerance:
            return f"{error:.1e} of the range apart"
    return ""


def _shorten(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__)[:160]


if __name__ == "__main__":
    sys.exit(main())
