"""Two folders of tensors of the same model: how far each node's result is from its reference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.analyse.verifiers.choices import read_verifiers
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.errors import BadInput, EdgewrightError, shown
from edgewright.lower.names import sanitize_name
from edgewright.sdk.debugger.graph_structure import STRUCTURE_FILE, Structure, read_structure
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.tensor_folder import list_tensor_files
from edgewright.view.records import Overlay, ViewGraph, ViewModel

# Scores without a number: equal tensors have an infinite SQNR, NaNs an infinite error.
_ENDLESS = 999.0


@dataclass(frozen=True)
class OutputFolders:
    """What is compared, by what, and from where on it counts as different."""

    golden: Path
    results: Path
    # Each as the accuracy debugger takes it: a name, or NAME,PARAMETER,VALUE.
    verifiers: Sequence[str] = ("SQNR",)
    threshold: float | None = None


def compare_outputs(model: ViewModel, folders: OutputFolders) -> ViewModel:
    """The model coloured by every verifier; tensors are found by their names here or in the source."""
    choices = read_verifiers([(text,) for text in folders.verifiers])
    overlays = dict(model.overlays)
    notes: list[str] = []
    scored = 0
    for graph in model.graphs:
        mapping = {tensor.name: tensor.source for tensor in graph.tensors.values() if tensor.source}
        matcher = TensorMatcher(
            *(list_tensor_files(folders.golden), list_tensor_files(folders.results)),
            *(mapping, {} if find_structure(folders.golden) else find_structure(folders.results)),
        )
        scores, problems = _score_tensors(matcher, [choice.verifier for choice in choices])
        measured = tuple(
            _make_overlay(graph, choice.verifier, scores, folders.threshold) for choice in choices
        )
        scored += sum(bool(overlay.values) for overlay in measured)
        shown_overlays = tuple(overlay for overlay in measured if overlay.values)
        overlays[graph.name] = (*shown_overlays, *overlays.get(graph.name, ()))
        notes += problems
    if not scored:
        raise BadInput(
            f"no tensor of '{shown(folders.results)}' belongs to a node of the model and has a reference in "
            f"'{shown(folders.golden)}'",
            do="name two folders of raw files that are called like tensors of the model or of its source",
        )
    return replace(model, overlays=overlays, notes=(*model.notes, *notes))


def find_structure(results: Path) -> Structure:
    """What the inference engine wrote of the tensors beside its results; empty for other folders.

    It tells the axes: a shape such as [1, 8, 8, 8] is the same in both layouts.
    """
    file = results.resolve().parent.parent / STRUCTURE_FILE
    return read_structure(file) if file.is_file() else {}


def _score_tensors(
    matcher: TensorMatcher, verifiers: Sequence[Verifier]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    scores: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for pair in matcher.list_pairs():
        try:
            arrays = matcher.read_pair(pair)
            scores[pair.name] = {verifier.column: verifier.score(*arrays) for verifier in verifiers}
        except EdgewrightError as problem:
            problems.append(f"'{shown(pair.name)}' is not compared: {problem.what}")
    return scores, problems


def _make_overlay(
    graph: ViewGraph,
    verifier: Verifier,
    scores: dict[str, dict[str, float]],
    threshold: float | None,
) -> Overlay:
    makers = {name: node.name for node in graph.nodes for name in node.outputs}
    known = {sanitize_name(name): node for name, node in makers.items()}
    sources = [(graph.tensors[name].source, node) for name, node in makers.items() if name in graph.tensors]
    known |= {sanitize_name(source): node for source, node in sources if source}
    values: dict[str, float] = {}
    for name, by_verifier in scores.items():
        node = known.get(sanitize_name(name))
        if node is not None:
            values[node] = _limit(by_verifier[verifier.column])
    return Overlay(
        verifier.column,
        verifier.name,
        values,
        "dB" if verifier.name == "SQNR" else "",
        is_low_worse=verifier.is_higher_better,
        threshold=verifier.threshold if threshold is None else threshold,
    )


def _limit(score: float) -> float:
    """A number for every score, so that JSON and colours have one."""
    if math.isnan(score):
        return -_ENDLESS
    return min(max(score, -_ENDLESS), _ENDLESS)
