"""How well a file predicts a text, in its own runtime, beside the checkpoint that it was made from."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewright.core.errors import UsageError, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.evaluate.statistics import NORMAL_95
from edgewright.llm.forward import compute_losses, cut_windows, iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.runtimes.decoder import FLOAT, describe_runtime
from edgewright.llm.runtimes.session import RuntimeSession
from edgewright.llm.texts import read_tokens
from edgewright.llm.tokenizer_probe import compare_tokenizers

# How long a file writes tokens so that its speed is known.
DECODING_SECONDS = 3.0
# Windows that a proof needs at least.
FEWEST = 8
# Tokens of a window where nothing is said.
WINDOW = 256
# Bytes of reference logits that are kept for the divergence.
MOST_LOGITS = 1 << 28
# Windows whose logits are compared whole, and the largest difference of losses that is told.
MOST_COMPARED, MOST_NATS = 8, 50.0
# An increase of perplexity in percent that is accepted where nothing is said.
LIMITS = {"int4": 5.0, "int8": 0.5, "fp16": 0.1, "fp32": 0.1}
Windows = Sequence[tuple[Array, Array]]


@dataclass(frozen=True)
class TextScore:
    """What a runtime made of a text."""

    path: str
    format: str
    windows: int
    tokens: int
    perplexity: float
    # A text that is read at once, and one that is written token by token; None where that was not timed.
    tokens_per_second: float
    written_per_second: float | None = None
    text: str = ""
    # The package that ran it, and its version.
    runtime: str = ""
    # Of the checkpoint on the same tokens, where one was given.
    float_perplexity: float | None = None
    # In percent, with the 95 % interval of the difference on the same tokens.
    increase: float | None = None
    increase_low: float | None = None
    increase_high: float | None = None
    # Share of tokens whose likeliest successor is the same, and the divergence in nats of some of them.
    same_tokens: float | None = None
    divergence: float | None = None
    # Share of keys and values at an end of their range, where they are in fixed point.
    limited_states: float | None = None
    # Whether the runtime cuts a probe into the checkpoint's tokens; None where that cannot be asked.
    has_same_tokenizer: bool | None = None

    def describe_interval(self) -> str:
        """Of the rise in percent; few windows prove nothing."""
        if self.windows < FEWEST:
            return f"{self.windows} pieces of text prove nothing, {FEWEST} are needed"
        return f"{self.increase_low:+.2f} to {self.increase_high:+.2f}, 95 %"


def evaluate_file(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    path: Path | str,
    text: Path | str,
    *,
    against: Path | str | None = None,
    window: int | None = None,
    windows: int | None = None,
    backend: str = "",
    floats: "FloatRun | None" = None,
) -> TextScore:
    """The perplexity of a text by a file of any format, each window from an empty context.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX or a checkpoint.
        text: a text, or a .npy file of its tokens.
        against: the checkpoint that it was made from, to compare with.
        window: tokens of a window; 256 where nothing is said, or what the checkpoint has room for.
        windows: how many at most; None: the whole text.
        backend: where a model that was built for the NPU runs; the simulation where nothing is said.
        floats: what the checkpoint made of the same windows, where that is known already.
    """
    checkpoint = None if against is None else Checkpoint(against)
    room = None if checkpoint is None else checkpoint.spec.context
    with RuntimeSession(path, _choose_window(window, room), backend) as session:
        window = _choose_window(window, room, session.get_room())
        source = Path(path) if checkpoint is None else checkpoint.folder
        tokens = read_tokens(source, Path(text), session)
        pieces = cut_windows(tokens, window, windows)
        if not pieces:
            raise UsageError(
                f"the text has {len(tokens)} tokens, expected more than {window}", Where(file=str(text))
            )
        score = replace(
            measure_windows(session, pieces, checkpoint, floats),
            text=str(text),
            runtime=describe_runtime(session.kind),
            limited_states=session.get_limit_share(),
            has_same_tokenizer=None if checkpoint is None else compare_tokenizers(session, checkpoint.folder),
        )
        return _time_decoding(session, tokens[:window], score)


def _time_decoding(session: RuntimeSession, tokens: Array, score: TextScore) -> TextScore:
    """How fast it reads and writes here; the float arithmetic of this package remembers nothing."""
    if session.kind == FLOAT:
        return score
    read, written = session.time_decoding(tokens, len(tokens) // 2, DECODING_SECONDS)
    return replace(score, tokens_per_second=read, written_per_second=written)


def _choose_window(window: int | None, *rooms: int | None) -> int:
    """What was asked for, where it fits; rooms that nobody knows limit nothing."""
    known = [room for room in rooms if room is not None]
    if window is not None and known and window > min(known):
        raise UsageError(
            f"a window has {window} tokens, the model has room for {min(known)}", do="choose fewer"
        )
    return window or min([WINDOW, *known])


def measure_windows(
    session: RuntimeSession, pieces: Windows, checkpoint: Checkpoint | None, floats: "FloatRun | None" = None
) -> TextScore:
    """The windows through a runtime, and through the checkpoint in floats where that is not known."""
    plain = floats if floats or checkpoint is None else measure_floats(checkpoint, pieces)
    losses: list[Array] = []
    likeliest: list[Array] = []
    gaps: list[Array] = []
    start = time.monotonic()
    with announce_progress(f"running the text in {session.kind}", total=len(pieces)) as step:
        for number, (tokens, targets) in enumerate(pieces):
            loss, best, gap = session.measure(
                tokens, targets, None if plain is None else plain.logits.get(number)
            )
            losses.append(loss)
            likeliest.append(best)
            gaps += [] if gap is None else [gap]
            step()
    every = np.concatenate(losses)
    score = TextScore(
        path=str(session.path),
        format=session.kind,
        windows=len(pieces),
        tokens=len(every),
        perplexity=math.exp(every.mean()),
        tokens_per_second=len(every) / max(time.monotonic() - start, 1e-9),
    )
    return score if plain is None else _compare(score, plain, losses, likeliest, gaps)


@dataclass(frozen=True)
class FloatRun:
    """What the checkpoint made of each window; logits of some of them."""

    losses: list[Array]
    likeliest: list[Array]
    logits: dict[int, Array]


def measure_floats(checkpoint: Checkpoint, pieces: Windows) -> FloatRun:
    """The windows through the checkpoint in floats."""
    size = 4 * checkpoint.spec.vocabulary * len(pieces[0][0])
    kept = max(1, min(MOST_COMPARED, MOST_LOGITS // size))
    run = FloatRun([], [], {})
    with announce_progress("running the text in floats", total=len(pieces)) as step:
        every = iterate_float_logits(checkpoint, [tokens for tokens, _ in pieces])
        for number, (logits, (_, targets)) in enumerate(zip(every, pieces, strict=True)):
            run.losses.append(compute_losses(logits, targets))
            run.likeliest.append(logits.argmax(axis=-1))
            if number < kept:
                run.logits[number] = logits
            step()
    return run


def _compare(
    score: TextScore, plain: FloatRun, losses: list[Array], likeliest: list[Array], gaps: list[Array]
) -> TextScore:
    """Beside the float model on the same tokens; windows are what varies."""
    pairs = zip(losses, plain.losses, strict=True)
    differences = np.array([np.mean(loss - base) for loss, base in pairs], np.float64)
    low, high = find_interval(differences)
    return replace(
        score,
        float_perplexity=math.exp(np.concatenate(plain.losses).mean()),
        increase=100 * math.expm1(float(differences.mean())),
        increase_low=100 * math.expm1(low),
        increase_high=100 * math.expm1(min(high, MOST_NATS)),
        same_tokens=float(np.mean(np.concatenate(likeliest) == np.concatenate(plain.likeliest))),
        divergence=float(np.concatenate(gaps).mean()),
    )


def find_interval(differences: Array) -> tuple[float, float]:
    """The 95 % interval of a mean; few windows show nothing of how windows differ."""
    count = len(differences)
    if count < FEWEST:
        return -math.inf, math.inf
    # Student's, for the spread itself is known from these windows only.
    factor = NORMAL_95 + (NORMAL_95**3 + NORMAL_95) / (4 * (count - 1))
    mean, reach = float(differences.mean()), factor * float(differences.std(ddof=1)) / math.sqrt(count)
    return mean - reach, mean + reach
