"""A directory of models, each evaluated for itself."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.sdk.evaluator.records import ModelEvaluation

log = logging.getLogger(__name__)

SOURCE_FOLDER, INPUT_LIST = "Source_model", Path("inputs") / "input_list.txt"
_SUFFIXES = frozenset({".onnx", ".pt", ".pt2", ".tflite", ".pb"})


@dataclass(frozen=True)
class ModelFolder:
    """One model of a directory: MODEL/Source_model/model.onnx and MODEL/inputs/input_list.txt."""

    name: str
    model: str
    input_list: str


def is_model_folder(path: str) -> bool:
    """Whether a path is a directory of models, and not a model that is a folder itself."""
    return Path(path).is_dir() and not (Path(path) / "saved_model.pb").is_file()


def list_model_folders(folder: Path) -> list[ModelFolder]:
    """The models of a directory in the guide's layout; what lacks a part of it is told all at once."""
    models, problems = [], []
    for home in sorted(entry for entry in folder.iterdir() if (entry / SOURCE_FOLDER).is_dir()):
        sources = sorted(_list_models(home / SOURCE_FOLDER))
        if len(sources) != 1:
            problems.append(f"'{shown(home.name)}/{SOURCE_FOLDER}' has {len(sources)} models, expected one")
        elif not (home / INPUT_LIST).is_file():
            problems.append(f"'{shown(home.name)}/{INPUT_LIST}' does not exist")
        else:
            models.append(ModelFolder(home.name, str(sources[0]), str(home / INPUT_LIST)))
    if problems or not models:
        raise BadInput(
            "; ".join(problems) or f"no folder in it has a '{SOURCE_FOLDER}'",
            Where(file=str(folder)),
            do=f"lay it out as MODEL/{SOURCE_FOLDER}/model.onnx with MODEL/{INPUT_LIST}",
        )
    return models


def evaluate_folder(
    models: Sequence[ModelFolder], evaluate: Callable[[ModelFolder], ModelEvaluation]
) -> Iterator[tuple[ModelFolder, ModelEvaluation | EdgewrightError]]:
    """Each model with its evaluation, or why there is none: one that fails does not stop the others."""
    for model in models:
        try:
            yield model, evaluate(model)
        except EdgewrightError as problem:
            log.warning("model '%s' failed: %s", model.name, problem.what)
            yield model, problem


def _list_models(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.suffix.lower() in _SUFFIXES or (entry / "saved_model.pb").is_file():
            yield entry
