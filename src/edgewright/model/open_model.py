"""Opens whatever a user calls a model: one in memory, a converted one, or a source file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgewright.core.arrays import is_array
from edgewright.frontends.conversion import ConversionRequest
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model, load
from edgewright.model.saving import is_stored


def open_any_model(model: Model | Path | str | Any, examples: Any = None) -> Model:
    """The model itself, or the one in a file: net.json, DLC, model library, context of ours, or a source.

    A model of torch, Keras or ONNX in memory is converted, a torch module with the examples of its inputs.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str | Path) and is_stored(model):
        return load(model)
    return convert_in_memory(ConversionRequest(model, examples=examples))


def take_example(data: Any) -> Any:
    """The first sample of data that is in memory; None where there is none to look at."""
    if data is None or isinstance(data, str | Path):
        return None
    if isinstance(data, Mapping):
        return {name: array[:1] for name, array in data.items()}
    if is_array(data):
        return data[:1]
    # A generator would lose its first sample.
    return next(iter(data), None) if isinstance(data, Sequence) else None
