"""How far estimates are off for networks that no fit has seen: families are left out one at a time."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from edgewright.estimate.fit import PRECISIONS, Dataset, LatencyFit, load_dataset
from edgewright.estimate.public_data import read_networks
from edgewright.estimate.work import Network

# The share of networks whose times an interval should hold.
COVERAGE = 0.8
# Fewer networks than this have no interval of their own: the ends would be the worst of them.
FEWEST_VOTES = 19
# Networks that share most of their layers: they are left out together. The first pattern that matches counts.
FAMILIES = (
    ("resnet 3d", "resnet_3d|resnet_2plus1d|resnet_mixed"),
    ("resnext", "resnext"),
    ("resnet", "resnet"),
    ("efficientnet lite", "efficientnet_lite"),
    ("efficientnet v2", "efficientnet_v2"),
    ("efficientnet", "efficientnet"),
    ("efficientvit", "efficientvit"),
    ("inception", "googlenet|inception"),
    ("mobilenet v2", "mobilenet_v2|posenet_mobilenet"),
    ("mobilenet v3", "mobilenet_v3"),
    ("regnet", "regnet"),
    ("swin", "swin"),
    ("vit", "^vit$|beit"),
    ("esrgan", "esrgan"),
    ("quicksrnet", "quicksrnet"),
    ("bert", "bert|minilm"),
    ("clip", "siglip|clip|owl_vit"),
    ("depth anything", "depth_anything"),
    ("whisper", "whisper"),
    ("yolo", "yolo|fastsam"),
)
KINDS = ("plain convolutions", "convolutions", "attention")
# From this share of layers on that are norms, softmaxes or products of activations, a network is one with
# attention.
_ATTENTION_SHARE = 0.05
# Ops between convolutions that leave a network a plain one, by parts of their names.
_PLAIN_OPS = ("add", "pool", "mean")
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """Predictions of networks by fits without their family."""

    data: Dataset
    families: tuple[str, ...]
    kinds: tuple[str, ...]
    predicted: Matrix
    # The parameters of the fit without each family.
    refits: tuple[Matrix, ...] = ()

    @property
    def residuals(self) -> Matrix:
        """Logarithms of measured over predicted times."""
        return self.data.log_times - self.predicted

    def find_rows(self, precision: str, kind: str | None = None) -> NDArray[np.bool_]:
        """The rows of a precision and a kind of network."""
        rows = np.asarray(self.data.precisions == PRECISIONS.index(precision))
        return rows if kind is None else rows & np.array([each == kind for each in self.kinds])


def find_family(name: str) -> str:
    """The family of a public network; its own name where it has no relatives."""
    return next((family for family, pattern in FAMILIES if re.search(pattern, name)), name)


def find_kind(network: Network) -> str:
    """Which of KINDS a network is: intervals are given for each."""
    layers = network.layers
    attention = sum(layer.kind in ("statistics", "attention") for layer in layers)
    if attention >= _ATTENTION_SHARE * max(len(layers), 1):
        return KINDS[2]
    return KINDS[0] if all(_is_plain(layer.kind, layer.op) for layer in layers) else KINDS[1]


def _is_plain(kind: str, op: str) -> bool:
    if kind == "elements":
        return any(part in op.lower() for part in _PLAIN_OPS)
    return kind in ("product", "grouped", "depthwise")


def leave_families_out() -> LeftOut:
    """Predictions of every network by a fit on the networks of other families."""
    refits = []

    def fit_and_predict(others: Dataset, left_out: Dataset) -> Matrix:
        model = LatencyFit(others.chips)
        refits.append(model.fit(others, _fit_all()))
        return model.predict(refits[-1], left_out)

    left_out = predict_left_out(fit_and_predict)
    return replace(left_out, refits=tuple(refits))


def predict_left_out(predict: Callable[[Dataset, Dataset], Matrix]) -> LeftOut:
    """The same for any method that predicts some networks from others."""
    data = load_dataset()
    networks = read_networks()
    families = tuple(find_family(name) for name in data.names)
    predicted = np.full_like(data.log_times, np.nan)
    for family in sorted(set(families)):
        rows = np.array([each == family for each in families])
        predicted[rows] = predict(data.choose(~rows), data.choose(rows))
    return LeftOut(data, families, tuple(find_kind(networks[name]) for name in data.names), predicted)


@cache
def _fit_all() -> Matrix:
    # Only where the search starts: it ends where the other networks lead it.
    data = load_dataset()
    return LatencyFit(data.chips).fit(data)


def predict_by_macs(others: Dataset, left_out: Dataset) -> Matrix:
    """The simplest method: a rate of each chip and precision in multiply-accumulates."""
    networks = read_networks()
    logs = [np.log([networks[name].macs for name in data.names]) for data in (others, left_out)]
    predicted = np.full_like(left_out.log_times, np.nan)
    for precision in range(len(PRECISIONS)):
        known, asked = others.precisions == precision, left_out.precisions == precision
        rates = others.log_times[known] - logs[0][known, None]
        measured = ~np.isnan(rates).all(0)
        predicted[np.ix_(asked, measured)] = logs[1][asked, None] + np.nanmedian(rates[:, measured], axis=0)
    return predicted


@dataclass(frozen=True)
class Errors:
    """Errors of one precision: shares of the measured time, over networks and chips."""

    precision: str
    networks: int
    median: float
    p90: float


def measure_errors(left_out: LeftOut, precision: str, kind: str | None = None) -> Errors:
    """The median and the 90th percentile."""
    rows = left_out.find_rows(precision, kind)
    errors = np.abs(np.exp(-left_out.residuals[rows]) - 1)
    errors = errors[~np.isnan(errors)]
    median, p90 = (float(np.quantile(errors, share)) for share in (0.5, 0.9))
    return Errors(precision, int(rows.sum()), median, p90)


def find_bounds(residuals: Matrix, coverage: float = COVERAGE) -> tuple[float, float] | None:
    """The conformal interval of residuals (rows are networks): each network has one vote, over its chips.

    None for so few networks that no interval is honest.
    """
    counts = (~np.isnan(residuals)).sum(1)
    kept = residuals[counts > 0]
    networks = len(kept)
    if networks < FEWEST_VOTES:
        return None
    votes = np.repeat(1 / counts[counts > 0], counts[counts > 0])
    values = kept[~np.isnan(kept)]
    order = np.argsort(values, kind="stable")
    values, votes = values[order], votes[order]
    # The new network votes as well, and may lie beyond all others.
    needed = (networks + 1) * (1 + coverage) / 2
    high = values[min(np.searchsorted(np.cumsum(votes), needed - 1e-9), len(values) - 1)]
    low = values[::-1][min(np.searchsorted(np.cumsum(votes[::-1]), needed - 1e-9), len(values) - 1)]
    return float(low), float(high)


def choose_bounds(left_out: LeftOut, precision: str, kind: str, without: str = "") -> tuple[float, float]:
    """The interval for a kind in a precision, from networks of all families but one.

    Where too few networks are of both, it holds those of the precision and those of the kind.
    """
    others = np.array([family != without for family in left_out.families])
    own = find_bounds(left_out.residuals[left_out.find_rows(precision, kind) & others])
    if own is not None:
        return own
    same_precision = find_bounds(left_out.residuals[left_out.find_rows(precision) & others])
    of_kind = np.array([each == kind for each in left_out.kinds])
    same_kind = find_bounds(left_out.residuals[of_kind & others])
    bounds = [each for each in (same_precision, same_kind) if each is not None]
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def find_change_bounds(left_out: LeftOut, source: str, target: str) -> tuple[float, float]:
    """How far the change of a time from one precision to another may be from its estimate, as logarithms."""
    rows = [left_out.find_rows(precision) for precision in (source, target)]
    places = [{left_out.data.names[row]: row for row in np.flatnonzero(each)} for each in rows]
    both = sorted(places[0].keys() & places[1].keys())
    residuals = left_out.residuals
    changes = [residuals[places[1][name]] - residuals[places[0][name]] for name in both]
    bounds = find_bounds(np.array(changes))
    # Too few networks in both: the widest of what is known of each.
    return bounds or choose_bounds(left_out, target, KINDS[2])


@dataclass(frozen=True)
class Coverage:
    """How many networks are inside of intervals that were made without their family."""

    precision: str
    networks: int
    share: float
    # What chance alone would allow for so many networks where the interval is right.
    band: tuple[float, float]
    # The factor from the lower end to the upper one: the median over networks.
    width: float

    @property
    def is_honest(self) -> bool:
        """Whether no fewer are inside than chance allows."""
        return self.share >= self.band[0]


def measure_coverage(left_out: LeftOut, precision: str) -> Coverage:
    """The share of networks and chips inside of the stated intervals, one vote for each network."""
    inside, widths = [], []
    for row in np.flatnonzero(left_out.find_rows(precision)):
        low, high = choose_bounds(left_out, precision, left_out.kinds[row], left_out.families[row])
        residuals = left_out.residuals[row][~np.isnan(left_out.residuals[row])]
        inside.append(float(np.mean((residuals >= low) & (residuals <= high))))
        widths.append(float(np.exp(high - low)))
    networks = len(inside)
    margin = 1.96 * float(np.sqrt(COVERAGE * (1 - COVERAGE) / networks))
    band = (COVERAGE - margin, min(COVERAGE + margin, 1.0))
    return Coverage(precision, networks, float(np.mean(inside)), band, float(np.median(widths)))
