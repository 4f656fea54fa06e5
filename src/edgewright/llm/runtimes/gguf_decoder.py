"""A GGUF file, run by llama.cpp."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require

# One thread: those of llama.cpp wait for each other in a loop, which a busy machine makes very slow.
THREADS = 1


class GgufDecoder:
    """A model of llama-cpp-python, which also has the tokenizer."""

    def __init__(self, path: Path, context: int) -> None:
        llama = require("llama_cpp", to="run GGUF files")
        try:
            self._model = llama.Llama(
                str(path),
                n_ctx=context,
                n_batch=min(context, 512),
                n_threads=THREADS,
                n_threads_batch=THREADS,
                logits_all=True,
                verbose=False,
            )
        except ValueError as problem:
            raise BadInput(f"llama.cpp cannot load it: {shown(problem)}", Where(file=str(path))) from None

    def reset(self) -> None:
        """Forgets all tokens."""
        self._model.reset()

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        start = self._model.n_tokens
        self._model.eval(tokens.tolist())
        return np.array(self._model.scores[start : self._model.n_tokens], np.float32)

    def split_text(self, text: str, *, is_start: bool) -> list[int]:
        """The tokens of a text, marks of a chat included."""
        return list(self._model.tokenize(text.encode(), add_bos=is_start, special=True))

    def join_tokens(self, tokens: list[int]) -> bytes:
        """The text of tokens."""
        return bytes(self._model.detokenize(tokens))

    def list_ends(self) -> list[int]:
        """Tokens that end an answer."""
        return [self._model.token_eos()]

    def get_template(self) -> str:
        """How a chat is spelled; empty where the file does not say."""
        return str(self._model.metadata.get("tokenizer.chat_template", ""))

    def get_room(self) -> int:
        """Tokens that the model was made for."""
        return int(self._model._model.n_ctx_train())  # noqa: SLF001 - nothing else tells it
