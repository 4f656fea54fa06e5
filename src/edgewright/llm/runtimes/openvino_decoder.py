"""A folder of OpenVINO, which keeps keys and values in its own state."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.llm.load.config import read_model_spec

TOKENIZER = "openvino_tokenizer.xml"
# Of files whose weights are floats: OpenVINO computes in bfloat16 by itself where a processor has it.
SINGLE = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}


class OpenvinoDecoder:
    """A compiled model with its state."""

    def __init__(self, path: Path) -> None:
        openvino = require("openvino", to="run OpenVINO models")
        file = path / "openvino_model.xml"
        try:
            core = openvino.Core()
            source = core.read_model(file)
            model = core.compile_model(source, "CPU", _list_settings(source))
        except RuntimeError as problem:
            raise BadInput(f"OpenVINO cannot load it: {shown(problem)}", Where(file=str(file))) from None
        self._names = {name for item in model.inputs for name in item.get_names()}
        self._request = model.create_infer_request()
        self._count, self._path = 0, path

    def reset(self) -> None:
        """Forgets all tokens."""
        self._count = 0
        self._request.reset_state()

    def get_short_context(self) -> int | None:
        """Tokens that LongRoPE's short factors are for, as the configuration beside it says."""
        try:
            return read_model_spec(self._path).rope.short_context
        except EdgewrightError:
            # Of a folder that others wrote: nothing is known of such models.
            return None

    def split_probe(self, text: str) -> list[int] | None:
        """The tokens of a text by OpenVINO GenAI, where that is installed and has the tokenizer's model."""
        if not (self._path / TOKENIZER).is_file() or find_spec("openvino_genai") is None:
            return None
        tokenizer = import_module("openvino_genai").Tokenizer(str(self._path))
        return [int(token) for token in tokenizer.encode(text).input_ids.data[0]]

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


def _list_settings(model: Any) -> dict[str, str]:
    """Nothing for quantized files; single precision for those that this package wrote in floats."""
    place = ["edgewright", "precision"]
    is_float = model.has_rt_info(place) and model.get_rt_info(place).astype(str) in {"fp16", "fp32"}
    return SINGLE if is_float else {}
