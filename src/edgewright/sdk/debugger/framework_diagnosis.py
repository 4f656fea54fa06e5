"""Framework diagnosis: the model's intermediate outputs from its own framework, as raw files."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.config.accuracy_debugger import DebuggerFolder
from edgewright.config.framework_diagnosis import FrameworkModel
from edgewright.core.errors import UsageError, shown
from edgewright.frontends.framework import Framework, framework_of
from edgewright.run.engines.layer_outputs import LayerRequest, run_all_layers
from edgewright.sdk.debugger.folders import open_feature_folder
from edgewright.sdk.debugger.input_tensors import read_input_tensors
from edgewright.sdk.debugger.tensor_folder import write_tensors

log = logging.getLogger(__name__)

FEATURE = "framework_diagnosis"


@dataclass(frozen=True)
class Diagnosis:
    """What was written, and which engine made it."""

    folder: str
    engine: str
    tensors: int


def diagnose_framework(model: FrameworkModel, place: DebuggerFolder) -> Diagnosis:
    """Runs the model once and writes what every op made."""
    framework = check_framework(model.model_path, model.framework)
    if model.onnx_custom_op_lib is not None and framework is not Framework.ONNX:
        raise UsageError(
            f"--onnx_custom_op_lib is for ONNX models, '{shown(model.model_path)}' is of {framework.value}",
            do="leave it out",
        )
    inputs = read_input_tensors(model.input_tensor)
    request = LayerRequest(
        model.model_path,
        framework,
        {item.name: item.read() for item in inputs},
        model.output_tensor,
        is_optimized=not model.disable_graph_optimization,
        custom_ops=model.onnx_custom_op_lib,
    )
    with open_feature_folder(place.working_dir, FEATURE, place.output_dirname, (model, place)) as folder:
        result = run_all_layers(request)
        count = write_tensors(folder, result.tensors.items())
        log.info("%d tensors by %s in %s", count, result.engine, folder)
    return Diagnosis(str(folder), result.engine, count)


def check_framework(file: str, named: Sequence[str] | None) -> Framework:
    """The framework of a file, which must be the one that was named."""
    framework = framework_of(file)
    if named:
        known = {each.value.lower(): each for each in Framework}
        asked = known.get(named[0].lower())
        if asked is None:
            raise UsageError(
                f"--framework is '{shown(named[0])}', expected one of: {', '.join(known)}",
                do="name the framework of the model",
            )
        if asked is not framework:
            raise UsageError(
                f"--framework is '{named[0]}', '{shown(file)}' is a model of {framework.value}",
                do=f"use --framework {framework.value.lower()}",
            )
    return framework
