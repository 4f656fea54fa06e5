"""A GGUF file, run by llama.cpp."""

from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require

# One thread: those of llama.cpp wait for each other in a loop, which a busy machine makes very slow.
THREADS = 1
# Texts that are longer have LongRoPE's long factors.
ORIGINAL_CONTEXT = "phi3.rope.scaling.original_context_length"
LONGEST = 1 << 30


class GgufDecoder:
    """A model of llama-cpp-python, which also has the tokenizer.

    llama.cpp chooses LongRoPE's factors by the room that is set aside, not by the length of a text: with much
    room it would read short texts with the long ones.
    """

    def __init__(self, path: Path, context: int) -> None:
        self._path, self._context = path, context
        self._model = self._open()
        limit = str(self._model.metadata.get(ORIGINAL_CONTEXT, ""))
        # Tokens that the short factors are for; all where there is one kind.
        self._short = int(limit) if limit.isdecimal() else LONGEST
        self._is_long = self._model.n_ctx() > self._short
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._choose_factors(is_long=False)
        self._model.reset()

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        start = self._model.n_tokens
        if start + len(tokens) > self._short and not self._is_long:
            known = self._model.input_ids[:start].tolist()
            self._choose_factors(is_long=True)
            if known:
                self._model.eval(known)
        self._model.eval(tokens.tolist())
        return np.array(self._model.scores[start : self._model.n_tokens], np.float32)

    def _choose_factors(self, *, is_long: bool) -> None:
        """Opens the model anew where it has the other ones."""
        if is_long == self._is_long:
            return
        self._model.close()
        self._model, self._is_long = self._open({} if is_long else {ORIGINAL_CONTEXT: LONGEST}), is_long

    def _open(self, values: dict[str, int] | None = None) -> Any:
        llama = require("llama_cpp", to="run GGUF files")
        try:
            return llama.Llama(
                str(self._path),
                n_ctx=self._context,
                n_batch=min(self._context, 512),
                n_threads=THREADS,
                n_threads_batch=THREADS,
                logits_all=True,
                verbose=False,
                kv_overrides=values or None,
            )
        except ValueError as problem:
            where = Where(file=str(self._path))
            raise BadInput(f"llama.cpp cannot load it: {shown(problem)}", where) from None

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
