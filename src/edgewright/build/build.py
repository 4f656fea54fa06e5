"""The main job: pre-flight, convert, quantize, compile, evaluate, analyse, report."""

import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from edgewright.analyse.evaluate import Evaluator
from edgewright.analyse.records import Finding
from edgewright.build.deploy import CONTEXTS, compile_binary, drop_stale, listed, publish, write_models
from edgewright.build.ladder import climb
from edgewright.build.ledger import Ledger, fingerprint, has_state, versions
from edgewright.build.opening import Opened, opened_model
from edgewright.build.order import BuildOrder
from edgewright.build.plain import to_json
from edgewright.build.preflight import Ready, finding_of, preflight
from edgewright.build.records import BuildRecord, Preflight
from edgewright.build.rungs import AS_GIVEN, Tried, Workbench, as_given
from edgewright.build.stages import (
    SIMULATION,
    Analysed,
    Compiled,
    Converted,
    Evaluated,
    analysed,
    converted,
    emulator_of,
    evaluated,
)
from edgewright.build.states import without_memories
from edgewright.build.stored_graphs import load_stored, store
from edgewright.core.errors import BackendCrash, EdgewrightError, Problems, UnsupportedOp
from edgewright.core.files import write_whole
from edgewright.data.samples import BuildSamples
from edgewright.ir.contract import contract
from edgewright.ir.graph import Graph
from edgewright.targets.soc import find_htp_soc

__all__ = ["REPORT", "Render", "build_model"]

log = logging.getLogger(__name__)

# Draws the page of a record; handed in, for reports are above this layer.
Render = Callable[[BuildRecord], Iterable[bytes]]
REPORT, RECORD = "report.html", "report.json"
# Exit codes of what a compiler says to a graph: that it has no such op, or nothing before it ends.
REFUSALS = frozenset({UnsupportedOp.exit_code, BackendCrash.exit_code})


def build_model(order: BuildOrder, render: Render) -> BuildRecord:
    """Builds all there is in the order's folder; the pre-flight's problems are one error."""
    return _Build(order, render).run()


