"""Model configurations of the accuracy evaluator: YAML as records, with all that is wrong at once."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgewright.config.io_config_tree import Entry, read_tree
from edgewright.config.params import Params
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.words import did_you_mean

CALIBRATIONS = ("index", "raw", "dataset")
# Numpy types of inputs_info and outputs_info, as the guide spells them.
DTYPES = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "int", "float"),
    *("uint8", "uint16", "uint32", "bool"),
)
_GLOBAL = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_SCHEMA_TABLES = ("converter_params", "contextbin_params", "netrun_params", "backend_extensions")


@dataclass(frozen=True)
class PluginEntry:
    """A plugin as the file names it, and where."""

    name: str
    params: Mapping[str, Any]
    entry: Entry


@dataclass(frozen=True)
class DatasetSection:
    """The data."""

    name: str = ""
    path: str = ""
    inputlist_file: str = ""
    annotation_file: str = ""
    calibration_type: str = ""
    calibration_file: str = ""
    plugins: tuple[PluginEntry, ...] = ()


@dataclass(frozen=True)
class SchemaSection:
    """An inference schema; alternatives (a | b) are not expanded yet."""

    name: str
    texts: Mapping[str, str]
    tables: Mapping[str, Params]
    is_ref: bool
    entry: Entry


@dataclass(frozen=True)
class TensorSection:
    """What is said about an input or an output; * in a shape stands for the batch."""

    name: str
    type: str = "float32"
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class ComparatorSection:
    """How outputs of schemas are compared."""

    enabled: bool = True
    fetch_top: int = 1
    type: str = "avg"
    tol: float | None = None
    box_input: str | None = None


@dataclass(frozen=True)
class ModelConfig:
    """A whole configuration."""

    file: str
    model_path: str = ""
    simplify_model: bool = True
    batchsize: int = 1
    dataset: DatasetSection = field(default_factory=DatasetSection)
    preprocessing: tuple[PluginEntry, ...] = ()
    postprocessing: tuple[PluginEntry, ...] = ()
    squash_results: bool = False
    schemas: tuple[SchemaSection, ...] = ()
    inputs: tuple[TensorSection, ...] = ()
    outputs: tuple[TensorSection, ...] = ()
    comparator: ComparatorSection = field(default_factory=ComparatorSection)
    metrics: tuple[PluginEntry, ...] = ()


def read_model_config(file: str | Path, given: Mapping[str, str] | None = None) -> ModelConfig:
    """Reads a configuration.

    Args:
        file: the YAML file: no tags, no references, nothing deep.
        given: values for names of its globals, in place of those that it has.
    """
    tree = read_tree(file, "edgewright sdk-root (lib/python/qti/aisw/accuracy_evaluator/configs)")
    reader = _Reader(str(file))
    config = reader.read(tree, given or {})
    if reader.problems:
        raise reader.problems[0] if len(reader.problems) == 1 else Problems(reader.problems)
    return config


class _Reader:
    """Walks the tree and collects what is wrong with it."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[EdgewrightError] = []

    def read(self, tree: Entry, given: Mapping[str, str]) -> ModelConfig:
        top = self._take_fields(tree, ("model",), ("model",))
        if "model" not in top:
            return ModelConfig(self._file)
        parts = self._take_fields(
            top["model"],
            ("info", "globals", "dataset", "processing", "inference-engine", "evaluator"),
            ("dataset", "inference-engine"),
        )
        self._fill_globals(top["model"], parts.get("globals"), given)
        processing = self._take_table(parts, "processing", ("preprocessing", "postprocessing"))
        before = self._take_table(processing, "preprocessing", ("transformations",))
        after = self._take_table(processing, "postprocessing", ("squash_results", "transformations"))
        engine = self._take_table(
            parts,
            "inference-engine",
            (
                *("model_path", "simplify_model", "inference_schemas"),
                *("inputs_info", "input_info", "outputs_info", "output_info"),
            ),
            ("model_path", "inference_schemas"),
        )
        judge = self._take_table(parts, "evaluator", ("comparator", "metrics"))
        info = self._list_info(parts.get("info"))
        return ModelConfig(
            self._file,
            self._take_text(engine, "model_path"),
            self._take_switch(engine, "simplify_model", default=True),
            self._take_number(info, "batchsize", 1),
            self._read_dataset(parts),
            self._read_plugins(before.get("transformations")),
            self._read_plugins(after.get("transformations")),
            self._take_switch(after, "squash_results"),
            self._read_schemas(engine.get("inference_schemas")),
            self._read_tensors(engine.get("inputs_info") or engine.get("input_info")),
            self._read_tensors(engine.get("outputs_info") or engine.get("output_info")),
            self._read_comparator(judge),
            self._read_plugins(judge.get("metrics")),
        )

    # Sections

    def _read_dataset(self, parts: Mapping[str, Entry]) -> DatasetSection:
        known = ("name", "path", "inputlist_file", "annotation_file", "calibration", "transformations")
        fields = self._take_table(parts, "dataset", known, ("path",))
        calibration = self._take_table(fields, "calibration", ("type", "file"), ("type", "file"))
        return DatasetSection(
            self._take_text(fields, "name"),
            self._take_text(fields, "path"),
            self._take_text(fields, "inputlist_file"),
            self._take_text(fields, "annotation_file"),
            self._take_choice(calibration, "type", CALIBRATIONS),
            self._take_text(calibration, "file"),
            self._read_plugins(fields.get("transformations")),
        )

    def _read_plugins(self, entry: Entry | None) -> tuple[PluginEntry, ...]:
        plugins = []
        for item in self._iterate_items(entry):
            fields = self._take_table(
                self._take_fields(item, ("plugin",), ("plugin",)), "plugin", ("name", "params"), ("name",)
            )
            if "name" in fields:
                params = {} if "params" not in fields else _to_value(fields["params"])
                if not isinstance(params, dict | None):
                    self.problems.append(fields["params"].wrong("params is no table, expected NAME: VALUE"))
                    params = {}
                plugins.append(PluginEntry(self._take_text(fields, "name"), params or {}, fields["name"]))
        return tuple(plugins)

    def _read_schemas(self, entry: Entry | None) -> tuple[SchemaSection, ...]:
        texts = ("name", "precision", "target_arch", "backend", "tag")
        schemas = []
        for item in self._iterate_items(entry):
            outer = self._take_fields(item, ("inference_schema",), ("inference_schema",))
            fields = self._take_table(
                outer, "inference_schema", (*texts, "is_ref", *_SCHEMA_TABLES), ("name",)
            )
            if "name" not in fields:
                continue
            tables = {name: self._read_params(fields.get(name)) for name in _SCHEMA_TABLES}
            words = {name: self._take_text(fields, name) for name in texts if name in fields}
            is_ref = self._take_switch(fields, "is_ref")
            schemas.append(SchemaSection(words["name"], words, tables, is_ref, fields["name"]))
        return tuple(schemas)

    def _read_params(self, entry: Entry | None) -> Params:
        params: dict[str, tuple[str, ...]] = {}
        for name, value in self._iterate_table(entry):
            if value.node.id == "mapping":
                self.problems.append(value.wrong(f"'{shown(name)}' is a table, expected a value"))
            elif value.node.id == "sequence":
                params[name] = tuple(item.text() or "" for item in self._iterate_items(value))
            else:
                params[name] = (value.text() or "",)
        return params

    def _read_tensors(self, entry: Entry | None) -> tuple[TensorSection, ...]:
        tensors = []
        for item in self._iterate_items(entry):
            for name, value in self._iterate_table(item):
                fields = self._take_fields(value, ("type", "shape"))
                word = self._take_choice(fields, "type", DTYPES) or "float32"
                tensors.append(TensorSection(name, word, self._read_shape(fields.get("shape"))))
        return tuple(tensors)

    def _read_shape(self, entry: Entry | None) -> tuple[int | str, ...]:
        dims: list[int | str] = []
        for item in self._iterate_items(entry):
            text = item.text() or ""
            if text != "*" and not (text.isdigit() and int(text) > 0):
                self.problems.append(item.wrong(f"'{shown(text)}' is no dimension, expected a number or '*'"))
            dims.append(int(text) if text.isdigit() else text)
        return tuple(dims)

    def _read_comparator(self, judge: Mapping[str, Entry]) -> ComparatorSection:
        fields = self._take_table(judge, "comparator", ("enabled", "fetch-top", "type", "tol", "box_input"))
        tolerance = self._take_text(fields, "tol")
        try:
            tol = float(tolerance) if tolerance else None
        except ValueError:
            self.problems.append(fields["tol"].wrong(f"tol is '{shown(tolerance)}', expected a number"))
            tol = None
        return ComparatorSection(
            self._take_switch(fields, "enabled", default=True),
            self._take_number(fields, "fetch-top", 1),
            self._take_text(fields, "type") or "avg",
            tol,
            self._take_text(fields, "box_input") or None,
        )

    def _list_info(self, entry: Entry | None) -> dict[str, Entry]:
        """What a file says about itself: whatever it likes, and the batch size."""
        return dict(self._iterate_table(entry))

    # Globals

    def _fill_globals(self, model: Entry, entry: Entry | None, given: Mapping[str, str]) -> None:
        known = {name: value.text() or "" for name, value in self._iterate_globals(entry)}
        for name in given:
            if name not in known:
                self.problems.append(
                    UsageError(
                        f"-set_global names '{shown(name)}', which the globals of the file do not have",
                        do=did_you_mean(name, known, f"it has {', '.join(known) or 'none'}"),
                    )
                )
        self._replace(model.node, {**known, **given})

    def _iterate_globals(self, entry: Entry | None) -> Iterator[tuple[str, Entry]]:
        if entry is not None and entry.node.id == "sequence":
            for item in self._iterate_items(entry):
                yield from self._iterate_table(item)
        else:
            yield from self._iterate_table(entry)

    def _replace(self, node: Any, values: Mapping[str, str]) -> None:
        if node.id == "scalar":
            node.value = _GLOBAL.sub(lambda match: self._find_global(match, node, values), node.value)
        elif node.id == "sequence":
            for item in node.value:
                self._replace(item, values)
        else:
            for _, item in node.value:
                self._replace(item, values)

    def _find_global(self, match: re.Match[str], node: Any, values: Mapping[str, str]) -> str:
        name = match.group(1) or match.group(2)
        if name in values:
            return values[name]
        self.problems.append(
            Entry(node, self._file).wrong(
                f"'{shown(match.group())}' is no name of the globals", do=did_you_mean(name, values)
            )
        )
        return match.group()

    # Values

    def _take_table(
        self, parent: Mapping[str, Entry], name: str, known: Sequence[str], required: Sequence[str] = ()
    ) -> dict[str, Entry]:
        return self._take_fields(parent[name], known, required) if name in parent else {}

    def _take_fields(
        self, entry: Entry, known: Sequence[str], required: Sequence[str] = ()
    ) -> dict[str, Entry]:
        fields: dict[str, Entry] = {}
        for name, value in self._iterate_table(entry):
            if name not in known:
                advice = did_you_mean(name, known, f"expected: {', '.join(known)}")
                self.problems.append(value.wrong(f"key '{shown(name)}' is unknown", do=advice))
            else:
                fields[name] = value
        for name in (name for name in required if name not in fields):
            self.problems.append(entry.wrong(f"key '{name}' is missing, it is required"))
        return fields

    def _iterate_table(self, entry: Entry | None) -> Iterator[tuple[str, Entry]]:
        if entry is None or (entry.node.id == "scalar" and entry.text() is None):
            return
        if entry.node.id != "mapping":
            self.problems.append(entry.wrong("this is no table, expected KEY: VALUE"))
            return
        names = set()
        for key, value in entry.node.value:
            name = str(key.value)
            if name in names:
                self.problems.append(Entry(key, self._file).wrong(f"key '{shown(name)}' is there twice"))
            names.add(name)
            yield name, Entry(value, self._file)

    def _iterate_items(self, entry: Entry | None) -> Iterator[Entry]:
        if entry is None:
            return
        try:
            yield from entry.items()
        except EdgewrightError as problem:
            self.problems.append(problem)

    def _take_text(self, fields: Mapping[str, Entry], name: str) -> str:
        if name not in fields:
            return ""
        try:
            return fields[name].text() or ""
        except EdgewrightError as problem:
            self.problems.append(problem)
            return ""

    def _take_switch(self, fields: Mapping[str, Entry], name: str, *, default: bool = False) -> bool:
        text = self._take_text(fields, name).lower()
        if text and text not in _TRUTH:
            self.problems.append(fields[name].wrong(f"{name} is '{shown(text)}', expected True or False"))
        return _TRUTH.get(text, default)

    def _take_number(self, fields: Mapping[str, Entry], name: str, default: int) -> int:
        text = self._take_text(fields, name)
        if text and not (text.isdigit() and 0 < int(text) < 2**31):
            self.problems.append(fields[name].wrong(f"{name} is '{shown(text)}', expected 1 or more"))
            return default
        return int(text) if text else default

    def _take_choice(self, fields: Mapping[str, Entry], name: str, choices: Sequence[str]) -> str:
        text = self._take_text(fields, name)
        if text and text not in choices:
            what = f"{name} is '{shown(text)}', expected one of: {', '.join(choices)}"
            self.problems.append(fields[name].wrong(what, do=did_you_mean(text, choices)))
            return ""
        return text


def _to_value(entry: Entry) -> Any:
    """A part of the tree as plain data, with the types that YAML gives plain words."""
    import yaml

    node = entry.node
    if node.id == "mapping":
        return {str(key.value): _to_value(Entry(value, entry.file)) for key, value in node.value}
    if node.id == "sequence":
        return [_to_value(Entry(item, entry.file)) for item in node.value]
    if node.style is not None:
        return str(node.value)
    resolver: Any = yaml.SafeLoader("")
    kind = str(resolver.resolve(yaml.ScalarNode, node.value, (True, False))).rpartition(":")[2]
    readers: dict[str, Callable[[str], Any]] = {
        "int": int,
        "float": float,
        "bool": lambda text: _TRUTH[text.lower()],
        "null": lambda _: None,
    }
    try:
        return readers.get(kind, str)(node.value)
    except (ValueError, KeyError):
        return str(node.value)
