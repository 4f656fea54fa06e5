"""The job of the quantization checker: one conversion and one float pass, then every variant beside it."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.analyse.encoding_rules import list_broken_rules
from edgewright.analyse.layers import ValueRunner
from edgewright.analyse.odd_encodings import ODD_DB, OddEncoding, find_odd_encodings
from edgewright.analyse.quantization.compare_tensors import (
    BIAS,
    WEIGHT,
    ComparedTensor,
    compare_activations,
    compare_constants,
    compare_results,
    list_activations,
)
from edgewright.artifacts.encodings.writer import describe_encodings
from edgewright.backends.cpu import CpuBackend
from edgewright.config.quantization_checker import QuantizationCheckConfig
from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError, Where, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import measure_file, write_whole
from edgewright.core.numbers import Array
from edgewright.data.input_list import read_input_list
from edgewright.data.open_samples import open_samples
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable, sanitize_name
from edgewright.model.model import SOURCES, Model
from edgewright.model.open_model import open_any_model
from edgewright.passes.pipeline import TARGET, run_passes
from edgewright.quantize.executor import Samples
from edgewright.quantize.tensor_encodings import list_encodings
from edgewright.sdk.quantization_checker.pictures import Draw, write_pictures
from edgewright.sdk.quantization_checker.records import ModelCheck, QuantizationCheck, Repair, VariantCheck
from edgewright.sdk.quantization_checker.repair import RepairedVariant, repair_variant
from edgewright.sdk.quantization_checker.tables import write_log, write_tables
from edgewright.sdk.quantization_checker.variants import UNQUANTIZED, Generator, Variant, spell_command

KEYS = {WEIGHT: "WEIGHT_COMPARISON_ALGORITHMS", BIAS: "BIAS_COMPARISON_ALGORITHMS"}
# Beside a model in a folder of models.
LIST_NAMES = ("{stem}_input_list.txt", "{stem}.txt", "input_list.txt", "inputs.txt")
MOST_FEEDS = 50


def check_quantization(config: QuantizationCheckConfig, draw: Draw | None = None) -> QuantizationCheck:
    """Checks one model, or every model of a folder; in a folder, one that fails does not stop the others."""
    path = Path(config.model)
    if not path.is_dir() or (path / "saved_model.pb").exists():
        return QuantizationCheck((_check_model(config, path, Path(config.output_dir), draw),))
    models, problems = list[ModelCheck](), list[EdgewrightError]()
    refused: list[tuple[str, str]] = []
    for model in _list_models(path):
        try:
            models.append(_check_model(config, model, Path(config.output_dir) / model.stem, draw))
        except EdgewrightError as problem:
            problems.append(problem)
            refused.append((model.name, " ".join(str(problem).split())))
    if not models:
        raise Problems(problems)
    return QuantizationCheck(tuple(models), tuple(refused))


def _list_models(folder: Path) -> list[Path]:
    models = sorted(p for p in (*folder.iterdir(), *folder.glob("*/*")) if p.suffix.lower() in SOURCES)
    if not models:
        raise BadInput(
            f"there is no model in the folder '{shown(folder)}'",
            Where(file=str(folder)),
            do=f"put files of these kinds there: {', '.join(sorted(SOURCES))}",
        )
    return models


def _find_list(config: QuantizationCheckConfig, model: Path) -> Path:
    if config.input_list is not None:
        return Path(config.input_list)
    places = [model.with_name(name.format(stem=model.stem)) for name in LIST_NAMES]
    beside = next((place for place in places if place.exists()), None)
    if beside is None:
        raise UsageError(
            f"there is no input list for '{shown(model.name)}'",
            Where(file=str(model)),
            do=f"add --input_list FILE or INPUT_LIST_PATH, or put {places[0].name} beside the model",
        )
    return beside


def _check_model(config: QuantizationCheckConfig, path: Path, folder: Path, draw: Draw | None) -> ModelCheck:
    measure_file(path) if not path.is_dir() else None
    lines = _find_list(config, path)
    model = _open_model(path)
    graph = model.fixed_graph()
    samples = open_samples(graph, lines)
    names = _name_inputs(lines, graph)
    work = _Work(config, model, folder, samples, names)
    result = work.run(path.name)
    if draw is not None and config.draws:
        write_pictures(work.variants, folder, draw, is_sliced=config.draws_channels)
    if config.writes_csv:
        write_tables(result, folder)
    write_log(result, folder)
    return result


def _open_model(path: Path) -> Model:
    """The float model with the names and shapes that files have: an earlier run's are taken up by them."""
    opened = open_any_model(path)
    graph = opened.fixed_graph().copy()
    run_passes(graph, TARGET)
    return Model.of(graph, opened.source_tensors)


def _name_inputs(path: Path, graph: Graph) -> tuple[str, ...]:
    """What each line of the list is called: its first file, and its number where names are not different."""
    lines = read_input_list(path, graph.inputs, NameTable(graph.inputs).source_names()).lines
    files = [next(iter(line.files.values())).name for line in lines]
    is_clear = len(set(files)) == len(files)
    return tuple(name if is_clear else f"{place}#{name}" for place, name in enumerate(files))


