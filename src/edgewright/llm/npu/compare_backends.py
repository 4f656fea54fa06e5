"""Simulation and emulator on the same tokens: how far apart they are, and from which layer on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.evaluate_file import (
    MOST_NATS,
    FloatRun,
    TextScore,
    find_interval,
    measure_floats,
    measure_windows,
)
from edgewright.llm.forward import cut_windows
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.npu.decoder_graph import LOGITS, name_state
from edgewright.llm.runtimes.npu_decoder import NpuDecoder
from edgewright.llm.runtimes.session import RuntimeSession
from edgewright.llm.texts import read_tokens

SIMULATION, NATIVE = "htp-sim", "htp-native"
# What simulation and emulator agree to: logits in dB, perplexity in percent.
LEAST_DISTANCE, MOST_DIFFERENCE = 45.0, 0.1
WINDOW = 256


@dataclass(frozen=True)
class BackendComparison:
    """The emulator beside the simulation on the same pieces of a text."""

    windows: int
    # How much higher the emulator's perplexity is, in percent, with the 95 % interval.
    difference: float
    difference_low: float
    difference_high: float
    # Signal over difference in dB: the state after each layer, and the logits, over the first piece.
    layers: tuple[float, ...]
    logits: float

    @property
    def is_close(self) -> bool:
        """Whether they agree."""
        return self.logits >= LEAST_DISTANCE and abs(self.difference) <= MOST_DIFFERENCE

    @property
    def first_layer(self) -> int | None:
        """The first layer after which they differ by more than logits may; None where none is."""
        return next((number for number, value in enumerate(self.layers) if value < LEAST_DISTANCE), None)


def judge_natively(
    folder: Path, text: Path, checkpoint: Checkpoint, windows: int
) -> tuple[TextScore, BackendComparison]:
    """The emulator beside the checkpoint in floats, and beside the simulation."""
    with RuntimeSession(folder, WINDOW, NATIVE) as session:
        window = min(WINDOW, checkpoint.spec.context, session.get_room() or WINDOW)
        pieces = cut_windows(read_tokens(checkpoint.folder, text, session), window, windows)
        plain = measure_floats(checkpoint, pieces)
        score, losses = _measure(session, pieces, plain)
    with RuntimeSession(folder, WINDOW, SIMULATION) as session:
        _, simulated = _measure(session, pieces, plain)
    differences = np.array([np.mean(a - b) for a, b in zip(losses, simulated, strict=True)], np.float64)
    low, high = find_interval(differences)
    layers, logits = measure_layers(folder, pieces[0][0])
    comparison = BackendComparison(
        windows=len(pieces),
        difference=_spell_percent(float(differences.mean())),
        difference_low=_spell_percent(low),
        difference_high=_spell_percent(high),
        layers=layers,
        logits=logits,
    )
    return score, comparison


def _spell_percent(nats: float) -> float:
    return 100 * math.expm1(min(nats, MOST_NATS))


class _ListeningSession(RuntimeSession):
    """A session that is open already, and what it said of each piece."""

    def __init__(self, session: RuntimeSession) -> None:
        self.path, self.kind, self._session = session.path, session.kind, session
        self.losses: list[Array] = []

    def measure(
        self, tokens: Array, targets: Array, reference: Array | None = None
    ) -> tuple[Array, Array, Array | None]:
        """As the session does."""
        answer = self._session.measure(tokens, targets, reference)
        self.losses.append(answer[0])
        return answer


def _measure(
    session: RuntimeSession, pieces: Sequence[tuple[Array, Array]], plain: FloatRun
) -> tuple[TextScore, list[Array]]:
    listening = _ListeningSession(session)
    return measure_windows(listening, pieces, None, plain), listening.losses


def measure_layers(folder: Path, tokens: Array) -> tuple[tuple[float, ...], float]:
    """The distance in dB after each layer, and of the logits."""
    simulated, native = (NpuDecoder(folder, name).trace(tokens) for name in (SIMULATION, NATIVE))
    layers = [name for name in native if name != LOGITS]
    layers.sort(key=lambda name: int(name.rpartition("_")[2]))
    assert all(name == name_state(number + 1) for number, name in enumerate(layers))
    distances = tuple(_measure_distance(native[name], simulated[name]) for name in layers)
    return distances, _measure_distance(native[LOGITS], simulated[LOGITS])


def _measure_distance(native: Array, simulated: Array) -> float:
    signal, noise = float((native**2).sum()), float(((native - simulated) ** 2).sum())
    return 200.0 if not noise else 10 * math.log10(max(signal, 1e-30) / noise)
