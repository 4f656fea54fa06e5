"""Opens whatever a user calls a model: one in memory, a converted one, or a source file."""

from pathlib import Path

from edgewright.frontends.conversion import ConversionRequest
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model, load
from edgewright.model.saving import is_stored


def open_any_model(model: Model | Path | str) -> Model:
    """The model itself, or the one in a file: net.json, DLC, model library, context of ours, or a source."""
    if isinstance(model, Model):
        return model
    return load(model) if is_stored(model) else convert_in_memory(ConversionRequest(model))
