"""The process that a runtime runs in: reads requests from a socket, answers each."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.abi.worker_process import answer_by, serve
from edgewright.core.numbers import Array
from edgewright.core.signals import leave_to_caller
from edgewright.llm.forward import compute_losses
from edgewright.llm.runtimes.decoder import Decoder, OwnProbe, OwnRanges, OwnRoom, OwnTokenizer, open_decoder
from edgewright.llm.runtimes.messages import CODEC


class Host:
    """What a worker does; every public method is a request."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None

    def open(self, kind: str, path: str, context: int, backend: str) -> None:
        """Loads a model."""
        self._decoder = open_decoder(kind, Path(path), context, backend)

    def measure(self, tokens: Array, targets: Array, reference: Array | None) -> Any:
        """Of one text: how unlikely each target is, the likeliest tokens, and how far from a reference."""
        assert self._decoder is not None
        self._decoder.reset()
        logits = self._decoder.feed(tokens)
        gaps = None if reference is None else compute_divergence(reference, logits)
        return compute_losses(logits, targets), logits.argmax(axis=-1), gaps

    def time_decoding(self, tokens: Array, prompt: int, seconds: float) -> tuple[float, float]:
        """Tokens a second of a prompt at once, and of those after it one by one.

        Args:
            tokens: the prompt and what follows.
            prompt: how many of them are the prompt.
            seconds: when to stop, at the latest after the token that is under way.
        """
        assert self._decoder is not None
        self._decoder.reset()
        start = time.perf_counter()
        self._decoder.feed(tokens[:prompt])
        middle, count = time.perf_counter(), 0
        while prompt + count < len(tokens) and (count == 0 or time.perf_counter() < middle + seconds):
            self._decoder.feed(tokens[prompt + count : prompt + count + 1])
            count += 1
        end = time.perf_counter()
        return prompt / max(middle - start, 1e-9), count / max(end - middle, 1e-9)

    def feed(self, tokens: Array) -> Array:
        """The logits after the last token."""
        assert self._decoder is not None
        logits: Array = self._decoder.feed(tokens)[-1]
        return logits

    def reset(self) -> None:
        """Forgets all tokens."""
        assert self._decoder is not None
        self._decoder.reset()

    def split_text(self, text: str, is_start: bool) -> list[int] | None:
        """The tokens of a text; None where the runtime has no tokenizer, as in all of these."""
        decoder = self._decoder
        return decoder.split_text(text, is_start=is_start) if isinstance(decoder, OwnTokenizer) else None

    def split_probe(self, text: str) -> list[int] | None:
        """The tokens of a text by the tokenizer that users of the runtime have."""
        decoder = self._decoder
        return decoder.split_probe(text) if isinstance(decoder, OwnProbe) else self.split_text(text, True)

    def join_tokens(self, tokens: list[int]) -> bytes | None:
        """The text of tokens."""
        return self._decoder.join_tokens(tokens) if isinstance(self._decoder, OwnTokenizer) else None

    def list_ends(self) -> list[int] | None:
        """Tokens that end an answer."""
        return self._decoder.list_ends() if isinstance(self._decoder, OwnTokenizer) else None

    def get_room(self) -> int | None:
        """Tokens that the model was made for."""
        return self._decoder.get_room() if isinstance(self._decoder, OwnRoom) else None

    def get_limit_share(self) -> float | None:
        """The share of states at an end of their range; None where states are floats."""
        return self._decoder.get_limit_share() if isinstance(self._decoder, OwnRanges) else None

    def get_template(self) -> str | None:
        """How a chat is spelled."""
        return self._decoder.get_template() if isinstance(self._decoder, OwnTokenizer) else None


def compute_divergence(reference: Array, logits: Array) -> Array:
    """Of Kullback and Leibler, in nats, for each token."""
    first, second = _normalize_logits(reference), _normalize_logits(logits)
    return np.asarray((np.exp(first) * (first - second)).sum(axis=-1))


def _normalize_logits(logits: Array) -> Array:
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def main(descriptor: int) -> None:
    """Serves requests until the caller is gone."""
    leave_to_caller()
    host = Host()
    serve(descriptor, CODEC, lambda name, arguments: answer_by(host, name, arguments))


if __name__ == "__main__":
    main(int(sys.argv[1]))
