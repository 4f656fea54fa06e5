"""The file of `edgewright sweep`: models, targets, precisions, and options of their builds."""

import glob
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgewright.config.build import AUTO, parse_duration, parse_metric, parse_points
from edgewright.config.io_config_tree import Entry, read_tree, read_values
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS
from edgewright.core.errors import BadInput, EdgewrightError, UsageError, Where, shown
from edgewright.core.files import is_there
from edgewright.core.words import did_you_mean

EXAMPLE = "the guide's page on sweeps has one to start from"
# Files of a folder that are models of their own; a folder with one of the marks is a model itself.
MODEL_ENDINGS = (".onnx", ".tflite", ".pb", ".pt", ".pt2", ".dlc", "_net.json")
MODEL_MARKS = ("saved_model.pb", "config.json")
# Options that name files or folders.
PATHS = frozenset({"data", "eval_data", "labels", "overrides"})


@dataclass(frozen=True)
class ZooModel:
    """A model and the options of its builds."""

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Zoo:
    """Every model is built for every target in every precision."""

    models: tuple[ZooModel, ...]
    targets: tuple[str, ...]
    precisions: tuple[str, ...] = (AUTO,)


def read_zoo(path: Path, given: Mapping[str, Any] | None = None) -> tuple[Zoo, list[EdgewrightError]]:
    """The zoo of a YAML file, as far as it can be read, and all that is wrong with it.

    Args:
        path: the file; relative paths in it begin at its folder.
        given: fields that come before those of the file; paths begin at the current folder.
    """
    root = read_tree(path, EXAMPLE)
    repeated = [_make_repeated_error(entry) for entry in _find_repeated(root)]
    fields = read_values(path)
    if not isinstance(fields, dict):
        raise BadInput(
            "the file is no table, expected models, targets and precisions", Where(file=str(path)), EXAMPLE
        )
    here = {key: str(Path(x).absolute()) if key in PATHS else x for key, x in (given or {}).items()}
    zoo, problems = make_zoo({**fields, **here}, path.parent, str(path))
    return zoo, [*repeated, *problems]


def make_zoo(
    fields: Mapping[str, Any], folder: Path, file: str | None = None
) -> tuple[Zoo, list[EdgewrightError]]:
    """The zoo of a table.

    Args:
        fields: models, targets, precisions, and options for all models.
        folder: what relative paths begin at.
        file: where the table stands, for messages.
    """
    reader = _Reader(folder, file)
    options = reader.read_options(
        {key: fields[key] for key in fields if key not in {"models", "targets", "precisions"}}, ""
    )
    targets = reader.read_texts(fields, "targets")
    precisions = reader.read_texts(fields, "precisions", (AUTO,))
    for precision in precisions:
        if precision not in {AUTO, *PRECISIONS}:
            reader.complain(
                f"precision '{shown(precision, 80)}' is unknown, expected {AUTO}, {', '.join(PRECISIONS)}",
                did_you_mean(precision, PRECISIONS),
            )
    models = tuple(reader.read_models(fields.get("models"), options))
    return Zoo(models, targets, precisions), reader.problems


