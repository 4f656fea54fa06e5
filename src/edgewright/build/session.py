"""What the stages of one build share: the request, its time, the model, the samples and the pace."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from edgewright.build.candidates import CandidateResult
from edgewright.build.convert import ConversionResult, convert_model, describe_conversion
from edgewright.build.dry_run import try_conversion
from edgewright.build.ledger import Ledger, has_state
from edgewright.build.make_plan import make_chooser
from edgewright.build.open_model import OpenedModel, open_model
from edgewright.build.plan import SampleCounts, estimate_candidate
from edgewright.build.preflight import PreflightResult, run_preflight, sort_problems
from edgewright.build.rates import Rates
from edgewright.build.records import LeftOut, Preflight
from edgewright.build.request import BuildRequest
from edgewright.build.stages import NATIVE
from edgewright.build.stateful_samples import RecurrentState, add_states, drop_state_inputs
from edgewright.build.time_budget import TimeBudget
from edgewright.core.errors import Problems
from edgewright.data.copies import read_unique_samples
from edgewright.data.samples import BuildSamples
from edgewright.evaluate.evaluator import Evaluator
from edgewright.ir.graph import Graph
from edgewright.model.stored_graphs import load_stored_graph, store_graph
from edgewright.quantize.run_counter import RunCounter
from edgewright.run.context.compile import find_provider
from edgewright.targets.soc import find_htp_soc

FLOAT = "float"
# Of a machine that is faster than when it was tried, and a run that is too short to tell.
LEAST_SLOWDOWN, LEAST_SECONDS = 0.5, 1e-4
# Estimates below this tell nothing of the pace.
TELLING_SECONDS = 0.5


class BuildSession:
    """One build: a stage takes what it needs from the ledger's folder, made now or by an earlier run.

    Args:
        request: what is asked; its pre-flight runs at once, unless an interrupted build is taken up.
    """

    def __init__(self, request: BuildRequest) -> None:
        self.request = request
        is_emulated = find_provider("htp") == NATIVE
        self.budget = TimeBudget(request.time_limit, has_emulator=is_emulated, started=request.started)
        self._checked: PreflightResult | None = None
        # The samples without the states that are carried from one to the next.
        self._stateless: BuildSamples | None = None
        if not (request.is_resumed and has_state(request.output)):
            # Before the model is hashed: what stands in the way is said at once.
            self._preflight()
        self.chip = find_htp_soc(request.target)
        # What was built so far, and what was not, and why.
        self.results: dict[str, CandidateResult] = {}
        self.left_out: list[LeftOut] = []

    def prepare(self, fingerprint: Mapping[str, str]) -> Preflight:
        """Opens the folder, and takes the model as far as its float graph."""
        self.ledger, self.notes = Ledger.open(self.request, fingerprint)
        preflight = self.ledger.run_stage("preflight", Preflight, self._preflight)
        self.known = self.ledger.run_stage("convert", ConversionResult, self._convert)
        self.ledger.count_passes_with(lambda name: self.counter.passes.get(name, 0.0))
        return preflight

    def plan(self) -> None:
        """Settles how many samples there is time for."""
        self.counts = self.ledger.run_stage("plan", SampleCounts, self._count_samples)

    def _preflight(self) -> Preflight:
        if self._checked is None:
            self._checked = run_preflight(self.request)
            if self._checked.problems:
                # A build that cannot start says all that is in its way, as a dry run does.
                try_conversion(self.request, self._checked)
        self._checked.check()
        return self._checked.record()

    @cached_property
    def opened(self) -> OpenedModel:
        """The model as it was given."""
        opened = self._checked.opened if self._checked is not None else open_model(self.request)
        if opened.problems:
            raise Problems(opened.problems)
        return opened

    def _convert(self) -> ConversionResult:
        conversion = convert_model(self.request, self.opened)
        if conversion.problems:
            # Nothing was built that another run could go on with.
            self.ledger.close()
            raise Problems(sort_problems(conversion.problems))
        self.store_graph(FLOAT, conversion.graph)
        samples = self._read_samples(conversion.graph, self.opened.states)
        return describe_conversion(self.request, self.opened, conversion, samples, self.budget)

    @cached_property
    def source(self) -> Graph:
        """The float graph as it was stored: the same bytes whether this run converted it or not."""
        return self.load_graph(FLOAT)

    @cached_property
    def _planned(self) -> BuildSamples:
        """The samples that there was time for as far as could be known before the build."""
        return self.known.counts.select(self._read_samples(self.source, self.known.states))

    @cached_property
    def samples(self) -> BuildSamples:
        """Those that there is time for."""
        samples = self.counts.select(self._planned)
        if not self.has_fewer_samples():
            return samples
        return replace(samples, notes=(*samples.notes, self.counts.describe()))

    def has_fewer_samples(self) -> bool:
        """Whether there was no time for all samples."""
        return self.counts != SampleCounts.of(self._read_samples(self.source, self.known.states))

    @cached_property
    def counter(self) -> RunCounter:
        """Counts what is run, in passes over the samples."""
        return RunCounter(self.source, self.known.counts.total)

    def _read_samples(self, graph: Graph, states: Sequence[RecurrentState]) -> BuildSamples:
        if self._stateless is None:
            checked = None if self._checked is None else self._checked.samples
            inputs = drop_state_inputs(graph, states)
            self._stateless = checked or read_unique_samples(inputs, self.request.data)
        return add_states(self._stateless, graph, states)

    def _count_samples(self) -> SampleCounts:
        """How many samples there is time for at the pace that the float model has on those that choose."""
        with self.counter.measure_stage("plan"):
            chosen = self.chooser.run_float_model(self.budget.choosing_seconds)
            counts = replace(self.known.counts, choosing=chosen.samples)
            rest = max(0.0, self.budget.search_seconds - self.budget.seconds)
            return counts.reduce_others_to_fit(self.measure_rates(), rest)

    def measure_rates(self) -> Rates:
        """The rates at the pace of now: other work on the machine may have come or gone."""
        rates, pace = self.known.rates, self.chooser.time_float_model()
        slowdown = max(LEAST_SLOWDOWN, self._slowness, pace / max(rates.floating, LEAST_SECONDS))
        return rates.scale_seconds(slowdown)

    @property
    def _slowness(self) -> float:
        """How many times as long as estimated the candidates took that were built so far."""
        expected = sum(estimate_candidate(name, self.known.rates, self.counts) for name in self.results)
        taken = sum(result.candidate.seconds for result in self.results.values())
        return taken / expected if expected > TELLING_SECONDS else 0.0

    @cached_property
    def chooser(self) -> Evaluator:
        """Evaluates on the samples that choose."""
        return make_chooser(self.source, self._planned.choosing, self.known.metric, self.counter)

    def load_graph(self, name: str) -> Graph:
        """The graph of a candidate."""
        return load_stored_graph(self._locate_graph(name))

    def store_graph(self, name: str, graph: Graph) -> None:
        """Keeps the graph of a candidate until the end of the build."""
        store_graph(graph, self._locate_graph(name))

    def _locate_graph(self, name: str) -> Path:
        return self.ledger.folder / f"graph_{_spell_for_files(name)}"

    def locate_files(self, name: str) -> Path:
        """What becomes of a candidate; the files of the chosen one are published."""
        return self.ledger.folder / f"files_{_spell_for_files(name)}"


def _spell_for_files(name: str) -> str:
    return name.replace(" ", "_").replace("+", "_")
