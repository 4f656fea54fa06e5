"""Tensor inspection: statistics of two folders of tensors, and a picture of each."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.analyse.verifiers.choices import read_verifiers
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.artifacts.encodings import load_encodings
from edgewright.config.accuracy_debugger import DebuggerFolder
from edgewright.config.encoding_comparison import InspectionInputs
from edgewright.core.errors import BadInput, EdgewrightError
from edgewright.core.events import announce_progress
from edgewright.core.files import write_all, write_whole
from edgewright.core.numbers import Array
from edgewright.lower.names import NameTable, sanitize_name
from edgewright.sdk.debugger.folders import open_feature_folder
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.summary import format_csv, format_score
from edgewright.sdk.debugger.tensor_folder import list_tensor_files

log = logging.getLogger(__name__)

FEATURE = "tensor_inspection"
Range = tuple[float, float]


@dataclass(frozen=True)
class InspectedTensor:
    """Two tensors in one order of elements; ``calibrated`` is the range of the target's encoding."""

    name: str
    golden: Array
    target: Array
    calibrated: Range | None = None


# Pictures of a tensor as files: their names and their bytes.
Draw = Callable[[InspectedTensor], Mapping[str, bytes]]


@dataclass(frozen=True)
class Inspection:
    """The rows of summary.csv, headers first."""

    folder: str
    rows: tuple[tuple[str, ...], ...] = field(default_factory=tuple)


def inspect_folders(inputs: InspectionInputs, place: DebuggerFolder, draw: Draw) -> Inspection:
    """Inspects the tensors that both folders have; what only one has is left out."""
    verifiers = [choice.verifier for choice in read_verifiers(inputs.verifier)]
    golden = list_tensor_files(inputs.golden_data, inputs.data_type)
    target = list_tensor_files(inputs.target_data, inputs.data_type)
    matcher = TensorMatcher(golden, target, {}, {})
    ranges = {} if inputs.target_encodings is None else read_ranges(inputs.target_encodings)
    with open_feature_folder(place.working_dir, FEATURE, place.output_dirname, (inputs, place)) as folder:
        return inspect_tensors(matcher, verifiers, folder, draw, ranges)


def inspect_tensors(
    matcher: TensorMatcher,
    verifiers: Sequence[Verifier],
    folder: Path,
    draw: Draw,
    ranges: Mapping[str, Range] | None = None,
) -> Inspection:
    """A folder for each tensor, and a summary of all."""
    pairs, known = matcher.list_pairs(), ranges or {}
    if not pairs:
        raise BadInput("no tensor of the target folder has a golden one of the same name")
    name_folder, rows = NameTable(), [_list_headers(verifiers, has_ranges=bool(known))]
    with announce_progress("inspecting tensors", total=len(pairs)) as step:
        for pair in pairs:
            try:
                golden, target = matcher.read_pair(pair)
            except EdgewrightError as problem:
                log.warning("'%s' is not inspected: %s", pair.name, problem.what)
                continue
            calibrated = known.get(sanitize_name(pair.name)) or known.get(sanitize_name(pair.golden.name))
            tensor = InspectedTensor(pair.name, golden, target, calibrated)
            _write_tensor(folder / name_folder(pair.name), tensor, draw)
            rows.append(_list_figures(tensor, verifiers, has_ranges=bool(known)))
            step()
    write_whole(folder / "summary.csv", [format_csv(rows)])
    return Inspection(str(folder), tuple(map(tuple, rows)))


def read_ranges(file: str) -> dict[str, Range]:
    """What encodings can hold, by the names that tensors have in files."""
    entries = load_encodings(file)
    ranges: dict[str, Range] = {}
    for entry in () if entries is None else entries.tensors:
        if entry.scales and not entry.is_float:
            lows = [scale * offset for scale, offset in zip(entry.scales, entry.offsets, strict=True)]
            width = (1 << entry.bits) - 1
            highs = [low + scale * width for low, scale in zip(lows, entry.scales, strict=True)]
            ranges[sanitize_name(entry.name)] = (min(lows), max(highs))
    return ranges


def _list_headers(verifiers: Iterable[Verifier], *, has_ranges: bool) -> list[str]:
    names = ["Name", "golden_min", "golden_max", "target_min", "target_max"]
    if has_ranges:
        names += ["calibrated_min", "calibrated_max"]
        names += ["(target_min-calibrated_min)", "(target_max-calibrated_max)"]
    return [*names, *(verifier.column for verifier in verifiers)]


def _list_figures(tensor: InspectedTensor, verifiers: Iterable[Verifier], *, has_ranges: bool) -> list[str]:
    sides = [array if array.size else np.zeros(1) for array in (tensor.golden, tensor.target)]
    figures: list[float | None] = [float(part(side)) for side in sides for part in (np.min, np.max)]
    low, high = float(sides[1].min()), float(sides[1].max())
    if has_ranges:
        limits = tensor.calibrated
        figures += [None] * 4 if limits is None else [*limits, low - limits[0], high - limits[1]]
    cells = ["" if value is None else f"{value:.9g}" for value in figures]
    scores = [format_score(verifier.score(tensor.golden, tensor.target)) for verifier in verifiers]
    return [tensor.name, *cells, *scores]


def _write_tensor(folder: Path, tensor: InspectedTensor, draw: Draw) -> None:
    files = dict(draw(tensor))
    for name, array in (("golden_data.csv", tensor.golden), ("target_data.csv", tensor.target)):
        lines = "\n".join(f"{value:.9g}" for value in array.reshape(-1).tolist())
        files[name] = f"{lines}\n".encode()
    write_all({folder / name: [content] for name, content in files.items()})
