"""Whether AIMET loads our encodings, strictly: a row for each model of a folder.

``python -m benchmarks.aimet_encodings`` with the models of the repository and of `make bench-models`, and
what `make peers` made; --models DIR and AIMET_ENV_PYTHON name others.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import BESIDE, PEERS
from benchmarks.tables import Table, add_write_option
from edgewright.core.errors import EdgewrightError
from edgewright.sdk.aimet import AIMET_PYTHON, find_aimet_python

LOADER = Path(__file__).with_name("aimet_loader.py")
COLUMNS = (
    "model",
    "AIMET's quantizers",
    "ours as they are",
    "our range, its width or channels",
    "its own",
    "strict",
)
SAMPLES, OPEN_SIZE, LONGEST_CELL = 4, 64, 120
# What a model must know beside shapes: a window of this length, at this sample rate.
VALUES: dict[str, Any] = {"sr": np.array(16000, np.int64)}
SIZES = {"sequence": 576}
Samples = list[dict[str, NDArray[Any]]]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=FETCHED, help="a folder of ONNX files")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    python = BESIDE if BESIDE.exists() and AIMET_PYTHON not in os.environ else find_aimet_python()
    table = Table("aimet-encodings", COLUMNS, options)
    models = [path for folder in (EXAMPLES, options.models) for path in folder.glob("*.onnx")]
    for model in sorted((path for path in models if options.filter in path.stem), key=lambda path: path.stem):
        table.add(*(cell[:LONGEST_CELL] for cell in measure(model, python)))
    table.finish(f"With {next(peer for peer in PEERS if peer.name == 'aimet').find_version()}.")


def measure(model: Path, python: Path) -> list[str]:
    """The row of one model."""
    with tempfile.TemporaryDirectory() as folder:
        return [model.stem, *_load_ours(model, python, Path(folder))]


def _load_ours(model: Path, python: Path, folder: Path) -> Sequence[str]:
    samples = make_samples(ew.convert(model))
    np.savez(folder / "samples.npz", **{name: np.stack([s[name] for s in samples]) for name in samples[0]})
    like = folder / "like.encodings"
    made = ask_aimet(python, "export", model, folder / "samples.npz", like)
    if "problem" in made:
        return "-", "-", "-", "-", f"AIMET itself: {made['problem']}"
    try:
        ours = quantize(model, samples).encodings()
    except EdgewrightError as problem:
        return str(made["quantizers"]), "-", "-", "-", problem.what
    fitted = ew.fit_encodings(ours, like)
    (folder / "ours.encodings").write_text(json.dumps(fitted), encoding="utf-8")
    answer = ask_aimet(python, "load", model, folder / "ours.encodings")
    counts = count_kinds(ours, json.loads(like.read_text(encoding="utf-8")), fitted)
    return str(made["quantizers"]), *map(str, counts), answer.get("problem", "loads")


def make_samples(model: ew.Model) -> Samples:
    """Random numbers for all inputs; whole ones are 0 or 1."""
    draw = np.random.default_rng(0)
    return [
        {item.name: _make_array(item.name, item.shape, item.dtype, draw) for item in model.inputs}
        for _ in range(SAMPLES)
    ]


def _make_array(name: str, shape: Sequence[Any], dtype: str, draw: np.random.Generator) -> NDArray[Any]:
    if name in VALUES:
        return VALUES[name]
    sizes = [_choose_size(place, size) for place, size in enumerate(shape)]
    kind = np.dtype(dtype)
    return (draw.integers(0, 2, sizes) if kind.kind in "iub" else draw.random(sizes)).astype(kind)


def _choose_size(place: int, size: Any) -> int:
    if isinstance(size, int):
        return size
    return SIZES.get(str(size), 1 if place == 0 or str(size) == "batch" else OPEN_SIZE)


def quantize(model: Path, samples: Samples) -> ew.QuantizedModel:
    """Our w8a8 of the model with the sizes of the samples."""
    shapes = {name: list(array.shape) for name, array in samples[0].items() if name not in VALUES}
    values = {name: VALUES[name] for name in samples[0] if name in VALUES}
    converted = ew.convert(model, input_shapes=shapes, input_values=values)
    names = {item.name for item in converted.inputs}
    feeds = [{name: sample[name] for name in names} for sample in samples]
    # The search may scale weights, which encodings do not tell.
    return ew.quantize(converted, feeds, act_quantizer="tf")


def count_kinds(ours: Any, like: Any, fitted: Any) -> tuple[int, int, int]:
    """How many entries have our scales, our range on other integers, and AIMET's own numbers."""
    sections = ("activation_encodings", "param_encodings")
    scales = {e["name"]: e.get("scale") for section in sections for e in ours[section]}
    own = {e["name"]: e["scale"] for section in sections for e in like[section] if "scale" in e}
    entries = [e for section in sections for e in fitted[section] if "scale" in e]
    same = sum(e["scale"] == scales.get(e["name"]) for e in entries)
    kept = sum(e["scale"] == own.get(e["name"]) and e["scale"] != scales.get(e["name"]) for e in entries)
    return same, len(entries) - same - kept, kept


def ask_aimet(python: Path, *words: object) -> dict[str, Any]:
    """What the loader says, in AIMET's environment."""
    command = [str(python), str(LOADER), *map(str, words)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = process.stdout.strip().splitlines()
    if not lines:
        return {"problem": (process.stderr.strip().splitlines() or ["it said nothing"])[-1]}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


if __name__ == "__main__":
    main()
