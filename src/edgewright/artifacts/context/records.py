"""The description in a context binary of our own."""

from dataclasses import dataclass, field

from edgewright.lower.qnn_graph import QnnGraph

# The backends that such a file can be for.
BACKENDS = ("cpu", "gpu", "htp-sim")
# Settings of a graph's compilation, each an integer.
SETTINGS = ("optimization_level", "vtcm_mb", "fp16_relaxed_precision", "hvx_threads", "dlbc")


@dataclass(frozen=True)
class ContextHead:
    """Who made the context, for which backend and chip; 0 and "" if not given."""

    backend: str
    producer: str
    soc: str = ""
    soc_model: int = 0
    dsp_arch: int = 0
    vtcm_mb: int = 0
    priority: str = "normal"
    is_weight_sharing: bool = False
    # By graph name; the keys are those of SETTINGS.
    settings: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Context:
    """Several graphs that are loaded together."""

    head: ContextHead
    graphs: tuple[QnnGraph, ...]