class _Reader:
    """Reads parts of the table and collects what is wrong with them."""

    def __init__(self, folder: Path, file: str | None) -> None:
        self._folder, self._file = folder, file
        self.problems: list[EdgewrightError] = []

    def complain(self, what: str, do: str = "") -> None:
        """Notes a problem."""
        # A table of a program is a usage error, one of a file bad input.
        where = None if self._file is None else Where(file=self._file)
        self.problems.append(UsageError(what, do=do) if where is None else BadInput(what, where, do))

    def read_texts(
        self, fields: Mapping[str, Any], name: str, default: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """One text or a list of them, each once."""
        given = fields.get(name)
        values: Any = [given] if isinstance(given, str | int) and not isinstance(given, bool) else given
        if values is None and default:
            return default
        is_list = isinstance(values, list | tuple) and bool(values)
        if not is_list or not all(isinstance(x, str | int) and not isinstance(x, bool) for x in values):
            self.complain(f"'{name}' is {_describe(given)}, expected a list of names", EXAMPLE)
            return ()
        return tuple(dict.fromkeys(str(value) for value in values))

    def read_models(self, given: Any, options: Mapping[str, Any]) -> Iterator[ZooModel]:
        """The models of all entries, each once."""
        entries = [given] if isinstance(given, str | Path | Mapping) else given
        if not isinstance(entries, list | tuple) or not entries:
            self.complain(
                f"'models' is {_describe(given)}, expected a list of files, folders or patterns", EXAMPLE
            )
            return
        known: set[Path] = set()
        for entry in entries:
            for model in self._read_model(entry, options):
                if model.path not in known:
                    known.add(model.path)
                    yield model

    def _read_model(self, entry: Any, options: Mapping[str, Any]) -> Iterator[ZooModel]:
        own: Mapping[str, Any] = {}
        path = entry
        if isinstance(entry, Mapping):
            path, own = entry.get("model"), {key: entry[key] for key in entry if key != "model"}
        if not isinstance(path, str | Path) or not str(path):
            self.complain(
                f"a model is {_describe(entry)}, expected a path, or a table with 'model: PATH'", EXAMPLE
            )
            return
        chosen = {**options, **self.read_options(own, f" of model '{shown(path)}'")}
        paths = list(self._find_models(str(path)))
        if not paths:
            self.complain(f"there is no model '{shown(path)}'", self._suggest(Path(path)))
        yield from (ZooModel(each, chosen) for each in paths)

    def _find_models(self, text: str) -> Iterator[Path]:
        whole = self._folder / text
        # Of a path and not of a folder: a pattern may be absolute.
        names = [str(whole)] if is_there(whole) else glob.glob(str(whole), recursive=True)  # noqa: PTH207
        for name in sorted(names):
            path = Path(name).absolute()
            if not path.is_dir() or any((path / mark).exists() for mark in MODEL_MARKS):
                yield path
            else:
                yield from sorted(each for each in path.iterdir() if each.name.endswith(MODEL_ENDINGS))

    def _suggest(self, path: Path) -> str:
        folder = (self._folder / path).parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return did_you_mean(path.name, names, f"paths begin at '{shown(self._folder.absolute())}'")

    def read_options(self, given: Mapping[str, Any], of: str) -> dict[str, Any]:
        """Options of builds as JSON values, paths absolute."""
        options = {}
        for name, value in given.items():
            if name not in _READERS:
                expected = ", ".join(("models", "targets", "precisions", *_READERS) if not of else _READERS)
                self.complain(
                    f"option '{shown(name)}'{of} is unknown, expected one of: {expected}",
                    did_you_mean(str(name), list(_READERS)),
                )
                continue
            try:
                options[name] = _READERS[name](value)
            except (ValueError, TypeError, EdgewrightError) as problem:
                why = problem.what if isinstance(problem, EdgewrightError) else problem
                self.complain(f"option '{name}'{of} is {_describe(value)}: {why}")
                continue
            if name in PATHS:
                options[name] = self._locate(name, options[name], of)
        return options

    def _locate(self, name: str, text: str, of: str) -> str:
        path = (self._folder / text).absolute()
        if not is_there(path):
            self.complain(f"option '{name}'{of}: there is no '{shown(text)}'", self._suggest(Path(text)))
        return str(path)


def _read_text(value: Any) -> str:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError("expected a text")
    return str(value)


def _read_points(value: Any) -> float:
    return parse_points(str(value))


def _read_duration(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    seconds = parse_duration(f"{value}s" if is_number else str(value))
    return seconds if seconds < float("inf") else None


def _read_metric(value: Any) -> str:
    text = parse_metric(_read_text(value))
    if ":" in text:
        raise ValueError("a sweep takes metrics without files and functions; build such a model on its own")
    return text


def _read_count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("expected a whole number above 0")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")  # noqa: TRY004 - collected with the others
    return value


def _read_preprocessing(value: Any) -> dict[str, Any]:
    given = dict(value) if isinstance(value, Mapping) else {}
    if not given or set(given) - set(Preprocessing.options()):
        raise ValueError(f"expected a table of {', '.join(Preprocessing.options())}")
    for name in ("mean", "std"):
        if name in given:
            given[name] = list(given[name]) if isinstance(given[name], list | tuple) else [given[name]]
    make_preprocessing(given)
    return given


def make_preprocessing(given: Mapping[str, Any]) -> Preprocessing:
    """The preprocessing of a table."""
    values: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in given.items()}
    return Preprocessing(**values)


def _read_names(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("expected a list of names")
    return list(names)


def _read_symbols(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise ValueError("expected a table of numbers by the names of symbols")  # noqa: TRY004
    return {str(name): _read_count(number) for name, number in value.items()}


def _read_shapes(value: Any) -> dict[str, list[int]]:
    if not isinstance(value, Mapping) or not all(isinstance(dims, list | tuple) for dims in value.values()):
        raise ValueError("expected a table of lists of numbers by the names of inputs")
    return {str(name): [_read_count(dim) for dim in dims] for name, dims in value.items()}


# By the names of the arguments of ``edgewright.build``.
_READERS: dict[str, Callable[[Any], Any]] = {
    "data": _read_text,
    "eval_data": _read_text,
    "labels": _read_text,
    "random_data": _read_flag,
    "max_drop": _read_points,
    "metric": _read_metric,
    "calibration_samples": _read_count,
    "evaluation_samples": _read_count,
    "preprocessing": _read_preprocessing,
    "sample_rate": _read_count,
    "input_shapes": _read_shapes,
    "symbols": _read_symbols,
    "outputs": _read_names,
    "overrides": _read_text,
    "time_limit": _read_duration,
}


def _describe(value: Any) -> str:
    return "missing" if value is None else f"'{shown(value, 80)}'"


def _find_repeated(entry: Entry) -> Iterator[Entry]:
    """Keys that stand twice in one table: YAML would silently keep the last one."""
    if entry.node.id == "mapping":
        names = [key.value for key, _ in entry.node.value]
        for place, (key, value) in enumerate(entry.node.value):
            if key.value in names[:place]:
                yield Entry(key, entry.file)
            yield from _find_repeated(Entry(value, entry.file))
    elif entry.node.id == "sequence":
        for item in entry.node.value:
            yield from _find_repeated(Entry(item, entry.file))


def _make_repeated_error(entry: Entry) -> BadInput:
    return entry.wrong(f"'{shown(entry.node.value)}' is there twice, expected once")