class _Build:
    """One build: a stage takes what it needs from the ledger's folder, made now or by an earlier run."""

    def __init__(self, order: BuildOrder, render: Render) -> None:
        self._order, self._render = order, render
        self._ready: Ready | None = None
        # What the compiler said where it took no rung.
        self._refusal: EdgewrightError | None = None
        if not (order.is_resumed and has_state(order.output)):
            # Before the model is hashed: what stands in the way is said at once.
            self._preflight()
        self._ledger, self._notes = Ledger.opened(order, fingerprint(order))
        self._staged = self._ledger.folder / "out"
        self._chip = find_htp_soc(order.target)

    def run(self) -> BuildRecord:
        """All stages, in order."""
        checked = self._ledger.stage("preflight", Preflight, self._preflight)
        self._known = self._ledger.stage("convert", Converted, self._convert)
        ladder, compiled, found = self._settled(self._quantize())
        chosen = _chosen(ladder)
        graph = load_stored(self._path(chosen.rung.name))
        seen = self._ledger.stage("analyse", Analysed, lambda: self._analyse(graph, chosen, compiled.backend))
        record = self._record(checked, ladder, graph, compiled, found, seen)
        self._report(record)
        if self._refusal is not None:
            log.warning("all files but the binary are in %s", self._order.output)
            raise self._refusal
        return record

    def _settled(self, ladder: tuple[Tried, ...]) -> tuple[tuple[Tried, ...], Compiled, Evaluated]:
        """Compiles what was chosen, and the next wider rung where that fails or does not keep the limit."""
        name, later = _chosen(ladder).rung.name, _wider(ladder, self._order.limit)
        judged: dict[str, tuple[Compiled, Evaluated]] = {}
        while why := self._shortcoming(name, judged):
            if not later:
                break
            self._notes.append(f"{name} {why}: {later[0]} is taken")
            name = later.pop(0)
        if not judged:
            return _taking(ladder, name), *self._simulated(name)
        # Where none keeps the limit, the one that loses least; the compiler may have refused the widest.
        best = name if not why else min(judged, key=lambda each: judged[each][1].drop)
        if best != name:
            self._notes.append(f"{name} {why}: {best} is taken")
            self._compile(load_stored(self._path(best)))
        self._refusal = None
        return _taking(ladder, best), *judged[best]

    def _shortcoming(self, name: str, judged: dict[str, tuple[Compiled, Evaluated]]) -> str:
        """Why a rung cannot be taken; nothing where it can. What was compiled is added to ``judged``."""
        try:
            judged[name] = self._judged(name)
        except EdgewrightError as problem:
            if problem.exit_code not in REFUSALS:
                raise
            self._refusal = problem
            return f"is refused by the compiler ({problem.what})"
        drop = judged[name][1].drop
        return "" if drop <= self._order.limit else f"loses {drop:.2f} points on the emulator"

    def _simulated(self, name: str) -> tuple[Compiled, Evaluated]:
        """A rung that the compiler refuses: all files but the binary, judged by the simulation."""
        graph = load_stored(self._path(name))
        compiled = Compiled(SIMULATION, listed(self._order, self._staged))
        return compiled, self._ledger.stage(
            f"evaluate {name}", Evaluated, lambda: self._evaluate(graph, SIMULATION)
        )

    def _judged(self, name: str) -> tuple[Compiled, Evaluated]:
        """A rung compiled and evaluated."""
        graph = load_stored(self._path(name))
        compiled = self._ledger.stage(f"compile {name}", Compiled, lambda: self._compile(graph))
        return compiled, self._ledger.stage(
            f"evaluate {name}", Evaluated, lambda: self._evaluate(graph, compiled.backend)
        )

    def _preflight(self) -> Preflight:
        self._ready = self._ready or preflight(self._order)
        self._ready.check()
        return self._ready.record()

    @cached_property
    def _opened(self) -> Opened:
        opened = self._ready.opened if self._ready is not None else opened_model(self._order)
        if opened.problems:
            raise Problems(opened.problems)
        return opened

    def _convert(self) -> Converted:
        graph = self._opened.graph
        assert graph is not None
        store(graph, self._path("float"))
        return converted(self._order, self._opened, graph, self._opened.samples(self._order))

    @cached_property
    def _source(self) -> Graph:
        """The float graph as it was stored: the same bytes whether this run converted it or not."""
        return load_stored(self._path("float"))

    @cached_property
    def _samples(self) -> BuildSamples:
        if self._ready is not None and self._ready.samples is not None:
            return self._ready.samples
        memories = self._known.memories
        again = Opened(graph=self._source, ends=without_memories(self._source, memories), memories=memories)
        return again.samples(self._order)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self._source, self._samples, self._known.metric)

    def _quantize(self) -> tuple[Tried, ...]:
        """The precisions that are tried, one of them chosen."""
        order = self._order
        if self._known.is_quantized:
            tried = self._step(AS_GIVEN, lambda: as_given(self._bench))
            return (replace(tried, rung=replace(tried.rung, is_chosen=True)),)
        return climb(self._bench, order.precision, order.limit, self._step, architecture=self._chip.arch)

    @property
    def _bench(self) -> Workbench:
        tensors = frozenset(self._known.tensors)
        order = self._order
        return Workbench(
            self._source, tensors, self._samples, self._evaluator, order.max_drop, order.overrides
        )

    def _step(self, name: str, work: Callable[[], tuple[Graph, Tried]]) -> Tried:
        """A rung, unless it was made before."""

        def made() -> Tried:
            graph, tried = work()
            store(graph, self._path(name))
            return tried

        return self._ledger.stage(f"quantize {name}", Tried, made)

    def _compile(self, graph: Graph) -> Compiled:
        overrides = self._opened.overrides(self._source, graph)
        # A binary of another rung must not stay beside the models of this one.
        shutil.rmtree(self._staged / CONTEXTS, ignore_errors=True)
        write_models(self._order, self._source, graph, overrides, self._samples.notes, self._staged)
        backend = compile_binary(self._order, graph, self._chip, self._staged)
        return Compiled(backend, listed(self._order, self._staged))

    def _evaluate(self, graph: Graph, backend: str) -> Evaluated:
        return evaluated(self._evaluator, graph, backend, self._staged)

    def _analyse(self, graph: Graph, chosen: Tried, backend: str) -> Analysed:
        emulator = emulator_of(self._chip, backend)
        return analysed(self._source, graph, self._samples, chosen, emulator)

    def _record(
        self,
        checked: Preflight,
        ladder: tuple[Tried, ...],
        graph: Graph,
        compiled: Compiled,
        found: Evaluated,
        seen: Analysed,
    ) -> BuildRecord:
        order, source = self._order, self._source
        limit = order.max_drop
        chosen = _chosen(ladder)
        types = {name: source.types[name] for name in (*source.inputs, *source.outputs)}
        return BuildRecord(
            command=order.command,
            source=self._known.source,
            target=str(self._chip),
            architecture=f"v{self._chip.arch}",
            contract=contract(graph, types),
            preflight=checked,
            precision=order.precision,
            chosen=chosen.rung.name,
            max_drop=limit,
            is_met=None if limit is None else found.drop <= limit,
            metric=self._known.metric,
            accuracy=found.accuracy,
            ladder=tuple(tried.rung for tried in ladder),
            layers=seen.layers,
            tensors=seen.tensors,
            findings=(*self._warnings(checked), *seen.findings),
            data=self._samples.notes,
            choices=(chosen.rung.text, *chosen.notes),
            stages=tuple(
                # It ran before there was a place to keep it, and timed itself.
                replace(stage, seconds=checked.seconds) if stage.name == "preflight" else stage
                for stage in self._ledger.stages
            ),
            artifacts=compiled.artifacts,
            versions=versions(),
            notes=(*self._notes, *self._known.notes, *found.notes, *_coarse(found.answers, limit)),
        )

    def _warnings(self, checked: Preflight) -> list[Finding]:
        refused = [finding_of(each) for each in getattr(self._refusal, "errors", [self._refusal]) if each]
        return [*refused, *(finding for finding in checked.findings if finding.grade == "warning")]

    def _report(self, record: BuildRecord) -> None:
        """The last files; once all are in place nothing is left to resume."""
        write_whole(self._staged / REPORT, self._render(record))
        write_whole(self._staged / RECORD, [to_json(record)])
        drop_stale(self._order, record.artifacts)
        publish(self._staged, self._order.output, last=(REPORT, RECORD))
        self._ledger.close()

    def _path(self, name: str) -> Path:
        return self._ledger.folder / f"graph_{name.replace(' ', '_').replace('+', '_')}"


def _coarse(answers: int, limit: float | None) -> list[str]:
    """What few samples cannot tell."""
    if limit is None or not answers or 100 / answers <= limit:
        return []
    told = f"one of {answers} answers is {100 / answers:.1f} points"
    return [f"{told}: a limit of {limit:g} needs more samples"]


def _taking(ladder: Sequence[Tried], name: str) -> tuple[Tried, ...]:
    return tuple(replace(t, rung=replace(t.rung, is_chosen=t.rung.name == name)) for t in ladder)


def _chosen(ladder: Sequence[Tried]) -> Tried:
    return next(tried for tried in ladder if tried.rung.is_chosen)


def _wider(ladder: Sequence[Tried], limit: float) -> list[str]:
    """Rungs that keep the limit on the simulation and cost more than the chosen one, the cheapest first."""
    chosen = _chosen(ladder).rung
    kept = [tried.rung for tried in ladder if tried.rung.drop <= limit and tried.rung.cost >= chosen.cost]
    return [rung.name for rung in sorted(kept, key=lambda rung: rung.cost) if rung is not chosen]
