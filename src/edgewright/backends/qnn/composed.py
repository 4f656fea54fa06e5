"""HTP sessions of contexts that were not built from our records: loaded binaries and model libraries."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.qnn.backend import HtpNativeBackend, shared_runtime
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.profile import ProfileEvent
from edgewright.backends.qnn.runtime import QnnContext, RenewedContext
from edgewright.core.errors import BackendCrash
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.passes.pipeline import HTP, run_passes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ContextSession:
    """A graph of a context."""

    context: RenewedContext
    name: str

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return self.context.run(self.name, inputs)

    def placement(self) -> Mapping[str, str]:
        return {}

    def profile(self) -> list[ProfileEvent]:
        return self.context.profile()


class LibraryBackend(HtpNativeBackend):
    """Runs the graphs that model libraries build directly in the genuine library."""

    def __init__(self, options: HtpOptions, files: Sequence[Path], prefix: str) -> None:
        super().__init__(options)
        self._files = files
        self._prefix = prefix
        self._contexts: dict[str, RenewedContext] | None = None

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """The library's own graph, or the one lifted from it.

        That is needed if more than its outputs is requested, and where ops are not in the form that HTP
        needs: it refuses some of the others and computes nonsense of some.
        """
        if set(options.extra_outputs) <= set(graph.outputs) and _is_in_htp_form(graph):
            context = self._composed().get(graph.name)
            if context is not None:
                return ContextSession(context, graph.name)
        return super().prepare(graph, options)

    def _composed(self) -> dict[str, RenewedContext]:
        if self._contexts is None:
            by_file = [self._of_file(file) for file in self._files]
            self._contexts = {name: context for contexts in by_file for name, context in contexts.items()}
        return self._contexts

    def _of_file(self, file: Path) -> dict[str, RenewedContext]:
        def make() -> QnnContext:
            return shared_runtime(self.options).compose_library(file, self._prefix, self.options)

        try:
            context = RenewedContext(make)
        except BackendCrash as problem:
            # HTP lacks some forms of ops; the lifted graph is converted to the forms it has.
            log.warning("%s; the graph that was read from it is compiled instead", problem.what)
            return {}
        return {graph.name: context for graph in context.current().graphs}


def _is_in_htp_form(graph: Graph) -> bool:
    """Whether nothing has to be rewritten before the graph is compiled."""
    return not any(run_passes(graph.copy(), HTP).values())