@dataclass
class _Work:
    """One model in one folder."""

    config: QuantizationCheckConfig
    model: Model
    folder: Path
    samples: Samples
    names: tuple[str, ...]

    def run(self, name: str) -> ModelCheck:
        """All variants."""
        generator = Generator(self.model, self.config, self.folder, sanitize_name(Path(name).stem) or "model")
        requests = {
            variant: generator.make_request(*parts) for variant, parts in self.config.variants.items()
        }
        self.variants: list[Variant] = []
        with announce_progress(f"checking {name}", total=2 * len(requests)) as step:
            if not self.config.skips_generator:
                generator.write_source()
            for variant, request in requests.items():
                self.variants.append(generator.make_variant(variant, request, self.samples))
                step()
            rows = self._compare(self.variants)
            checks = []
            for made in self.variants:
                checks.append(self._finish(generator, made, rows[made.name]))
                step()
        return ModelCheck(name, str(self.folder), self.names, tuple(checks), tuple(self._list_notes()))

    def _compare(self, variants: Sequence[Variant]) -> dict[str, tuple[ComparedTensor, ...]]:
        config = self.config
        rows: dict[str, list[ComparedTensor]] = {variant.name: [] for variant in variants}
        for variant in variants:
            for kind, key in KEYS.items():
                choices = config.list_algorithms(key)
                rows[variant.name] += compare_constants(variant.source, variant.quantized, kind, choices)
        for group in _group_by_source(variants):
            for given, arrays in self._run_source(group):
                for variant in group:
                    rows[variant.name] += self._compare_run(variant, arrays, given)
        return {name: tuple(listed) for name, listed in rows.items()}

    def _compare_run(
        self, variant: Variant, arrays: Mapping[str, Array], given: str
    ) -> Iterator[ComparedTensor]:
        config = self.config
        yield from compare_activations(
            variant.quantized,
            arrays,
            config.list_algorithms("ACT_COMPARISON_ALGORITHMS"),
            config.list_algorithms("INPUT_DATA_ANALYSIS_ALGORITHMS"),
            given,
        )
        for kind, key in KEYS.items():
            yield from compare_results(variant.quantized, kind, arrays, config.list_algorithms(key), given)

    def _run_source(self, group: Sequence[Variant]) -> Iterator[tuple[str, dict[str, Array]]]:
        """The values of the float graph for each input; those of the model itself are kept in files."""
        source = group[0].source
        made = {value for node in source.nodes for value in node.outputs if value}
        known = {value for v in group for _, value in list_activations(v.quantized, made)}
        values = sorted(known)
        is_kept = source is self.model.graph
        runner = None if is_kept and self.config.skips_runner else ValueRunner(source, CpuBackend(), values)
        for number, (given, feed) in enumerate(zip(self.names, self.samples, strict=False)):
            place = self.folder / UNQUANTIZED / f"Result_{number}"
            arrays = _read_run(place, source, values) if runner is None else runner(feed)
            if is_kept and runner is not None:
                _write_run(place, arrays)
            yield given, {**arrays, **{name: np.asarray(array) for name, array in feed.items()}}

    def _finish(
        self, generator: Generator, variant: Variant, rows: tuple[ComparedTensor, ...]
    ) -> VariantCheck:
        odd: tuple[OddEncoding, ...] = ()
        if self.config.overrides is not None:
            scheme = variant.request.act_quantizer
            entries = find_odd_encodings(variant.source, variant.quantized, self._feeds(), scheme)
            odd = tuple(entry for entry in entries if entry.excess_db >= ODD_DB)
        repair = None
        if self.config.is_repairing:
            repaired = repair_variant(generator, variant, rows, odd, self.samples, self._feeds())
            repair = None if repaired is None else self._describe_repair(repaired)
        rules = list_broken_rules(variant.quantized)
        command = spell_command(self.config, variant.request)
        return VariantCheck(variant.name, rows, odd, rules, variant.coverage, command, repair)

    def _describe_repair(self, repaired: RepairedVariant) -> Repair:
        is_kept = repaired.after_db > repaired.before_db
        variant = repaired.variant
        target = self.folder / variant.name.removesuffix("_repaired") / "repaired_encodings.json"
        if is_kept:
            encodings = list_encodings(variant.quantized, self.model.source_tensors)
            text = json.dumps(describe_encodings(encodings), indent=1)
            write_whole(target, [f"{text}\n".encode()])
        rows = self._compare([variant])[variant.name]
        file = str(target) if is_kept else ""
        return Repair(repaired.actions, repaired.before_db, repaired.after_db, is_kept, rows, file)

    def _feeds(self) -> list[Mapping[str, Array]]:
        return list(itertools.islice(self.samples, MOST_FEEDS))

    def _list_notes(self) -> Iterator[str]:
        if self.config.idle:
            keys = ", ".join(self.config.idle)
            yield f"these keys change nothing here, where no other program is started: {keys}"


def _group_by_source(variants: Sequence[Variant]) -> Iterator[list[Variant]]:
    """Variants of one float graph, which is run once for all of them."""
    groups: dict[int, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(id(variant.source), []).append(variant)
    yield from groups.values()


def _write_run(place: Path, arrays: Mapping[str, Array]) -> None:
    name_file = NameTable()
    for name in sorted(arrays):
        write_whole(
            place / f"{name_file(name)}.raw", [np.ascontiguousarray(arrays[name], np.float32).tobytes()]
        )


def _read_run(place: Path, source: Graph, values: Sequence[str]) -> dict[str, Array]:
    name_file, arrays = NameTable(), dict[str, Array]()
    for name in values:
        path = place / f"{name_file(name)}.raw"
        expected = source.types[name].static_shape()
        if measure_file(path) != 4 * int(np.prod(expected)):
            raise BadInput(
                f"the file has {measure_file(path)} bytes, expected {4 * int(np.prod(expected))}",
                Where(file=str(path)),
                do="leave --skip_runner out once",
            )
        arrays[name] = np.fromfile(path, np.float32).reshape(expected)
    return arrays
