"""Models prepared for threads: one set-up for each backend, context and model."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.backends.base import RunOptions, Session
from edgewright.config.net_run import Model as ModelOptions
from edgewright.config.net_run import choose_threads
from edgewright.config.throughput_case import CaseThread
from edgewright.config.values import parse_key_values, parse_names
from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError, Where, shown
from edgewright.ir.graph import Graph
from edgewright.model.profile.events import INNER_LEVELS, check_run_level
from edgewright.run.runnable import Loading, RunSource, open_runnable_with


@dataclass
class Prepared:
    """A model on a backend: its graphs, and a session for each; ``init`` is the time of their set-up."""

    source: RunSource
    graphs: tuple[Graph, ...]
    options: RunOptions
    sessions: list[Session]
    init: int = 0

    def make(self) -> list[Session]:
        """Prepares new sessions and times them."""
        started = time.perf_counter_ns()
        self.sessions = [self.source.prepare(graph, self.options) for graph in self.graphs]
        self.init = (time.perf_counter_ns() - started) // 1000
        return self.sessions


def prepare_all(threads: Sequence[CaseThread]) -> dict[str, Prepared]:
    """What each thread runs, by its name; threads with the same backend, context and model share it."""
    shared: dict[tuple[str, ...], Prepared] = {}
    prepared: dict[str, Prepared] = {}
    for thread in threads:
        key: tuple[str, ...] = (
            thread.backend.name,
            thread.context.name,
            thread.model.name,
            thread.config_file or "",
        )
        if _is_inner(thread):  # op times are reported once, to one thread
            key = (*key, thread.name)
        if key not in shared:
            shared[key] = _prepare_thread(thread, len(threads))
        prepared[thread.name] = shared[key]
        _check_queue(thread, shared[key].source)
    _check_recorders(prepared)
    return prepared


def list_notes(threads: Sequence[CaseThread], prepared: dict[str, Prepared]) -> Iterator[str]:
    """Notes on settings without effect, or with another effect than on a device."""
    for thread in threads:
        source = prepared[thread.name].source
        yield from source.notes
        if thread.backend.extensions:
            name = shown(thread.backend.extensions)
            yield f"'backendExtensions' names {name}, which is not needed here"
        if source.is_native and thread.backend.perf_profile != "default":
            yield "'perfProfile' has no effect: the emulator has no clocks to set"
        if thread.is_asynchronous and _is_inner(thread):
            yield f"thread '{shown(thread.name)}' runs one execution at a time: op times are measured"


def _prepare_thread(thread: CaseThread, count: int) -> Prepared:
    source = open_runnable_with(_make_model_options(thread), _make_loading(thread))
    check_run_level(thread.backend.profiling, source.backend)
    lists = thread.model.inputs or ("",) * len(source.graphs)
    for key, files in (("inputPath", lists), ("groundTruthPath", thread.model.ground_truth or lists)):
        if len(files) != len(source.graphs):
            raise UsageError(
                f"model '{shown(thread.model.name)}' has {len(source.graphs)} graphs, "
                f"its '{key}' names {len(files)} lists",
                do="give one list for each graph, separated by commas; __ skips a graph",
            )
    graphs = tuple(graph for graph, name in zip(source.graphs, lists, strict=True) if name != "__")
    if not graphs:
        raise UsageError(
            f"'inputPath' of model '{shown(thread.model.name)}' skips all graphs, expected a list for one",
            do="name an input list in place of __",
        )
    options = RunOptions(_count_engine_threads(thread, source, count), (), _is_inner(thread))
    made = Prepared(source, graphs, options, [])
    made.make()
    return made


def _is_inner(thread: CaseThread) -> bool:
    return thread.backend.profiling in INNER_LEVELS


def _count_engine_threads(thread: CaseThread, source: RunSource, count: int) -> int:
    """Engine threads for each of our threads: together no more than there are cores."""
    cores = os.cpu_count() or 1
    chosen = source.threads or choose_threads(thread.backend.perf_profile, cores)
    if chosen or count == 1:
        return chosen
    return max(cores // count, 1)


def _make_model_options(thread: CaseThread) -> ModelOptions:
    model, backend = thread.model, thread.backend
    path = Path(model.path)
    if not model.is_cached_binary and path.suffix == ".bin" and not path.with_suffix(".cpp").exists():
        raise BadInput(
            f"model '{shown(model.name)}' is a .bin file without a model.cpp beside it",
            Where(file=model.path),
            do='set "loadFromCachedBinary": true for a context binary',
        )
    return ModelOptions(
        backend=backend.path,
        models=None if model.is_cached_binary else (model.path,),
        retrieve_context=model.path if model.is_cached_binary else None,
        config_file=thread.config_file,
        op_packages=None if backend.op_packages is None else parse_names(backend.op_packages),
    )


def _make_loading(thread: CaseThread) -> Loading:
    try:
        pairs = parse_key_values(thread.backend.platform) if thread.backend.platform else ()
    except ValueError as problem:
        raise UsageError(
            f"'platformOption' of backend '{shown(thread.backend.name)}' is "
            f"'{shown(thread.backend.platform)}', expected {problem}"
        ) from None
    return Loading(
        profiling=thread.backend.profiling,
        perf_profile=thread.backend.perf_profile,
        platform=";".join(f"{key}:{value}" for key, value in pairs),
        priority=thread.context.priority,
        is_strict=thread.context.is_strict,
    )


def _check_queue(thread: CaseThread, source: RunSource) -> None:
    if thread.is_asynchronous and not source.is_queueing:
        raise UnsupportedFeature(
            f"'executeAsynchronous' of thread '{shown(thread.name)}' is true, backend {source.backend} takes "
            "one execution at a time",
            do="leave executeAsynchronous out",
        )


def _check_recorders(prepared: dict[str, Prepared]) -> None:
    """Calls of several threads would be recorded in any order, into one file."""
    alone = [name for name, made in prepared.items() if not made.source.is_queueing]
    if len(alone) > 1:
        backend = prepared[alone[0]].source.backend
        raise UnsupportedFeature(
            f"threads {', '.join(map(shown, alone))} use backend {backend}, "
            "which takes one execution at a time",
            do="keep one of them, or run them one after the other with qnn-net-run",
        )
