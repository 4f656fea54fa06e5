"""What a sweep builds: every model for every chip in every precision, and the files that each needs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.config.zoo import PATHS, Zoo, ZooModel
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.model.shared_files import Share, share_model, share_path
from edgewright.targets.soc import find_htp_soc

# Samples that are one file; any other file is a list that names files elsewhere.
SAMPLE_FILES = frozenset({".npz", ".npy", ".wav"})


@dataclass(frozen=True)
class Combination:
    """One build of a sweep."""

    # The model's name in the sweep, which is its own.
    name: str
    model: ZooModel
    target: str
    precision: str

    @property
    def folder(self) -> str:
        """Its place in the output folder."""
        target = "".join(c if c.isalnum() else "_" for c in self.target)
        return f"{self.name}/{target}_{self.precision}"


def plan_sweep(zoo: Zoo, problems: Sequence[EdgewrightError] = ()) -> list[Combination]:
    """All builds, in the order of the zoo; whatever stands in the way of some is one error.

    Args:
        zoo: what was asked for.
        problems: what is already known to be wrong with it.
    """
    names = _name_models(zoo.models)
    found_problems = [*problems, *_check_targets(zoo.targets)]
    for model, name in names:
        found_problems += _check_data(name, model.options)
    if found_problems:
        raise Problems(found_problems)
    return [
        Combination(name, model, target, precision)
        for model, name in names
        for target in zoo.targets
        for precision in zoo.precisions
    ]


def make_inputs(combination: Combination, share: Share) -> dict[str, Any]:
    """The inputs of a build's task: files by hash, so that neither their place nor their time matters."""
    path = combination.model.path
    inputs: dict[str, Any] = {
        "model": share_model(path, share),
        "target": combination.target,
        "precision": combination.precision,
        "options": {},
    }
    for name, value in combination.model.options.items():
        inputs["options"][name] = share_path(Path(value), share) if name in PATHS else value
    return inputs


def _name_models(models: Sequence[ZooModel]) -> list[tuple[ZooModel, str]]:
    """Names that tell the models apart: as short as that allows."""
    stems = {model.path: model.path.stem.removesuffix("_net") or "model" for model in models}
    counts = Counter(stems.values())
    names = []
    taken: Counter[str] = Counter()
    for model in models:
        name = stems[model.path]
        if counts[name] > 1:
            name = f"{name}_{model.path.suffix.lstrip('.') or model.path.parent.name}"
        taken[name] += 1
        names.append((model, name if taken[name] == 1 else f"{name}_{taken[name]}"))
    return names


def _check_targets(targets: Sequence[str]) -> list[EdgewrightError]:
    problems = []
    for target in targets:
        try:
            find_htp_soc(target)
        except EdgewrightError as problem:
            problems.append(problem)
    return problems


def _check_data(name: str, options: Mapping[str, Any]) -> list[EdgewrightError]:
    problems: list[EdgewrightError] = []
    if "data" not in options and not options.get("random_data"):
        problems.append(
            UsageError(
                f"model '{shown(name)}' has no data",
                do="add data: PATH, or random_data: true for a first try that says nothing about accuracy",
            )
        )
    for key in ("data", "eval_data"):
        path = Path(options.get(key, "."))
        if path.is_file() and path.suffix not in SAMPLE_FILES:
            problems.append(
                UsageError(
                    f"'{shown(path.name)}' of model '{shown(name)}' lists files, which workers may not have",
                    do="give the folder that holds them, or an .npz file",
                )
            )
    return problems
