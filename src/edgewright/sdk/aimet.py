"""Lets AIMET choose encodings: in its own environment, on a copy of the graph that is written as ONNX."""

import importlib.util
import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from edgewright.artifacts.encodings import read_encodings
from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.optional import install_command
from edgewright.ir.graph import Graph
from edgewright.model.onnx_export import save_onnx
from edgewright.quantize.executor import Samples
from edgewright.quantize.overrides import ResolvedEncodings, resolve_encodings
from edgewright.quantize.request import QuantizationRequest

# Guide 12997: the setup script leaves the interpreter of AIMET's environment here.
AIMET_PYTHON = "AIMET_ENV_PYTHON"
# What the worker ends with where the package is not there.
MISSING = 66
SCHEMES = {"min-max": "min_max", "sqnr": "tf_enhanced"}


def find_aimet_python() -> Path:
    """The interpreter that has AIMET: the one that a variable names, or this one."""
    python = os.environ.get(AIMET_PYTHON)
    if python:
        if not Path(python).is_file():
            raise EnvironmentProblem(
                f"{AIMET_PYTHON} is '{shown(python)}', expected the Python of an environment",
                do=_advise_setup(),
            )
        return Path(python)
    if importlib.util.find_spec("aimet_onnx") is not None:
        return Path(sys.executable)
    raise EnvironmentProblem(
        f"quantizing with AIMET needs an environment of its own, and {AIMET_PYTHON} names none",
        do=_advise_setup(),
    )


def compute_aimet_encodings(
    graph: Graph, samples: Samples, request: QuantizationRequest, python: Path
) -> ResolvedEncodings:
    """The encodings that AIMET computes, for the values of the graph; what it leaves out is not in them."""
    with TemporaryDirectory(prefix="edgewright-") as folder:
        place = Path(folder)
        (place / "request.json").write_text(json.dumps(_describe_request(request)), encoding="utf-8")
        save_onnx(graph, place / "model.onnx")
        _write_samples(place / "samples", samples)
        _run(python, place)
        encodings = read_encodings(place / "result.encodings")
    # The ONNX model has the names of the graph, not those of the source.
    plain = graph.copy()
    plain.source_names.clear()
    return resolve_encodings(plain, encodings.tensors, {tensor.name for tensor in encodings.tensors})


def _check_request(request: QuantizationRequest) -> None:
    """Refuses what AIMET lacks."""
    methods = {request.act_quantizer, request.param_quantizer}
    if len(methods) > 1 or not methods <= SCHEMES.keys():
        raise UsageError(
            f"calibration is '{request.act_quantizer}' for activations and "
            f"'{request.param_quantizer}' for weights, AIMET has one of {', '.join(SCHEMES)} for both",
            do="choose another method, or leave --use_aimet_quantizer out",
        )


def _describe_request(request: QuantizationRequest) -> dict[str, Any]:
    """The request as the worker reads it."""
    _check_request(request)
    return {
        "act_bits": request.act_bw,
        "weight_bits": request.weight_bw,
        "scheme": SCHEMES[request.act_quantizer],
        "per_channel": request.per_channel,
        "per_row": request.per_row,
        "symmetric_weights": request.param_schema == "symmetric",
        "symmetric_activations": request.act_schema == "symmetric",
        "version": "1.0.0",
    }


def _write_samples(folder: Path, samples: Samples) -> None:
    folder.mkdir()
    for number, sample in enumerate(samples):
        with (folder / f"{number:08}.npz").open("wb") as file:
            np.savez(file, allow_pickle=False, **sample)


def _run(python: Path, place: Path) -> None:
    # A copy: Python looks for modules beside a script, and ours would hide those of the same name.
    script = place / "worker.py"
    script.write_bytes((resources.files("edgewright._data") / "aimet_worker.py").read_bytes())
    command = [str(python), str(script), str(place)]
    with announce_progress("AIMET computes encodings"):
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if process.returncode == MISSING:
        raise EnvironmentProblem(f"'{shown(python)}' has no package 'aimet_onnx'", do=_advise_setup())
    if process.returncode:
        last = (process.stderr.strip().splitlines() or [f"it ended with {process.returncode}"])[-1]
        raise EnvironmentProblem(
            f"AIMET could not quantize the model: {shown(last)}",
            do="leave --use_aimet_quantizer out, or use another version of aimet-onnx",
        )


def _advise_setup() -> str:
    install = f"python -m venv aimet; aimet/bin/{install_command('aimet_onnx')}"
    return f"leave --use_aimet_quantizer out, or make one ({install}) and set {AIMET_PYTHON} to its python"
