"""A language model built for the NPU: on its emulator, on the simulation, or on the CPU."""

from pathlib import Path

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.load.config import read_model_spec
from edgewright.llm.npu.decoder_graph import LOGITS
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.manifest import DECODE, PREFILL, read_manifest
from edgewright.model.model import Model, load


class NpuDecoder:
    """Two graphs, and the keys and values of the tokens so far.

    Args:
        path: what `edgewright llm build` wrote.
        backend: htp-sim, htp-native or cpu.
    """

    def __init__(self, path: Path, backend: str) -> None:
        self._folder, self._backend = path, backend
        self._spec, self._manifest = read_model_spec(path), read_manifest(path)
        self._models: dict[str, Model] = {}
        self.reset()

    def get_room(self) -> int:
        """Tokens that the graphs look back on."""
        return self._manifest.context

    def reset(self) -> None:
        """Forgets all tokens."""
        self._state = TextState(self._spec, self._manifest.context)

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        logits, start = [], 0
        while start < len(tokens):
            name = self._choose_graph(len(tokens) - start)
            shape = self._manifest.shapes[name]
            piece = tokens[start : start + shape.tokens]
            outputs = self._open(name).run(self._state.feed(piece, shape), backend=self._backend)
            self._state.take(outputs, len(piece))
            logits.append(np.asarray(outputs[LOGITS][0, -len(piece) :], np.float32))
            start += len(piece)
        return np.concatenate(logits)

    def _choose_graph(self, count: int) -> str:
        """Many tokens at once where that graph still looks back on all of the text."""
        sees_all = self._state.length <= self._manifest.shapes[PREFILL].past
        return PREFILL if count > 1 and sees_all else DECODE

    def _open(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = load(self._folder / f"{name}.dlc")
        return self._models[name]
