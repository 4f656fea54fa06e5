"""The course's performance debugger: which layers are slow, and what would help."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.ir.op import REGISTRY
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.profile.measure import profile_log
from edgewright.model.profile.summary import Measure, summarise
from edgewright.passes.partition.htp_gaps import find_htp_gaps

# Layers with a smaller share of the time are not reported.
WORTH_SAYING = 0.05


@dataclass(frozen=True)
class LayerTime:
    """A layer with its time, in milliseconds where the backend reports microseconds."""

    layer: str
    op: str
    time: float
    share: float
    macs: int
    kernels: tuple[str, ...]


class QNNDebugger:
    """Times the layers of a model on a backend; ``layer_timings`` has them by name."""

    def __init__(self, model_path: Model | Path | str, backend: str = "cpu") -> None:
        self.model_path = model_path
        self.backend = backend
        self._model = open_any_model(model_path)
        self._layers: list[LayerTime] = []

    def get_layer_names(self) -> tuple[str, ...]:
        """The layers of the model, in the order in which they run."""
        return tuple(node.name for node in self._model.fixed_graph().nodes)

    @property
    def layer_timings(self) -> dict[str, float]:
        """Layer -> milliseconds."""
        return {layer.layer: layer.time for layer in self._layers}

    def profile_layers(
        self, input_data: Mapping[str, Array] | Array, num_runs: int = 20
    ) -> tuple[LayerTime, ...]:
        """Runs the model and times its layers, the slowest first."""
        names = [item.name for item in self._model.inputs]
        feed = dict(input_data) if isinstance(input_data, Mapping) else {names[0]: input_data}
        log = profile_log(self._model, self.backend, feed, runs=num_runs)
        ops = summarise(log).ops
        total = sum(item.average for item in ops) or 1.0
        self._layers = [_make_layer_time(item, total) for item in ops]
        return tuple(self._layers)

    def analyze_bottlenecks(self, top: int = 5) -> tuple[LayerTime, ...]:
        """The slowest layers."""
        self._check()
        return tuple(self._layers[:top])

    def suggest_optimizations(self) -> tuple[str, ...]:
        """What would help, layer by layer."""
        self._check()
        graph = self._model.fixed_graph()
        gaps = [f"HTP cannot run {gap.node} ({gap.op}): {gap.reason}" for gap in find_htp_gaps(graph)[:5]]
        is_float = not any(kind.dtype.is_fixed_point for kind in graph.types.values())
        slow = [layer for layer in self._layers if layer.share >= WORTH_SAYING]
        suggestions = [text for layer in slow for text in _suggest_for_layer(layer, is_float=is_float)]
        return tuple(dict.fromkeys([*suggestions, *gaps]))

    def _check(self) -> None:
        if not self._layers:
            raise UsageError("no layer was timed yet", do="call profile_layers(input_data) first")


def _make_layer_time(item: Measure, total: float) -> LayerTime:
    name = item.name.partition(":OpId_")[0]
    time = item.average / 1000 if item.unit == "US" else item.average
    return LayerTime(name, item.op, time, item.average / total, item.macs, item.kernels)


def _suggest_for_layer(layer: LayerTime, *, is_float: bool) -> Iterator[str]:
    part = f"{layer.layer} ({layer.op or 'added by the backend'}, {layer.share:.0%} of the time)"
    if layer.op == "Conv2d":
        yield f"consider a depthwise separable convolution for {part}"
    if layer.macs and is_float:
        yield f"consider quantization (ew.quantize) for {part}: its products are float32"
    if not layer.op or (layer.op in REGISTRY and REGISTRY[layer.op].only_moves()):
        yield f"{part} only moves data: change the layout of what is around it"
    if "reference" in layer.kernels:
        yield f"{part} has no kernel in the engine and runs in numpy: replace it by ops that have one"
