"""Language models: tokens a second and the time to the first token, from public rows, as ranges.

Each token reads all weights once, so tokens a second are a rate of the chip over the number of weights; a
prompt is computed in pieces of 128 tokens, each of which takes a time that grows with the number of weights.
"""

import csv
import gzip
import io
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.estimate.estimate import find_fitted_chip
from edgewright.estimate.public_data import RELEASE, list_chips
from edgewright.estimate.validation import find_bounds
from edgewright.targets.soc import find_soc

# Tokens of a prompt that are computed at once (the public times of a full context are 32 times those of one).
PIECE = 128
PRECISION = "w4a16"
_RUNTIMES = ("genie", "geniex_qairt", "qnn_context_binary")
# Billions of weights of the public models whose times on the NPU are plain decoding in w4a16.
_BILLIONS = {
    "falcon_v3_7b_instruct": 7.5,
    "ibm_granite_v3_1_8b_instruct": 8.2,
    "llama_v3_1_8b_instruct": 8.0,
    "llama_v3_1_sea_lion_3_5_8b_r": 8.0,
    "llama_v3_2_1b_instruct": 1.24,
    "llama_v3_2_3b_instruct": 3.2,
    "llama_v3_8b_instruct": 8.0,
    "llama_v3_elyza_jp_8b": 8.0,
    "llama_v3_taide_8b_chat": 8.0,
    "mistral_7b_instruct_v0_3": 7.2,
    "phi_3_5_mini_instruct": 3.8,
    "qwen2_7b_instruct": 7.6,
    "qwen2_5_vl_7b_instruct": 7.6,
    "qwen3_0_6b": 0.6,
    "qwen3_1_7b": 1.7,
    "qwen3_4b": 4.0,
    "qwen3_4b_instruct_2507": 4.0,
    "qwen3_8b": 8.2,
    "qwen3_vl_4b_instruct": 4.0,
    "qwen3_vl_8b_instruct": 8.2,
    "intern3_5_vl_2b": 2.0,
    "intern3_5_vl_4b": 4.0,
    "smollm2_1_7b_it": 1.7,
}


@dataclass(frozen=True)
class LanguageEstimate:
    """A language model on a chip: each figure with the interval that holds 80 of 100 models."""

    chip: str
    precision: str
    billions: float
    prompt_tokens: int
    # The likeliest, the lower and the upper end.
    tokens_per_second: tuple[float, float, float]
    first_token_ms: tuple[float, float, float]
    basis: str


def estimate_language_model(billions: float, target: str, prompt_tokens: int = 1024) -> LanguageEstimate:
    """Tokens a second and the time to the first token of a dense decoder with so many billions of weights."""
    if prompt_tokens < 1:
        raise UsageError(f"prompt_tokens is {prompt_tokens}, expected 1 or more")
    smallest, largest = min(_BILLIONS.values()), max(_BILLIONS.values())
    if not smallest / 2 <= billions <= 2 * largest:
        raise UnsupportedFeature(
            f"the model has {billions:.3g} billion weights, public times are of {smallest} to {largest} "
            "billion",
            do="times of other sizes cannot be told from them",
        )
    chip = find_fitted_chip(find_soc(target))
    rates, pieces = _collect("tokens_per_s"), _collect("ttft_min_ms")
    known = [list_chips()[number].name for number in rates]
    if chip is None or chip.soc_model not in rates:
        raise UnsupportedFeature(
            f"there are no public times of language models on '{target}'",
            do=f"chips with such times: {', '.join(known)}",
        )
    number = chip.soc_model
    speed, speed_bounds = float(np.median(list(rates[number].values()))), _find_bounds(rates)
    piece, piece_bounds = float(np.median(list(pieces[number].values()))), _find_bounds(pieces)
    count = math.ceil(prompt_tokens / PIECE)
    return LanguageEstimate(
        chip.name,
        PRECISION,
        billions,
        prompt_tokens,
        _spread(speed / billions, speed_bounds),
        _spread(piece * billions * count, piece_bounds),
        f"{len(rates[number])} language models of qai-hub-models {RELEASE} on {chip.devices[0]}",
    )


def _spread(value: float, bounds: tuple[float, float]) -> tuple[float, float, float]:
    return value, value * math.exp(bounds[0]), value * math.exp(bounds[1])


@cache
def _collect(column: str) -> dict[int, dict[str, float]]:
    """By chip and model: tokens a second times billions of weights, or milliseconds of a piece over them."""
    data = (files("edgewright.estimate") / "_data" / "llm.csv.gz").read_bytes()
    rows = csv.DictReader(io.StringIO(gzip.decompress(data).decode("utf-8")))
    values: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        is_plain = row["precision"] == PRECISION and row["runtime"] in _RUNTIMES and row["context"] == "4096"
        if is_plain and row["model"] in _BILLIONS and float(row[column]) > 0:
            size = _BILLIONS[row["model"]]
            value = float(row[column]) * (size if column == "tokens_per_s" else 1 / size)
            values[int(row["soc_model"])][row["model"]].append(value)
    medians = {
        chip: {model: float(np.median(each)) for model, each in models.items()}
        for chip, models in values.items()
    }
    return {chip: models for chip, models in sorted(medians.items()) if len(models) >= 3}


def _find_bounds(rates: dict[int, dict[str, float]]) -> tuple[float, float]:
    """The interval of models, each predicted by the others on its chip; one vote for each model."""
    models = sorted({model for chip in rates.values() for model in chip})
    residuals = np.full((len(models), len(rates)), np.nan)
    for column, chip in enumerate(rates.values()):
        for model, value in chip.items():
            others = [each for name, each in chip.items() if name != model]
            residuals[models.index(model), column] = math.log(value / float(np.median(others)))
    bounds = find_bounds(residuals)
    assert bounds is not None
    return bounds
