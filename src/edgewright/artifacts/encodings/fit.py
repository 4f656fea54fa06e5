"""Encodings for exactly the tensors that another tool quantizes, in the form that it gives them."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.encodings.load import EncodingsSource, load_encodings
from edgewright.artifacts.encodings.reader import parse_encodings
from edgewright.artifacts.encodings.writer import MOVED
from edgewright.core.errors import UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.quantize.tensor_encodings import TensorEncoding

log = logging.getLogger(__name__)

LARGEST_FILE = 1 << 31
SECTIONS = ("activation_encodings", "param_encodings")
VERSION = "1.0.0"


def fit_encodings(encodings: EncodingsSource, like: EncodingsSource | Any) -> dict[str, Any]:
    """Encodings for exactly the quantizers of an AIMET simulation, which loads them with ``strict=True``.

    AIMET compares what it loads with its own quantizers: their names, widths, symmetry and channels. Those
    are kept here; scales and offsets become ours. Where widths or channels differ, our range is laid on its
    integers; where we have no encoding (what conversion folded or left in floating point), its own stays.

    Args:
        encodings: of the same source model: ``quantized.encodings()``, a build's quantization_config.json.
        like: what AIMET made of the model: an ``.encodings`` file of version 1.0.0, its content, or the
            calibrated ``QuantizationSimModel`` itself.
    """
    given = load_encodings(encodings)
    assert given is not None
    _refuse_moved_weights(given.extra.get(MOVED))
    ours = {entry.name: entry for entry in given.tensors}
    document = _read_like(like)
    counts = {"as they are": 0, "with another width or other channels": 0, "of the other tool": 0}
    for section in SECTIONS:
        document[section] = [_fit_entry(ours.get(e["name"]), e, counts) for e in document[section]]
    log.info("encodings: %s", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if not ours.keys() & {entry["name"] for section in SECTIONS for entry in document[section]}:
        raise UsageError(
            "none of the encodings is of a tensor that the other tool quantizes",
            do="give encodings of the same source model, by the source's names",
        )
    return document


def _refuse_moved_weights(names: Any) -> None:
    if names:
        raise UsageError(
            f"{len(names)} weights were scaled before they were rounded, such as '{shown(names[0])}': "
            "encodings alone do not give that model elsewhere",
            do="quantize with act_quantizer='tf' and without the algorithms cle, smooth and auto, "
            "or use the saved model",
        )


def _read_like(like: Any) -> dict[str, Any]:
    if hasattr(like, "qc_quantize_op_dict"):
        return _describe_simulation(like)
    if isinstance(like, Mapping):
        content, file = json.dumps(like).encode(), "like"
    elif isinstance(like, str | Path):
        content, file = read_limited(like, LARGEST_FILE), str(like)
    else:
        raise UsageError(
            f"'like' is a {type(like).__name__}, expected a file, its content or a QuantizationSimModel",
            do="give what AIMET exported",
        )
    parse_encodings(content, file)  # it checks all of it
    document: dict[str, Any] = parse_json(content)
    if not all(isinstance(document.get(section), list) for section in SECTIONS):
        raise UnsupportedFeature(
            f"the version is '{shown(document.get('version'))}', only {VERSION} says all that AIMET checks",
            Where(file=file),
            do=f"export it with encoding_version='{VERSION}'",
        )
    return document


def _describe_simulation(simulation: Any) -> dict[str, Any]:
    """The quantizers of a simulation that are switched on, as its file would have them."""
    entries: dict[str, Any] = {}
    for name, quantizer in simulation.qc_quantize_op_dict.items():
        if quantizer.enabled:
            entries[name] = quantizer.export_encodings(VERSION)
    blank = sorted(name for name, entry in entries.items() if entry is None)
    if blank:
        raise UsageError(
            f"{len(blank)} quantizers of the simulation have no encoding yet, such as '{shown(blank[0])}'",
            do="call its compute_encodings with samples first",
        )
    params = set(simulation.param_names)
    named = [{"name": name, **entry} for name, entry in entries.items()]
    return {
        "version": VERSION,
        "activation_encodings": [entry for entry in named if entry["name"] not in params],
        "param_encodings": [entry for entry in named if entry["name"] in params],
    }


def _fit_entry(ours: TensorEncoding | None, theirs: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    as_is, other, kept = counts
    if ours is None or not ours.scales or theirs["dtype"].upper() != "INT" or not _can_fit(ours, theirs):
        counts[kept] += 1
        return theirs
    is_same = (
        ours.bits == theirs["bw"]
        and len(ours.scales) == len(theirs["scale"])
        and (not theirs["is_sym"] or list(ours.offsets) == theirs["offset"])
    )
    counts[as_is if is_same else other] += 1
    if is_same:
        return {**theirs, "scale": list(ours.scales), "offset": list(ours.offsets)}
    return {**theirs, **_lay_range(ours, theirs)}


def _can_fit(ours: TensorEncoding, theirs: dict[str, Any]) -> bool:
    """Whether ranges of one can be laid on the other: no blocks, the same channels or one for all."""
    if ours.block_size or theirs["enc_type"] not in {"PER_TENSOR", "PER_CHANNEL"}:
        return False
    sizes = len(ours.scales), len(theirs["scale"])
    return 1 in sizes or sizes[0] == sizes[1]


def _lay_range(ours: TensorEncoding, theirs: dict[str, Any]) -> dict[str, Any]:
    """Our range on integers of their width and symmetry."""
    most, count = (1 << theirs["bw"]) - 1, len(theirs["scale"])
    scales, offsets = np.array(ours.scales), np.array(ours.offsets, np.float64)
    lows, highs = np.minimum(scales * offsets, 0), np.maximum(scales * (offsets + (1 << ours.bits) - 1), 0)
    if count == 1:
        lows, highs = lows.min(keepdims=True), highs.max(keepdims=True)
    lows, highs = np.broadcast_to(lows, count), np.broadcast_to(highs, count)
    if theirs["is_sym"]:
        starts = np.array(theirs["offset"], np.float64)
        below = np.divide(lows, starts, out=np.zeros(count), where=starts < 0)
        return {"scale": np.maximum(below, highs / (most + starts)).tolist()}
    steps = (highs - lows) / most
    return {"scale": steps.tolist(), "offset": np.rint(lows / steps).tolist()}
