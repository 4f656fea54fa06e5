"""The HTP backend as a simulation: fixed-point and half-precision graphs with the NPU's meaning."""

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu.session import CpuSession
from edgewright.backends.cpu.sums import Arithmetic, Rounding
from edgewright.backends.htp.arithmetic import htp_sums
from edgewright.backends.htp.folded_scales import with_folded_scales
from edgewright.backends.htp.fusions import with_fusions
from edgewright.backends.htp.halves import EXACT_HALVES, HALVES, with_halves
from edgewright.backends.htp.library_kernels import with_library_kernels
from edgewright.backends.htp.number_tables import with_joined_numbers
from edgewright.backends.htp.phases import with_phases
from edgewright.backends.htp.signs import with_unsigned
from edgewright.backends.htp.wide_factors import with_raised_scales, with_wide_factors
from edgewright.ir.graph import Graph
from edgewright.passes.htp.filter_pools import with_filtered_pools
from edgewright.passes.htp.unroll_recurrent import with_steps

__all__ = ["HtpFastSimBackend", "HtpSimBackend"]


class HtpSimBackend:
    """Provider `sim`: sums of 8 bits and floats are rounded as the NPU does it, the rest to the nearest."""

    name = "htp (simulation)"
    arithmetic: Arithmetic | None = staticmethod(htp_sums)
    library_names = ("libQnnHtp.so", "QnnHtp.dll")
    # Floats are computed in half precision; real numbers are converted outside the NPU.
    has_exact_ends = False

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session for a graph; floats are computed in half precision, the NPU has no others."""
        outputs = (*graph.outputs, *options.extra_outputs)
        graph = with_folded_scales(graph, outputs)
        plain = with_unsigned(
            with_wide_factors(with_raised_scales(with_filtered_pools(with_steps(graph, outputs)))), outputs
        )
        halved = with_halves(plain, outputs)
        fused = with_phases(with_fusions(with_joined_numbers(halved))) if self.arithmetic else halved
        ready = with_library_kernels(fused, graph)
        halves = EXACT_HALVES if self.arithmetic else HALVES
        return CpuSession(ready, options, Rounding(self.arithmetic, halves))


class HtpFastSimBackend(HtpSimBackend):
    """Provider `sim-fast`: integers are rounded to the nearest step, by the engine's integer kernels."""

    name = "htp (fast simulation)"
    arithmetic = None
