"""A folder of OpenVINO, which keeps keys and values in its own state."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require


class OpenvinoDecoder:
    """A compiled model with its state."""

    def __init__(self, path: Path) -> None:
        openvino = require("openvino", to="run OpenVINO models")
        file = path / "openvino_model.xml"
        try:
            model = openvino.Core().compile_model(file, "CPU")
        except RuntimeError as problem:
            raise BadInput(f"OpenVINO cannot load it: {shown(problem)}", Where(file=str(file))) from None
        self._names = {name for item in model.inputs for name in item.get_names()}
        self._request = model.create_infer_request()
        self._count = 0

    def reset(self) -> None:
        """Forgets all tokens."""
        self._count = 0
        self._request.reset_state()

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        start, self._count = self._count, self._count + len(tokens)
        feeds = {
            "input_ids": tokens[None],
            "attention_mask": np.ones((1, self._count), np.int64),
            "position_ids": np.arange(start, self._count)[None],
            "beam_idx": np.zeros(1, np.int32),
        }
        known = {name: value for name, value in feeds.items() if name in self._names}
        return np.array(self._request.infer(known)["logits"][0], np.float32)
