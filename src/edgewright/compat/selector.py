"""The course's backend selector and its check for available backends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgewright.backends.registry import BACKENDS, find_backend
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.model.select_backend import CAPABILITIES, OPS, POWER, SIZES, SPEED
from edgewright.targets.htp_ops import read_htp_ops

# Names from other frameworks that the course uses for QNN's ops.
_SPELLINGS = {"dense": "FullyConnected", "relu": "Relu", "batchnorm": "Batchnorm", "linear": "FullyConnected"}
ModelInfo = Mapping[str, object]


@dataclass(frozen=True)
class BackendSupport:
    """Whether a backend can run here, and its name or why it cannot."""

    backend: str
    is_available: bool
    detail: str


def check_backend_support() -> dict[str, BackendSupport]:
    """Every QNN backend by its short name."""
    return {name.lower(): _support(name) for name in BACKENDS}


class BackendSelector:
    """Chooses by a description of a model; `select_backend` looks at the model itself."""

    def select_optimal_backend(
        self, model_info: ModelInfo, constraints: Mapping[str, bool] | None = None
    ) -> str:
        """The backend with the best score for the model's ``operations`` and ``max_tensor_size`` (bytes)."""
        points = self.score_backends(model_info, constraints or {})
        return max(points, key=lambda name: points[name])

    def score_backends(self, model_info: ModelInfo, constraints: Mapping[str, bool]) -> dict[str, float]:
        """The score of each backend."""
        operations, largest = _read_operations(model_info), _read_largest_tensor(model_info)
        unknown = [name for name in constraints if name not in _CONSTRAINTS]
        if unknown:
            raise UsageError(
                f"constraint '{shown(unknown[0])}' is unknown, expected {' or '.join(_CONSTRAINTS)}",
                do=did_you_mean(unknown[0], _CONSTRAINTS),
            )
        points_by_backend = {}
        for name, can in CAPABILITIES.items():
            points = OPS * float(_has_all(name, operations)) + SIZES * float(largest <= can.largest_tensor)
            if constraints.get("power_critical"):
                points += POWER * can.power_efficiency
            if constraints.get("performance_critical") and name == "htp":
                points += SPEED
            points_by_backend[name] = points
        return points_by_backend


_CONSTRAINTS = ("power_critical", "performance_critical")


def _support(name: str) -> BackendSupport:
    try:
        return BackendSupport(name.lower(), True, find_backend(name).name)
    except EdgewrightError as problem:
        return BackendSupport(name.lower(), False, problem.what)


def _read_operations(info: ModelInfo) -> Sequence[str]:
    operations = info.get("operations", ())
    if isinstance(operations, str) or not isinstance(operations, Sequence):
        raise UsageError(f"'operations' is '{shown(operations)}', expected a list of ops such as ['Conv2d']")
    return [str(name) for name in operations]


def _read_largest_tensor(info: ModelInfo) -> float:
    size = info.get("max_tensor_size", 0)
    if isinstance(size, bool) or not isinstance(size, int | float) or size < 0:
        raise UsageError(f"'max_tensor_size' is '{shown(size)}', expected a number of bytes")
    return float(size)


def _has_all(backend: str, operations: Sequence[str]) -> bool:
    known = {name.lower() for name in read_htp_ops()}
    return backend != "htp" or all(_SPELLINGS.get(op.lower(), op).lower() in known for op in operations)
