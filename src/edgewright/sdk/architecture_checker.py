"""qnn-architecture-checker: reads a converted model, writes its issues as CSV, and the modified model."""

import csv
import io
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.analyse.architecture.check import (
    RULES,
    ModifiedGraph,
    check_architecture,
    list_modifiable,
    modify_graph,
)
from edgewright.analyse.architecture.rule import Issue, Rule
from edgewright.config.architecture_checker import ALL, APPLY, SHOW, CheckedModel
from edgewright.core.errors import AccuracyGate, EdgewrightError, Where
from edgewright.core.files import with_own_name, write_whole
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.random_inputs import make_random_inputs
from edgewright.model.saving import SaveOptions, load_graph, load_shapes, save_graph

log = logging.getLogger(__name__)

NOTHING = "N/A"
HEADERS = (
    *("Graph/Node_name", "Issue", "Recommendation", "Type"),
    *("Input_tensor_name:[dims]", "Output_tensor_name:[dims]", "Parameters", "Previous node", "Next node"),
    *("Modification", "Modification_info"),
    # Beyond the guide: which rule it is, and what it costs here.
    *("Rule", "Effect"),
)
# A modified model whose outputs move by more than this part of their range is not written.
MOST_CHANGE, MOST_CHANGE_FIXED = 0.01, 0.05
SMALLEST_CHANGE = 1e-6


@dataclass(frozen=True)
class Modification:
    """A rule that could be applied, or was, and how often."""

    rule: str
    text: str
    tolerance: str
    places: int


@dataclass(frozen=True)
class ArchitectureCheck:
    """What the tool found and wrote."""

    model: str
    nodes: int
    issues: tuple[Issue, ...]
    files: tuple[str, ...]
    # What could be applied, where it was asked for.
    modifications: tuple[Modification, ...] = ()
    applied: int = 0
    # The largest change of an output, as a part of its range; None where nothing was applied.
    change: float | None = None
    notes: tuple[str, ...] = field(default=())


def check_files(options: CheckedModel) -> ArchitectureCheck:
    """Checks the model, applies what is asked for and writes what the guide names."""
    source = Path(options.input_json)
    name = source.stem.removesuffix("_net") or "model"
    folder = source.parent if options.output_path is None else Path(options.output_path)
    rules = _choose_rules(options.modify)
    graph, notes = _read(options, needs_weights=bool(rules))
    result = modify_graph(graph, rules) if rules else ModifiedGraph(graph, check_architecture(graph), 0)
    files: list[Path] = []
    change = None
    if result.applied:
        change = _measure_change(graph, result.graph, source)
        target, note = _choose_target(folder, source, name)
        files += save_graph(result.graph, target, SaveOptions(command="qnn-architecture-checker")).paths
        notes += [note] if note else []
    elif rules:
        notes.append("nothing in the model can be modified so: no model was written")
    table = write_table(result.issues, folder / f"{name}_architecture_checker.csv")
    return ArchitectureCheck(
        *(name, len(graph), result.issues, tuple(map(str, (table, *files)))),
        modifications=tuple(_list_modifications(result.issues)) if options.modify == SHOW else (),
        applied=result.applied,
        change=change,
        notes=tuple(notes),
    )


def write_table(issues: Sequence[Issue], path: Path) -> Path:
    """Writes the CSV with the guide's columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADERS)
    writer.writerows(_list_cells(issue) for issue in issues)
    write_whole(path, [text.getvalue().encode()])
    return path


def _choose_rules(query: str | None) -> tuple[Rule, ...]:
    if query is None or query == SHOW:
        return ()
    if query == ALL:
        return list_modifiable(name for name, rule in RULES.items() if rule.modify is not None)
    return list_modifiable(query.removeprefix(APPLY).split(","))


def _read(options: CheckedModel, *, needs_weights: bool) -> tuple[Graph, list[str]]:
    """The graph; where weights are not at hand and not needed, without them."""
    source = with_own_name(options.input_json)
    beside = source.with_name(f"{source.stem.removesuffix('_net')}.bin")
    if needs_weights or options.bin is not None or source.suffix != ".json" or beside.exists():
        return load_graph(source, options.bin), []
    note = "the weights are not beside the model: what depends on their values is not checked"
    return load_shapes(source), [note]


def _choose_target(folder: Path, source: Path, name: str) -> tuple[Path, str]:
    """Where a modified model goes: never over the one that was read."""
    if folder.resolve() != source.parent.resolve():
        return folder / f"{name}.cpp", ""
    target = folder / f"{name}_modified.cpp"
    return target, f"the model that was read is kept: the modified one is {target.name}"


def _measure_change(before: Graph, after: Graph, source: Path) -> float:
    """How far outputs move on random inputs, as a part of their range; too far is an error."""
    inputs = make_random_inputs(Model.of(before))
    try:
        results = [Model.of(graph).run(inputs) for graph in (before, after)]
    except EdgewrightError as problem:
        log.warning("the modified model could not be compared with the one before: %s", problem.what)
        return float("nan")
    change = max((_compare(results[0][name], results[1][name]) for name in before.outputs), default=0.0)
    is_fixed = any(kind.encoding is not None for kind in before.types.values())
    limit = MOST_CHANGE_FIXED if is_fixed else MOST_CHANGE
    if change > limit:
        raise AccuracyGate(
            f"the modifications move an output by {100 * change:.2g} % of its range, at most "
            f"{100 * limit:g} % are allowed: nothing was written",
            Where(file=str(source)),
            do="apply rules one by one: --modify apply=RULE",
        )
    return change


def _compare(first: Array, second: Array) -> float:
    reference, other = first.astype(np.float64), second.astype(np.float64)
    spread = float(np.ptp(reference)) or float(np.abs(reference).max(initial=0.0)) or 1.0
    # Scores that are saturated differ by their rounding alone.
    return max(float(np.abs(reference - other).max(initial=0.0)) - SMALLEST_CHANGE, 0.0) / spread


def _list_modifications(issues: Sequence[Issue]) -> list[Modification]:
    counts = Counter(issue.rule for issue in issues)
    return [
        Modification(name, rule.modification, rule.tolerance, counts[name])
        for name, rule in RULES.items()
        if rule.modify is not None and counts[name]
    ]


def _list_cells(issue: Issue) -> tuple[str, ...]:
    if not issue.node:
        blank = (NOTHING,) * 8
        return "Graph", issue.issue, issue.remedy, *blank, issue.rule, issue.effect
    return (
        *(issue.node, issue.issue, issue.remedy, issue.op),
        *(_spell_tensors(part) for part in (issue.inputs, issue.outputs)),
        "; ".join(f"{name}: {value}" for name, value in issue.params.items()) or NOTHING,
        *(", ".join(names) or NOTHING for names in (issue.before, issue.behind)),
        *(issue.modification or NOTHING, issue.modification_info or NOTHING),
        *(issue.rule, issue.effect),
    )


def _spell_tensors(tensors: object) -> str:
    assert isinstance(tensors, dict)
    return ", ".join(f"{name}:[{', '.join(dims)}]" for name, dims in tensors.items()) or NOTHING
