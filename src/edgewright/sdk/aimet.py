"""Lets AIMET choose encodings: in its own environment, on a copy of the graph that is written as ONNX."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from edgewright.artifacts.encodings import read_encodings
from edgewright.config.qairt_quantizer import QairtCalibration, QairtPrecision
from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.core.optional import install_command
from edgewright.ir.graph import Graph
from edgewright.model.onnx_export import save_onnx
from edgewright.quantize.executor import Samples
from edgewright.quantize.overrides import Resolved, resolve

__all__ = ["AimetRequest", "aimet_encodings", "aimet_python", "aimet_request"]

# Guide 12997: the setup script leaves the interpreter of AIMET's environment here.
AIMET_PYTHON = "AIMET_ENV_PYTHON"
# What the worker ends with where the package is not there.
MISSING = 66
SCHEMES = {"min-max": "min_max", "sqnr": "tf_enhanced"}


@dataclass(frozen=True)
class AimetRequest:
    """What AIMET is asked for."""

    act_bits: int
    weight_bits: int
    scheme: str
    per_channel: bool
    per_row: bool
    symmetric_weights: bool
    symmetric_activations: bool
    version: str = "1.0.0"


def aimet_request(precision: QairtPrecision, calibration: QairtCalibration) -> AimetRequest:
    """The request for the options of qairt-quantizer; what AIMET lacks is an error."""
    methods = {calibration.act_calibration, calibration.param_calibration}
    if len(methods) > 1 or not methods <= SCHEMES.keys():
        raise UsageError(
            f"calibration is '{calibration.act_calibration}' for activations and "
            f"'{calibration.param_calibration}' for weights, AIMET has one of {', '.join(SCHEMES)} for both",
            do="choose another method, or leave --use_aimet_quantizer out",
        )
    return AimetRequest(
        act_bits=precision.act_bitwidth,
        weight_bits=precision.weights_bitwidth,
        scheme=SCHEMES[methods.pop()],
        per_channel=precision.use_per_channel_quantization,
        per_row=precision.use_per_row_quantization,
        symmetric_weights=calibration.param_schema == "symmetric",
        symmetric_activations=calibration.act_schema == "symmetric",
    )


def aimet_python() -> Path:
    """The interpreter that has AIMET: the one that a variable names, or this one."""
    named = os.environ.get(AIMET_PYTHON)
    if named:
        if not Path(named).is_file():
            raise EnvironmentProblem(
                f"{AIMET_PYTHON} is '{shown(named)}', expected the Python of an environment", do=_advice()
            )
        return Path(named)
    if importlib.util.find_spec("aimet_onnx") is not None:
        return Path(sys.executable)
    raise EnvironmentProblem(
        f"quantizing with AIMET needs an environment of its own, and {AIMET_PYTHON} names none", do=_advice()
    )


def aimet_encodings(graph: Graph, samples: Samples, request: AimetRequest, python: Path) -> Resolved:
    """The encodings that AIMET computes, for the values of the graph; what it leaves out is not in them."""
    with TemporaryDirectory(prefix="edgewright-") as folder:
        place = Path(folder)
        (place / "request.json").write_text(json.dumps(asdict(request)), encoding="utf-8")
        save_onnx(graph, place / "model.onnx")
        _write_samples(place / "samples", samples)
        _run(python, place)
        found = read_encodings(place / "result.encodings")
    # The ONNX model has the names of the graph, not those of the source.
    plain = graph.copy()
    plain.source_names.clear()
    known = {tensor.name for tensor in found.tensors}
    return resolve(plain, found.tensors, known)


def _write_samples(folder: Path, samples: Samples) -> None:
    folder.mkdir()
    for number, sample in enumerate(samples):
        arrays: Mapping[str, Array] = sample
        with (folder / f"{number:08}.npz").open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)


def _run(python: Path, place: Path) -> None:
    # A copy: Python looks for modules beside a script, and ours would hide those of the same name.
    script = place / "worker.py"
    script.write_bytes((resources.files("edgewright._data") / "aimet_worker.py").read_bytes())
    command = [str(python), str(script), str(place)]
    with progress("AIMET computes encodings"):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == MISSING:
        raise EnvironmentProblem(f"'{shown(python)}' has no package 'aimet_onnx'", do=_advice())
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise EnvironmentProblem(
            f"AIMET could not quantize the model: {shown(last)}",
            do="leave --use_aimet_quantizer out, or use another version of aimet-onnx",
        )


def _advice() -> str:
    install = f"python -m venv aimet; aimet/bin/{install_command('aimet_onnx')}"
    return f"leave --use_aimet_quantizer out, or make one ({install}) and set {AIMET_PYTHON} to its python"
