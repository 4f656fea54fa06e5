"""A folder of ONNX Runtime GenAI, run by ONNX Runtime itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.machine_use import read_thread_limit
from edgewright.core.numbers import Array
from edgewright.llm.load.spec import SHORT_CONTEXT

PAST, PRESENT = "past_key_values.", "present."
SETTINGS, LARGEST_SETTINGS = "genai_config.json", 1 << 20
# Of heads, and of values of a head.
LARGEST_SIZE = 1 << 16
# By the types of models of ONNX Runtime GenAI, which reads their texts anew after so many tokens.
GENAI_SHORT_CONTEXTS = {"phi3": 4096, "phimoe": 4096}
DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class OnnxDecoder:
    """A session and the keys and values of the tokens so far."""

    def __init__(self, path: Path) -> None:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.intra_op_num_threads = read_thread_limit()
        providers = ["CPUExecutionProvider"]
        file = str(path / "model.onnx")
        try:
            self._session = onnxruntime.InferenceSession(file, settings, providers=providers)
        except Exception as problem:
            raise BadInput(f"ONNX Runtime cannot load it: {shown(problem)}", Where(file=file)) from None
        self._path = path
        self._inputs = {item.name: item for item in self._session.get_inputs()}
        self._states = [name for name in self._inputs if name.startswith(PAST)]
        _check_inputs(path, self._inputs)
        self._sizes = {name: _find_sizes(path, self._inputs[name]) for name in self._states}
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._count = 0
        self._past = {
            name: np.zeros((1, heads, 0, values), DTYPES[self._inputs[name].type])
            for name, (heads, values) in self._sizes.items()
        }

    def get_short_context(self) -> int | None:
        """Tokens that LongRoPE's short factors are for, as the model says or GenAI takes it to be."""
        said = self._session.get_modelmeta().custom_metadata_map.get(SHORT_CONTEXT, "")
        if said.isdecimal():
            return int(said)
        return GENAI_SHORT_CONTEXTS.get(str(_read_settings(self._path).get("type")))

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


def _find_sizes(path: Path, state: Any) -> tuple[int, int]:
    """How many heads keys or values have, and how many values each; what a model leaves open is beside it."""
    sizes: list[int] = []
    for place, word in ((1, "num_key_value_heads"), (3, "head_size")):
        size = state.shape[place]
        if not isinstance(size, int):
            decoder = _read_settings(path).get("decoder")
            size = decoder.get(word) if isinstance(decoder, dict) else None
        if type(size) is not int or not 0 < size < LARGEST_SIZE:
            raise BadInput(
                f"neither the shape {shown(state.shape)} nor '{word}' of {SETTINGS} is a size",
                Where(file=str(path / "model.onnx"), tensor=state.name),
                do="build the model again with the tools of ONNX Runtime GenAI",
            )
        sizes.append(size)
    return sizes[0], sizes[1]


def _read_settings(path: Path) -> dict[str, Any]:
    """What ONNX Runtime GenAI is told of the model; nothing where that cannot be read."""
    try:
        settings = json.loads(read_limited(path / SETTINGS, LARGEST_SETTINGS))["model"]
    except (EdgewrightError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


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
