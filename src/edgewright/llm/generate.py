"""Texts that a language model writes, token by token, in its own runtime."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.llm.load.config import CONFIG
from edgewright.llm.load.vocabulary import SETTINGS, TOKENIZER, find_template, read_json_object
from edgewright.llm.runtimes.session import GENAI, RuntimeSession, read_genai_model
from edgewright.llm.sampling import Sampler, Sampling
from edgewright.llm.texts import open_tokenizer

# What stands where the bytes of a character are not all there yet.
INCOMPLETE = "�"
# Where the tokens that end an answer are written, in the order of preference.
SETTINGS_FILES = ("generation_config.json", CONFIG)
Message = dict[str, str]


class TextGenerator:
    """Continues a text or answers in a chat; the model remembers what came before.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX, a checkpoint, or one for the NPU.
        context: tokens of prompt and answer together.
        sampling: how tokens are chosen; the likeliest where nothing is said.
        backend: where a model that was built for the NPU runs; the simulation where nothing is said.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        context: int = 2048,
        sampling: Sampling | None = None,
        backend: str = "",
    ) -> None:
        self._folder, self._context = Path(path), context
        self._session = RuntimeSession(path, context, backend)
        self._context = min(context, self._session.get_room() or context)
        self._sampler = Sampler(sampling or Sampling())
        self._tokenizer = open_tokenizer(self._folder) if (self._folder / TOKENIZER).is_file() else None
        self._known: list[int] = []

    def set_sampling(self, sampling: Sampling) -> None:
        """How tokens are chosen from here on."""
        self._sampler = Sampler(sampling)

    def close(self) -> None:
        """Ends the runtime's process."""
        self._session.__exit__(None, None, None)

    def check_chat(self) -> None:
        """Refuses a model that has no template for talks."""
        if not self._find_template():
            raise UsageError(
                "the model has no chat template", Where(file=str(self._folder)), do="use `edgewright llm run`"
            )

    def continue_text(self, text: str, tokens: int) -> Iterator[str]:
        """What follows a text, piece by piece."""
        yield from self._generate(self.split_text(text), tokens)

    def answer(self, messages: Sequence[Message], tokens: int) -> Iterator[str]:
        """The answer in a chat, piece by piece; of a long one the beginning is forgotten."""
        known = list(messages)
        prompt = self.split_text(self.spell_chat(known))
        while len(prompt) >= self._context and len(known) > 2:
            del known[:2]
            prompt = self.split_text(self.spell_chat(known))
        yield from self._generate(prompt, tokens)

    def split_text(self, text: str) -> list[int]:
        """The tokens of a text, with the one that begins texts where the model has one."""
        if self._tokenizer is None:
            return self._session.split_text(text, is_start=True)
        begin = _read_word(read_json_object(self._folder / SETTINGS, needed=False), "bos_token")
        has_begin = bool(begin) and text.startswith(begin)
        return list(self._tokenizer.encode(text, add_special_tokens=not has_begin).ids)

    def spell_chat(self, messages: Sequence[Message]) -> str:
        """A chat as the model was taught to read it."""
        self.check_chat()
        template, settings = self._find_template(), read_json_object(self._folder / SETTINGS, needed=False)
        words = {name: _read_word(settings, name) for name in ("bos_token", "eos_token")}
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse_messages
        try:
            return environment.from_string(template).render(
                messages=list(messages), add_generation_prompt=True, **words
            )
        except (TemplateError, TypeError, ValueError) as problem:
            raise BadInput(
                f"the chat template fails: {shown(problem)}", Where(file=str(self._folder))
            ) from None

    def _find_template(self) -> str:
        if self._tokenizer is None:
            return self._session.get_template()
        return find_template(self._folder)

    def _generate(self, tokens: list[int], most: int) -> Iterator[str]:
        if not tokens:
            raise UsageError("the prompt is empty", do="give the beginning of a text")
        if len(tokens) >= self._context:
            raise UsageError(
                f"the prompt has {len(tokens)} tokens, there is room for {self._context} with the answer",
                do="shorten it, or raise --context as far as the model allows",
            )
        last_tokens, made, shown_text = self._list_ends(), [], ""
        logits = self._feed(tokens)
        for _ in range(min(most, self._context - len(tokens))):
            token = self._sampler.choose(logits, self._known)
            if token in last_tokens:
                return
            made.append(token)
            text = self._join(made)
            if not text.endswith(INCOMPLETE):
                yield text[len(shown_text) :]
                shown_text = text
            logits = self._feed([*self._known, token])

    def _feed(self, tokens: list[int]) -> Array:
        """Only what the model does not know yet, where the beginning is the same."""
        count = len(self._known)
        if tokens[:count] != self._known or len(tokens) == count:
            self._session.reset()
            count = 0
        self._known = tokens
        return self._session.feed(np.array(tokens[count:], np.int64))

    def _join(self, tokens: list[int]) -> str:
        if self._tokenizer is None:
            return self._session.join_tokens(tokens).decode("utf-8", errors="replace")
        return str(self._tokenizer.decode(tokens))

    def _list_ends(self) -> set[int]:
        """Tokens that end an answer."""
        if self._tokenizer is None:
            return set(self._session.list_ends())
        for name in SETTINGS_FILES:
            tokens = read_json_object(self._folder / name, needed=False).get("eos_token_id")
            if tokens is not None:
                return _read_tokens(tokens, self._folder / name)
        tokens = read_genai_model(self._folder).get("eos_token_id", [])
        return _read_tokens(tokens, self._folder / GENAI)


def _read_tokens(value: Any, path: Path) -> set[int]:
    """One token, or a list of them."""
    tokens = value if isinstance(value, list) else [value]
    if not all(type(token) is int for token in tokens):
        raise BadInput(f"'eos_token_id' is {shown(value)}, expected numbers of tokens", Where(file=str(path)))
    return set(tokens)


def _read_word(settings: dict[str, Any], name: str) -> str:
    value = settings.get(name)
    word = value.get("content") if isinstance(value, dict) else value
    return word if isinstance(word, str) else ""


def _refuse_messages(reason: str) -> None:
    raise TemplateError(reason)
