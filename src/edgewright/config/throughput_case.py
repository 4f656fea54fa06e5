"""What qnn-throughput-net-run is asked for: threads that run models on backends, each in a context."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.config.backend_keys import check_keys
from edgewright.config.throughput_keys import CASE_KEYS
from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where, shown
from edgewright.core.words import did_you_mean

log = logging.getLogger(__name__)

Entry = Mapping[str, Any]
_FORMS = {"NATIVE_ONLY": (True,), "FLOAT_ONLY": (False,), "FLOAT_AND_NATIVE": (False, True)}


# File systems take 255 bytes, and a letter may be four of them.
LONGEST_NAME = 60


@dataclass(frozen=True)
class CaseBackend:
    """A backend, and what is measured and asked of it."""

    name: str
    path: str
    profiling: str | None = None
    perf_profile: str = "default"
    op_packages: str | None = None
    platform: str = ""
    extensions: str | None = None


@dataclass(frozen=True)
class CaseModel:
    """A model, its inputs, and what becomes of its outputs."""

    name: str
    path: str
    is_cached_binary: bool = False
    inputs: tuple[str, ...] = ()
    is_native: bool = True
    post_processor: str = "NONE"
    output_path: str | None = None
    # The files of each output: stored values (True) or float32 (False).
    forms: tuple[bool, ...] = (True,)
    save: str = "NONE"
    ground_truth: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseContext:
    """Where models are created; models of one context and backend are created once."""

    name: str
    priority: str | None = None
    queue_depth: int | None = None
    is_strict: bool = False


@dataclass(frozen=True)
class CaseThread:
    """A thread: what it runs, where, how often."""

    name: str
    backend: CaseBackend
    context: CaseContext
    model: CaseModel
    is_initialized_each_time: bool = False
    is_loaded_each_time: bool = False
    is_random: bool = False
    # Microseconds between executions.
    interval: int = 0
    # The end: after so many executions, or after so many seconds.
    count: int | None = 1
    seconds: int | None = None
    is_asynchronous: bool = False
    config_file: str | None = None


@dataclass(frozen=True)
class ThroughputCase:
    """The whole test; a negative number of iterations goes on until it is stopped."""

    file: str
    iterations: int
    threads: tuple[CaseThread, ...]
    log_level: str | None = None

    @property
    def is_endless(self) -> bool:
        """Whether only a signal ends it."""
        return self.iterations < 0


def parse_case(document: Any, file: str, located: Callable[[str], str] = str) -> ThroughputCase:
    """The test in a JSON document; everything wrong with it comes at once, each with its path.

    Args:
        document: what the file holds.
        file: its name, for messages.
        located: finds the files that it names.
    """
    where = Where(file=file)
    problems = [item for item in check_keys(document, CASE_KEYS, where) if isinstance(item, EdgewrightError)]
    if not problems:
        problems += _Reading(document, where, located).problems()
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return _Reading(document, where, located).case()


class _Reading:
    def __init__(self, document: Entry, where: Where, located: Callable[[str], str]) -> None:
        self._where, self._located = where, located
        self._listed = {key: _list_entries(document[key]) for key in ("backends", "models", "contexts")}
        self._test: Entry = document["testCase"]
        self._threads = _list_entries(self._test["threads"])

    def problems(self) -> Iterator[EdgewrightError]:
        if self._test["iteration"] == 0:
            yield self._make_problem(
                "key 'testCase.iteration' is '0', expected 1 or more, or less than 0 to run for ever"
            )
        for section, key in _NAMES.items():
            entries = self._threads if section == "testCase.threads" else self._listed[section]
            yield from self._find_repeated(section, key, entries)
        for number, entry in enumerate(self._listed["models"]):
            yield from self._check_model(f"models[{number}]", entry)
        for number, entry in enumerate(self._threads):
            yield from self._check_thread(f"testCase.threads[{number}]", entry)

    def case(self) -> ThroughputCase:
        return ThroughputCase(
            self._where.file or "",
            self._test["iteration"],
            tuple(self._read_thread(entry) for entry in self._threads),
            self._test.get("logLevel"),
        )

    def _make_problem(self, what: str, do: str = "") -> BadInput:
        return BadInput(what, self._where, do=do)

    def _find_repeated(self, section: str, key: str, entries: Sequence[Entry]) -> Iterator[EdgewrightError]:
        if not entries:
            yield self._make_problem(f"key '{section}' is empty, expected at least one entry")
        first: dict[str, int] = {}
        for number, entry in enumerate(entries):
            before = first.setdefault(entry[key], number)
            if before != number:
                yield self._make_problem(
                    f"key '{section}[{number}].{key}' is '{shown(entry[key])}', "
                    f"which {section}[{before}] has already",
                    do="give each a name of its own",
                )

    def _check_model(self, path: str, entry: Entry) -> Iterator[EdgewrightError]:
        if _read_word(entry, "saveOutput") != "NONE" and "outputPath" not in entry:
            yield self._make_problem(
                f"key '{path}.saveOutput' is '{entry['saveOutput']}', but '{path}.outputPath' is missing",
                do="add outputPath, the folder for the outputs",
            )
        # As in the guide's own example (4733).
        if _read_word(entry, "postProcessor") != "NONE" and "groundTruthPath" not in entry:
            log.warning(
                "key '%s.postProcessor' has no effect: '%s.groundTruthPath', a list of the outputs that are "
                "expected, is missing",
                path,
                path,
            )

    def _check_thread(self, path: str, entry: Entry) -> Iterator[EdgewrightError]:
        # A folder is named after it, which must not lie elsewhere.
        name = entry["threadName"]
        if {"/", "\\", "\0"} & set(name) or name in {"", ".", ".."} or len(name) > LONGEST_NAME:
            yield self._make_problem(
                f"key '{path}.threadName' is '{shown(name)}', expected the name of a folder",
                do=f"use letters, digits and underscores, {LONGEST_NAME} at most",
            )
        for key, section in (("backend", "backends"), ("context", "contexts"), ("model", "models")):
            known = [item[_NAMES[section]] for item in self._listed[section]]
            if entry[key] not in known:
                yield self._make_problem(
                    f"key '{path}.{key}' names '{shown(entry[key])}', which is none of {section}: "
                    + ", ".join(f"'{shown(name)}'" for name in known[:10]),
                    do=did_you_mean(entry[key], known, f"name one of {section}"),
                )
        model = self._find("models", entry["model"])
        if model is None:
            return
        if entry.get("initModelInLoop") and model.get("loadFromCachedBinary"):
            yield self._make_problem(
                f"key '{path}.initModelInLoop' is true, but model '{shown(entry['model'])}' is loaded from a "
                "binary ('loadFromCachedBinary')",
                do="leave one of them out",
            )
        yield from self._check_inputs(path, entry, model)

    def _check_inputs(self, path: str, entry: Entry, model: Entry) -> Iterator[EdgewrightError]:
        is_random = bool(entry.get("useRandomData"))
        if not is_random and "inputPath" not in model:
            yield self._make_problem(
                f"key '{path}.useRandomData' is not true, "
                f"and model '{shown(entry['model'])}' has no 'inputPath'",
                do="add one of them",
            )
        if is_random and _read_word(model, "postProcessor") != "NONE":
            yield self._make_problem(
                f"key '{path}.useRandomData' is true, but model '{shown(entry['model'])}' has the "
                f"postProcessor '{model['postProcessor']}', which needs known inputs",
                do="leave one of them out",
            )

    def _find(self, section: str, name: str) -> Entry | None:
        return next((item for item in self._listed[section] if item[_NAMES[section]] == name), None)

    def _read_thread(self, entry: Entry) -> CaseThread:
        is_count = entry.get("loopUnit", "count").lower() == "count"
        loop = entry.get("loop", 1)
        config = entry.get("backendConfig")
        return CaseThread(
            entry["threadName"],
            _read_backend(self._find("backends", entry["backend"]) or {}),
            _read_context(self._find("contexts", entry["context"]) or {}),
            _read_model(self._find("models", entry["model"]) or {}, self._located),
            bool(entry.get("initModelInLoop")),
            bool(entry.get("loadInputDataInLoop")),
            bool(entry.get("useRandomData")),
            entry.get("interval", 0),
            loop if is_count else None,
            None if is_count else loop,
            bool(entry.get("executeAsynchronous")),
            None if config is None else self._located(config),
        )


_NAMES = {
    "backends": "backendName",
    "models": "modelName",
    "contexts": "contextName",
    "testCase.threads": "threadName",
}


def _read_backend(entry: Entry) -> CaseBackend:
    level = _read_word(entry, "profilingLevel", "OFF")
    return CaseBackend(
        entry["backendName"],
        entry["backendPath"],
        None if level == "OFF" else level.lower(),
        entry.get("perfProfile", "default").lower(),
        entry.get("opPackagePath"),
        entry.get("platformOption", ""),
        entry.get("backendExtensions"),
    )


def _read_context(entry: Entry) -> CaseContext:
    priority = _read_word(entry, "priority", "DEFAULT")
    return CaseContext(
        entry["contextName"],
        None if priority == "DEFAULT" else priority.lower(),
        entry.get("executeAsyncQueueDepth"),
        entry.get("cacheCompatibilityMode", "").lower() == "strict",
    )


def _read_model(entry: Entry, located: Callable[[str], str]) -> CaseModel:
    return CaseModel(
        entry["modelName"],
        located(entry["modelPath"]),
        bool(entry.get("loadFromCachedBinary")),
        _list_files(entry.get("inputPath"), located),
        _read_word(entry, "inputDataType", "NATIVE") == "NATIVE",
        _read_word(entry, "postProcessor"),
        entry.get("outputPath"),
        _FORMS[_read_word(entry, "outputDataType", "NATIVE_ONLY")],
        _read_word(entry, "saveOutput"),
        _list_files(entry.get("groundTruthPath"), located),
    )


def _list_files(text: str | None, located: Callable[[str], str]) -> tuple[str, ...]:
    """One file for each graph, separated by commas; __ stands for none."""
    names = [] if text is None else [part.strip() for part in text.split(",")]
    return tuple(name if name == "__" else located(name) for name in names)


def _read_word(entry: Entry, key: str, otherwise: str = "NONE") -> str:
    return str(entry.get(key, otherwise)).upper()


def _list_entries(value: Any) -> list[Entry]:
    return value if isinstance(value, list) else [value]
