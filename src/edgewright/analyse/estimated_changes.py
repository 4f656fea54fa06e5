"""What changes would do to the time of a model: another precision, modifications of the architecture."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgewright.analyse.architecture.check import RULES, list_modifiable, modify_graph
from edgewright.estimate.estimate import (
    compare_networks,
    compare_precisions,
    find_fitted_chip,
    read_precision,
)
from edgewright.estimate.graph_layers import read_graph
from edgewright.estimate.parameters import is_fitted, list_fitted_chips
from edgewright.estimate.records import Change, Estimate
from edgewright.ir.graph import Graph
from edgewright.targets.soc import find_soc

ALL = "all"


def list_changes(
    graph: Graph, estimate: Estimate, changes: Sequence[str], precision: str, name: str
) -> Estimate:
    """The estimate with the effect of changes on its first target."""
    chip = _find_chip(estimate.targets[0].chip, precision)
    effects: list[Change] = []
    for change in changes:
        kind, _, value = change.partition("=")
        if kind == "precision":
            effects.append(compare_precisions(read_graph(graph), chip, precision, read_precision(value)))
        else:
            effects.extend(estimate_rules(graph, value, chip, precision))
    return replace(estimate, model=name, changes=tuple(effects))


def estimate_rules(graph: Graph, names: str, chip: str, precision: str) -> Iterator[Change]:
    """What each modification of the architecture check does; for all, only those that change something."""
    known = [rule.name for rule in RULES.values() if rule.modify is not None]
    rules = list_modifiable(known if names == ALL else names.split(","))
    before = read_graph(graph)
    for rule in rules:
        modified = modify_graph(graph, [rule])
        if modified.applied or names != ALL:
            places = "no place" if not modified.applied else f"{modified.applied} places"
            text = f"{rule.remedy.rstrip('.')} ({places})"
            after = read_graph(modified.graph)
            yield compare_networks(f"rule={rule.name}", text, before, after, chip, precision)


def _find_chip(name: str, precision: str) -> str:
    chip = find_fitted_chip(find_soc(name))
    if chip is not None and is_fitted(chip.name, precision):
        return chip.name
    return list_fitted_chips(precision)[0]
