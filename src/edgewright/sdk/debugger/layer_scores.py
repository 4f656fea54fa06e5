"""What debugging layer by layer tells: the guide's table, and the stage at which a layer failed."""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.config.inference_engine import EngineRun
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean
from edgewright.sdk.debugger.summary import format_csv, format_score

log = logging.getLogger(__name__)

ABNORMAL = "{name}: {score} (expected {side} {threshold:g})"


@dataclass
class LayerScore:
    """One layer: the guide's columns."""

    name: str
    type: str
    shape: tuple[int, ...]
    # Empty (equal), skip, part (different: what follows reads golden values), or where it failed: err_part,
    # err_con, err_lib, err_cntx, err_exec or err_compare.
    status: str = ""
    # Smallest, largest and median golden value.
    activations: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scores: dict[str, float] = field(default_factory=dict)
    # Output of the model -> its scores when all from this layer on is quantized and nothing before it.
    outputs: dict[str, dict[str, float]] = field(default_factory=dict)
    info: str = ""
    # Why the outputs have no scores.
    rest: str = ""


@dataclass(frozen=True)
class Snooping:
    """All layers in order."""

    folder: str
    algorithm: str
    verifiers: tuple[Verifier, ...]
    layers: tuple[LayerScore, ...]
    # Passes over the quantized graph that this took, suffixes counted as parts of one.
    passes: float = 0.0
    # Runs of what follows a layer, one for each partition.
    suffixes: int = 0
    # Why each layer was converted by itself, where the model as a whole was not.
    note: str = ""

    @property
    def partitions(self) -> int:
        """Layers that differ from their references."""
        return sum(layer.status == "part" for layer in self.layers)

    @property
    def first_divergence(self) -> str:
        """One line: the first layer that some verifier calls different."""
        for layer in self.layers:
            if layer.info or layer.status.startswith("err"):
                return f"first divergence: {layer.name} ({layer.type}): {layer.info or layer.status}"
        return f"first divergence: none of {len(self.layers)} layers"


class StageFailure(Exception):
    """A layer did not get through a stage; ``status`` is the guide's word for it."""

    def __init__(self, status: str, problem: EdgewrightError) -> None:
        super().__init__(status, problem)
        self.status, self.problem = status, problem


@contextmanager
def mark_failures(status: str) -> Iterator[None]:
    """What fails inside is a failure of that stage."""
    try:
        yield
    except EdgewrightError as problem:
        raise StageFailure(status, problem) from problem


def write_snooping(result: Snooping) -> Snooping:
    """Writes layerwise.csv or cumulative_layerwise.csv."""
    write_whole(Path(result.folder) / f"{result.algorithm}.csv", [format_csv(list_rows(result))])
    log.info("%s", result.first_divergence)
    return result


def list_rows(result: Snooping) -> list[list[str]]:
    """The table of the guide, headers first."""
    columns = [verifier.column for verifier in result.verifiers]
    has_outputs = result.algorithm.startswith("cumulative")
    headers = ["O/P Name", "Status", "Layer Type", "Shape", "Activations (Min,Max,Median)", *columns]
    rows = [[*headers, *(["Orig Outputs"] if has_outputs else []), "Info"]]
    for layer in result.layers:
        scores = [format_score(layer.scores[name]) if name in layer.scores else "" for name in columns]
        figures = str([f"{value:.3f}" for value in layer.activations])
        outputs = {
            name: {key: float(format_score(score)) for key, score in entry.items()}
            for name, entry in layer.outputs.items()
        }
        cells = [layer.name, layer.status, layer.type, str(list(layer.shape)), figures, *scores]
        rows.append([*cells, *([str(outputs) if outputs else ""] if has_outputs else []), _join_info(layer)])
    return rows


def _join_info(layer: LayerScore) -> str:
    return "; ".join(filter(None, (layer.info, layer.rest)))


def choose_layers(names: Sequence[str], start: str | None, end: str | None) -> range:
    """The places of the layers between two outputs, both included."""
    places = []
    for option, name in (("--start_layer", start), ("--end_layer", end)):
        if name is not None and name not in names:
            raise UsageError(
                f"{option} is '{shown(name)}', which is no layer of the converted model",
                do=did_you_mean(name, names, "name the output of a layer, as layerwise.csv lists them"),
            )
        places.append(None if name is None else names.index(name))
    first, last = places[0] or 0, len(names) - 1 if places[1] is None else places[1]
    if first > last:
        raise UsageError(
            f"--start_layer '{shown(start)}' comes after --end_layer '{shown(end)}'", do="exchange them"
        )
    return range(first, last + 1)


def is_skipped(choice: EngineRun, names: Collection[str], kind: str) -> bool:
    """Whether --skip_layer_outputs, --skip_layer_types or their opposites leave a layer out."""
    if kind in choice.skip_layer_types or any(name in names for name in choice.skip_layer_outputs):
        return True
    has_choice = bool(choice.add_layer_types or choice.add_layer_outputs)
    is_named = kind in choice.add_layer_types or any(name in names for name in choice.add_layer_outputs)
    return has_choice and not is_named


def note_failure(layer: LayerScore, failure: StageFailure) -> None:
    """The status, and why in a word."""
    layer.status, layer.info = failure.status, " ".join(failure.problem.what.split())
    log.warning("layer '%s', %s: %s", layer.name, failure.status, failure.problem.what)


def note_failed_rest(layer: LayerScore, failure: StageFailure) -> None:
    """Why there are no scores of the outputs; the layer itself is as it was found."""
    what = " ".join(failure.problem.what.split())
    layer.rest = f"outputs: {failure.status}: {what}"
    log.warning("from layer '%s' on, %s: %s", layer.name, failure.status, failure.problem.what)


def judge_layer(layer: LayerScore, verifiers: Sequence[Verifier], golden: Array, result: Array) -> None:
    """The scores of a layer, whether the model is partitioned there, and what is abnormal."""
    try:
        with mark_failures("err_compare"):
            layer.scores = {verifier.column: verifier.score(golden, result) for verifier in verifiers}
    except StageFailure as failure:
        note_failure(layer, failure)
        return
    # The guide: the model is partitioned at every layer that does not match exactly.
    if not np.array_equal(golden.reshape(-1), result.reshape(-1)):
        layer.status = "part"
    wrong = [verifier for verifier in verifiers if not verifier.is_match(layer.scores[verifier.column])]
    layer.info = "; ".join(
        ABNORMAL.format(
            name=verifier.column,
            score=format_score(layer.scores[verifier.column]),
            side="at least" if verifier.is_higher_better else "at most",
            threshold=verifier.limit,
        )
        for verifier in wrong
    )
