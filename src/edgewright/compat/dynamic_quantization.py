"""Dynamic quantization: ranges and encodings from live inference, with no more memory than one run takes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.api.quantize import quantize
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.quantize import QuantizedModel
from edgewright.ops.cost import node_macs
from edgewright.quantize.encodings import Grid, compute_covered_range

Inputs = Array | Mapping[str, Array]


@dataclass
class _Extremes:
    least: float = float("inf")
    most: float = float("-inf")


class DynamicQuantization:
    """Records the ranges of a float model while it runs, then quantizes it."""

    def __init__(self, model_path: Model | Path | str, bitwidth: int = 8) -> None:
        self.model_path = model_path
        self._model = open_any_model(model_path)
        self._graph = self._model.fixed_graph()
        self._grid = Grid(bitwidth)
        made = [value for node in self._graph.nodes for value in node.outputs if value]
        types = self._graph.types
        self._watched = [v for v in (*self._graph.inputs, *made) if types[v].dtype.is_float]
        extra = tuple(value for value in self._watched if value not in self._graph.inputs)
        self._session = find_backend("cpu").prepare(self._graph, RunOptions(extra_outputs=extra))
        self._extremes: dict[str, _Extremes] = {}
        self.samples = 0

    def inference(self, inputs: Inputs) -> dict[str, Array]:
        """Runs the model, records its ranges, and returns its outputs."""
        feed = self._check_inputs(inputs)
        values = {**feed, **self._session.run(feed)}
        for name in self._watched:
            self._watch(self._graph.source_names.get(name, name), values[name])
        self.samples += 1
        return {name: values[name] for name in self._graph.outputs}

    def collect_statistics(self, calibration_dataset: Iterable[Inputs]) -> None:
        """Runs the model on every sample."""
        for sample in calibration_dataset:
            self.inference(sample)

    def compute_quantization_params(self) -> dict[str, dict[str, float]]:
        """Tensor -> scale, offset (the integer that stands for zero), min and max that this covers."""
        if not self.samples:
            raise UsageError(
                "no statistics were collected", do="call inference or collect_statistics with data first"
            )
        return {name: self._choose_params(extremes) for name, extremes in self._extremes.items()}

    def apply_quantization(self, quantization_params: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """The parameters as a document for ``--quantization_overrides`` and ``ew.quantize(overrides=)``."""
        bits = self._grid.bits
        listed = {name: {"bitwidth": bits, **params} for name, params in quantization_params.items()}
        return {"activation_encodings": listed, "param_encodings": self._encode_weights()}

    def quantize(self, **choices: Any) -> QuantizedModel:
        """The model in fixed point, with the ranges so far; choices are those of ``ew.quantize``."""
        config = self.apply_quantization(self.compute_quantization_params())
        choices.setdefault("act_bw", self._grid.bits)
        return quantize(self._model, overrides=config, **choices)

    def _encode_weights(self) -> dict[str, dict[str, Any]]:
        """Weights are known without a run: symmetric 8 bits."""
        grid = Grid(8, is_symmetric=True)
        encodings = {}
        for node in self._graph.nodes:
            for value in node.inputs[1:2] if node_macs(self._graph, node) else ():
                if value in self._graph.constants:
                    limit = float(np.abs(self._graph.constants[value]).max())
                    scale = grid.encode_range(-limit, limit).scales[0]
                    name = self._graph.source_names.get(value, value)
                    encodings[name] = {"bitwidth": 8, "is_symmetric": "True", "scale": scale, "offset": -128}
                    encodings[name] |= {"min": -128 * scale, "max": 127 * scale}
        return encodings

    def _check_inputs(self, inputs: Inputs) -> dict[str, Array]:
        names = self._graph.inputs
        if isinstance(inputs, Mapping):
            return {name: np.asarray(array) for name, array in inputs.items()}
        if len(names) != 1:
            raise UsageError(f"one array was given for {len(names)} inputs", do=f"name them: {names}")
        return {names[0]: np.asarray(inputs)}

    def _watch(self, name: str, array: Array) -> None:
        if not array.size:
            return
        extremes = self._extremes.setdefault(name, _Extremes())
        least, most = float(array.min()), float(array.max())
        if not np.isfinite((least, most)).all():
            raise UsageError(
                f"tensor '{name}' holds {least} to {most} in sample {self.samples}, expected finite values",
                do="leave such samples out",
            )
        extremes.least, extremes.most = min(extremes.least, least), max(extremes.most, most)

    def _choose_params(self, extremes: _Extremes) -> dict[str, float]:
        encoding = self._grid.encode_range(extremes.least, extremes.most)
        low, high = compute_covered_range(encoding, self._grid.dtype)
        return {
            "scale": encoding.scales[0],
            "offset": -encoding.offsets[0],
            "min": float(np.ravel(low)[0]),
            "max": float(np.ravel(high)[0]),
        }
