"""Debugging as the guide does it: a model for each layer, converted, quantized, compiled and run by itself.

Slow, but what fails, fails for one layer only, and the table tells at which stage.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.config.converter import Source
from edgewright.config.inference_engine import EngineRun
from edgewright.core.errors import BadInput, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.lower.names import NameTable
from edgewright.sdk.debugger.inference_engine import EngineTask, run_inference_in
from edgewright.sdk.debugger.layer_scores import (
    LayerScore,
    Snooping,
    StageFailure,
    choose_layers,
    is_skipped,
    judge_layer,
    mark_failures,
    note_failed_rest,
    note_failure,
    write_snooping,
)
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.onnx_parts import OnnxParts, SourceLayer
from edgewright.sdk.debugger.tensor_folder import list_tensor_files, write_tensors

PART, LIST = "extracted_model.onnx", "temp-list.txt"
SECTIONS = ("activation_encodings", "param_encodings")


@dataclass(frozen=True)
class LayerModelRequest:
    """A model, golden values by its names, and how each of its layers is converted and run."""

    file: str
    task: EngineTask
    golden: Mapping[str, Array]
    verifiers: Sequence[Verifier]
    # The layers of the model as a whole, and its encodings; none where it cannot be converted as such.
    layers: Sequence[str] = ()
    encodings: Mapping[str, Any] | None = None
    start_layer: str | None = None
    end_layer: str | None = None
    has_outputs: bool = False
    note: str = ""


def snoop_layer_models(request: LayerModelRequest, folder: Path) -> Snooping:
    """Takes the layers one by one and writes layerwise.csv or cumulative_layerwise.csv."""
    parts = OnnxParts(request.file, request.golden)
    known = [SourceLayer(name, parts.find_type(name)) for name in request.layers if name in request.golden]
    layers = known or parts.list_layers()
    names = [layer.name for layer in layers]
    chosen = choose_layers(names, request.start_layer, request.end_layer)
    work = _LayerModels(request, parts, frozenset(names if known else request.golden), folder)
    scores = []
    with announce_progress("one model for each layer", total=len(chosen)) as step:
        for place, layer in enumerate(layers):
            score = _describe(layer, request.golden[layer.name])
            if place in chosen and not is_skipped(request.task.choice, {layer.name}, layer.type):
                work.measure(score)
                step()
            else:
                score.status = "skip"
            scores.append(score)
    algorithm = "cumulative_layerwise" if request.has_outputs else "layerwise"
    return write_snooping(
        Snooping(str(folder), algorithm, tuple(request.verifiers), tuple(scores), note=request.note)
    )


def _describe(layer: SourceLayer, array: Array) -> LayerScore:
    figures = (0.0, 0.0, 0.0)
    if array.size:
        figures = (float(array.min()), float(array.max()), float(np.median(array)))
    return LayerScore(layer.name, layer.type, array.shape, activations=figures)


def _find_result(results: Mapping[str, tuple[Array, Array]], name: str) -> tuple[Array, Array]:
    if name not in results:
        raise BadInput(f"the run has no result '{shown(name)}', only {len(results)} others")
    return results[name]


class _LayerModels:
    """Cuts, converts, compiles and runs; each layer has a folder of its own."""

    def __init__(
        self, request: LayerModelRequest, parts: OnnxParts, known: frozenset[str], folder: Path
    ) -> None:
        self._request, self._parts = request, parts
        # Inputs of the model end a part like golden values do.
        self._known = known
        self._folder = folder / "inference_engine"
        self._name_folder = NameTable()

    def measure(self, layer: LayerScore) -> None:
        """The scores of a layer, or the stage at which it failed."""
        folder = self._folder / self._name_folder(layer.name)
        try:
            with mark_failures("err_part"):
                part = self._parts.cut_layer(layer.name, self._known)
            results = dict(self._run(part, folder))
            with mark_failures("err_compare"):
                pair = _find_result(results, layer.name)
            judge_layer(layer, self._request.verifiers, *pair)
        except StageFailure as failure:
            note_failure(layer, failure)
        if self._request.has_outputs and layer.status == "part":
            self._measure_rest(layer, folder / "outputs")

    def _measure_rest(self, layer: LayerScore, folder: Path) -> None:
        """What the layer and all that follows does to the outputs; that it fails is no fault of the layer."""
        try:
            with mark_failures("err_part"):
                rest = self._parts.cut_rest(layer.name, self._known)
            layer.outputs = self._score_outputs(dict(self._run(rest, folder)))
        except StageFailure as failure:
            note_failed_rest(layer, failure)

    def _score_outputs(self, results: Mapping[str, tuple[Array, Array]]) -> dict[str, dict[str, float]]:
        return {
            name: {verifier.column: verifier.score(*pair) for verifier in self._request.verifiers}
            for name, pair in results.items()
            if name in self._parts.outputs
        }

    def _run(self, part: onnx.ModelProto, folder: Path) -> Iterator[tuple[str, tuple[Array, Array]]]:
        """Each output of a part: its golden value, and what came out."""
        golden = self._request.golden
        made = [item.name for item in part.graph.output]
        write_tensors(folder / "golden", [(name, golden[name]) for name in made if name in golden])
        task = self._make_task(part, folder)
        inference = run_inference_in(folder, task, mark_failures)
        with mark_failures("err_compare"):
            matcher = TensorMatcher(
                list_tensor_files(str(folder / "golden")),
                list_tensor_files(inference.results[0]),
                {},
                inference.structure,
            )
            for pair in matcher.list_pairs():
                yield pair.golden.name, matcher.read_pair(pair)

    def _make_task(self, part: onnx.ModelProto, folder: Path) -> EngineTask:
        task = self._request.task
        assert task.converter is not None
        file, listed = folder / PART, self._write_inputs(part, folder)
        write_whole(file, [part.SerializeToString()])
        quantizer = task.converter.quantizer
        if quantizer.input_list is not None:
            quantizer = replace(quantizer, input_list=str(listed))
        encodings = self._write_encodings(part, folder)
        if encodings is not None:
            quantizer = replace(quantizer, quantization_overrides=str(encodings))
        converter = replace(task.converter, source=Source(input_network=str(file)), quantizer=quantizer)
        inputs = replace(task.net_run.inputs, input_list=(str(listed),))
        return replace(
            task,
            converter=converter,
            net_run=replace(task.net_run, inputs=inputs),
            choice=EngineRun(debug_mode_off=True),
            golden=None,
        )

    def _write_inputs(self, part: onnx.ModelProto, folder: Path) -> Path:
        """The golden inputs of a part, and a list of them."""
        golden, words, name_file = self._request.golden, [], NameTable()
        for item in part.graph.input:
            file = folder / "inputs" / f"{name_file(item.name)}.raw"
            write_whole(file, [np.ascontiguousarray(golden[item.name]).tobytes()])
            words.append(str(file))
        listed = folder / LIST
        write_whole(listed, [f"{' '.join(words)}\n".encode()])
        return listed

    def _write_encodings(self, part: onnx.ModelProto, folder: Path) -> Path | None:
        """The encodings that the model as a whole has for the tensors of a part."""
        encodings = self._request.encodings
        if encodings is None:
            return None
        names = {name for node in part.graph.node for name in (*node.input, *node.output)}
        kept = {key: {n: e for n, e in encodings[key].items() if n in names} for key in SECTIONS}
        file = folder / "encodings.json"
        write_whole(file, [json.dumps({**encodings, **kept}).encode()])
        return file
