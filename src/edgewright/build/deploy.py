"""Writes what a build gives: context binary, DLC, QNN model, encodings and input specifications."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgewright.abi.worker_process import WorkerLate
from edgewright.artifacts.encodings import describe_encodings
from edgewright.build.records import Artifact
from edgewright.build.request import BuildRequest
from edgewright.build.written_io import EXAMPLE, INPUT_LIST, list_source_types
from edgewright.config.backend_config import BackendConfig
from edgewright.config.context import EpContext
from edgewright.core.files import write_whole
from edgewright.core.plain import to_json, to_plain
from edgewright.ir.contract import IoTensor
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitize_name
from edgewright.model.model import Model
from edgewright.model.saving import SaveOptions
from edgewright.quantize.executor import OutOfTime
from edgewright.quantize.tensor_encodings import EncodingSet
from edgewright.run.context.compile import CompileOrder, compile_graphs, find_provider
from edgewright.run.context.ep_context import export_ep_context
from edgewright.targets.soc import Soc

CONTEXTS, HTP_BINARY = "context_binaries", "htp_context.bin"


def write_models(request: BuildRequest, graph: Graph, overrides: EncodingSet, folder: Path) -> None:
    """NAME.dlc, NAME.cpp with .bin and _net.json, and quantization_config.json."""
    model = Model.of(graph)
    about = SaveOptions(command=request.command, quantizer_command=request.command)
    model.save(folder / f"{request.name}.dlc", about)
    model.save(folder / f"{request.name}.cpp", about)
    config = to_json(describe_encodings(overrides, "0.6.1"))
    write_whole(folder / "quantization_config.json", [config])


def write_input_specs(
    request: BuildRequest, tensors: Sequence[IoTensor], data: Sequence[str], folder: Path
) -> None:
    """What a program must know to feed the model: input_specs.json."""
    write_whole(folder / "input_specs.json", [to_json(_describe_io(request, tensors, data))])


def compile_binary(
    request: BuildRequest, source: Graph, graph: Graph, chip: Soc, folder: Path, seconds: float = math.inf
) -> str:
    """context_binaries/htp_context.bin, and an ONNX file around it where a device can load it.

    The genuine compiler is ended after so many seconds, if it is not before.
    """
    provider = find_provider("htp")
    order = CompileOrder(provider, chip, BackendConfig())
    order = replace(order, timeout=min(order.timeout, seconds))
    named = graph.copy()
    named.name = sanitize_name(request.name)
    path = folder / CONTEXTS / HTP_BINARY
    try:
        write_whole(path, compile_graphs([named], order).chunks())
    except WorkerLate as problem:
        if order.timeout < seconds:
            raise
        raise OutOfTime("the time was up") from problem
    if provider == "htp-native":
        wrapper = path.with_name(f"{request.name}_ctx.onnx")
        options = EpContext(context_binary=str(path), output_path=str(wrapper), float_io=True)
        export_ep_context(options, list_source_types(source, graph))
    return provider


def list_artifacts(request: BuildRequest, folder: Path) -> tuple[Artifact, ...]:
    """The files in a folder, each with what it is for."""
    texts = _describe_files(request)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    places = {name: place for place, name in enumerate(texts)}
    names = sorted(sizes, key=lambda name: places.get(name, len(places)))
    return tuple(Artifact(name, sizes[name], texts.get(name) or _describe_example(name)) for name in names)


def remove_stale(request: BuildRequest, artifacts: Sequence[Artifact]) -> None:
    """Removes files of an earlier build that this one does not write."""
    earlier = {
        path.relative_to(request.output).as_posix() for path in request.output.glob(f"{EXAMPLE}/*.raw")
    }
    known = _describe_files(request).keys() | earlier
    for name in known - {artifact.path for artifact in artifacts}:
        (request.output / name).unlink(missing_ok=True)


def _describe_files(request: BuildRequest) -> dict[str, str]:
    """All files that a build may write, and what each is for."""
    return {
        f"{CONTEXTS}/{HTP_BINARY}": "the compiled model, for qnn-net-run --retrieve_context",
        f"{CONTEXTS}/{request.name}_ctx.onnx": "the same for ONNX Runtime with the QNN provider (EPContext)",
        f"{request.name}.dlc": "the quantized model, for qnn-net-run and qnn-context-binary-generator",
        f"{request.name}.cpp": "the quantized model as C++ source",
        f"{request.name}.bin": "the weights of the C++ source",
        f"{request.name}_net.json": "the quantized model as JSON",
        "quantization_config.json": "all encodings, for --quantization_overrides of every converter",
        "input_specs.json": "names, types, shapes and encodings of inputs and outputs",
        f"{EXAMPLE}/{INPUT_LIST}": "names the files of one sample, for qnn-net-run --input_list",
    }


def _describe_example(name: str) -> str:
    return "an input of that sample, float32" if name.startswith(f"{EXAMPLE}/") else ""


def publish(staged: Path, output: Path, last: Sequence[str] = ()) -> None:
    """Moves whole files to where they belong, those of ``last`` at the end; what was there is replaced."""
    files = [path for path in sorted(staged.rglob("*")) if path.is_file()]
    for path in sorted(files, key=lambda file: file.name in last):
        target = output / path.relative_to(staged)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def _describe_io(
    request: BuildRequest, tensors: Sequence[IoTensor], data: Sequence[str]
) -> Mapping[str, object]:
    """What a program must know to feed the model."""
    plain = {
        role: [_describe_tensor(each) for each in tensors if each.role == role]
        for role in ("input", "output")
    }
    return {
        "model": request.name,
        "target": request.target,
        "inputs": plain["input"],
        "outputs": plain["output"],
        "preprocessing": list(data),
    }


def _describe_tensor(tensor: IoTensor) -> object:
    # The role says nothing more under "inputs" and "outputs".
    plain: dict[str, object] = to_plain(tensor)
    return {key: value for key, value in plain.items() if key != "role"}
