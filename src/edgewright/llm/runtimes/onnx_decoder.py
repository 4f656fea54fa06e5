"""A folder of ONNX Runtime GenAI, run by ONNX Runtime itself."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array

PAST, PRESENT = "past_key_values.", "present."
DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class OnnxDecoder:
    """A session and the keys and values of the tokens so far."""

    def __init__(self, path: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        file = str(path / "model.onnx")
        try:
            self._session = onnxruntime.InferenceSession(file, settings, providers=providers)
        except Exception as problem:
            raise BadInput(f"ONNX Runtime cannot load it: {shown(problem)}", Where(file=file)) from None
        self._inputs = {item.name: item for item in self._session.get_inputs()}
        self._states = [name for name in self._inputs if name.startswith(PAST)]
        _check_inputs(path, self._inputs)
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._count = 0
        self._past = {name: _make_empty(self._inputs[name]) for name in self._states}

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        start, self._count = self._count, self._count + len(tokens)
        feeds = {
            "input_ids": tokens[None],
            "attention_mask": np.ones((1, self._count), np.int64),
            **self._past,
        }
        if "position_ids" in self._inputs:
            feeds["position_ids"] = np.arange(start, self._count)[None]
        names = ["logits", *(PRESENT + name.removeprefix(PAST) for name in self._states)]
        logits, *states = self._session.run(names, feeds)
        self._past = dict(zip(self._states, states, strict=True))
        return np.asarray(logits[0], np.float32)


def _make_empty(state: Any) -> Array:
    """The keys or values of no token."""
    heads, values = state.shape[1], state.shape[3]
    return np.zeros((1, heads, 0, values), DTYPES[state.type])


def _check_inputs(path: Path, inputs: dict[str, Any]) -> None:
    others = [
        name
        for name in inputs
        if name not in {"input_ids", "attention_mask", "position_ids"} and not name.startswith(PAST)
    ]
    if others or "input_ids" not in inputs:
        raise UnsupportedFeature(
            f"the model takes {', '.join(inputs)}; expected input_ids, attention_mask and {PAST}*",
            Where(file=str(path / "model.onnx")),
            do="give a model of one decoder with keys and values as inputs",
        )
