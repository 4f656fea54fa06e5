"""The configuration file of the quantization checker: its keys, joined with the command line."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgewright.analyse.quantization.algorithms import ALGORITHMS as CHECKS
from edgewright.analyse.quantization.algorithms import OF_RESULT, SPELLINGS
from edgewright.artifacts.encodings.comments import without_comments
from edgewright.config.quantization_checker import (
    ALGORITHMS,
    DEFAULTS,
    PLACES,
    VARIATIONS,
    AlgorithmChoice,
    QuantizationCheckConfig,
    QuantizationCheckOptions,
)
from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.words import did_you_mean

_LARGEST_FILE = 1 << 20
_TRAILING = re.compile(rb",(\s*[}\]])")
WORDS = {"true": True, "1": True, "false": False, "0": False, "": False}
TEXTS = {"MODEL_PATH": "model", "INPUT_LIST_PATH": "input_list", "OUTPUT_DIR_PATH": "output_dir"}
TEXTS |= {"QUANTIZATION_OVERRIDES": "overrides"}
WIDTHS = {
    "ACTIVATION_WIDTH": ("activation_width", (8, 16)),
    "BIAS_WIDTH": ("bias_width", (8, 32)),
    "WEIGHT_WIDTH": ("weight_width", (4, 8, 16)),
}
FLAGS = {
    "RUN_IN_REPAIR_MODE": "is_repairing",
    "OUTPUT_CSV": "writes_csv",
    "GENERATE_HISTOGRAM": "draws",
    "PER_CHANNEL_HISTOGRAM": "draws_channels",
}
LISTS = {
    "QUANTIZATION_VARIATIONS": ("variations", VARIATIONS),
    "QUANTIZATION_ALGORITHMS": ("corrections", ALGORITHMS),
}
# What the model itself tells here.
TOLD = ("INPUT_LAYOUT",)


def read_config(options: QuantizationCheckOptions) -> QuantizationCheckConfig:
    """The file's keys with what the command line says before them; all problems at once."""
    path = None if options.config_file is None else Path(options.config_file)
    document = {} if path is None else _parse(path)
    reading = _Reading(str(path))
    values = {name: value for key, item in document.items() for name, value in reading.read_key(key, item)}
    values["idle"] = tuple(key for key in document if key in {*PLACES, *TOLD})
    if reading.problems:
        raise Problems(reading.problems)
    given = {
        "model": options.model,
        "input_list": options.input_list,
        "output_dir": options.output_dir,
        "activation_width": options.activation_width,
        "bias_width": options.bias_width,
        "writes_csv": options.output_csv or None,
        "draws": (options.generate_histogram or options.per_channel_histogram) or None,
        "draws_channels": options.per_channel_histogram or None,
        "skips_generator": options.skip_generator,
        "skips_runner": options.skip_runner,
    }
    values |= {name: value for name, value in given.items() if value is not None}
    if not values.get("model"):
        raise UsageError(
            "no model is named, neither by --model nor by MODEL_PATH",
            do="add --model MODEL, or a --config_file with MODEL_PATH",
        )
    return QuantizationCheckConfig(**values)


def _parse(path: Path) -> dict[str, Any]:
    content = without_comments(read_limited(path, _LARGEST_FILE))
    where = Where(file=str(path))
    try:
        document = parse_json(_TRAILING.sub(rb"\1", content))
    except (ValueError, RecursionError) as problem:
        raise BadInput(
            f"the file is no JSON: {shown(problem)}", where, do="check commas and braces"
        ) from None
    if not isinstance(document, dict):
        raise BadInput(f"the file holds a {type(document).__name__}, expected an object of keys", where)
    return document


class _Reading:
    """Reads keys one by one and keeps what is wrong with them."""

    def __init__(self, file: str) -> None:
        self._where = Where(file=file)
        self.problems: list[EdgewrightError] = []

    def read_key(self, key: str, item: Any) -> list[tuple[str, Any]]:
        """The fields that a key fills."""
        if key in TEXTS:
            return self._read_text(key, item)
        if key in WIDTHS:
            return self._read_width(key, item)
        if key in FLAGS:
            return self._read_flag(key, item)
        if key in LISTS:
            return self._read_list(key, item)
        if key in DEFAULTS:
            return self._read_algorithms(key, item)
        if key not in {*PLACES, *TOLD}:
            known = (*TEXTS, *WIDTHS, *FLAGS, *LISTS, *DEFAULTS, *PLACES, *TOLD)
            self._refuse(f"there is no key '{shown(key)}'", did_you_mean(key, known, "leave it out"))
        return []

    def _read_text(self, key: str, item: Any) -> list[tuple[str, Any]]:
        if not isinstance(item, str) or not item:
            self._refuse(f"{key} is {shown(repr(item))}, expected a path")
            return []
        return [(TEXTS[key], item)]

    def _read_width(self, key: str, item: Any) -> list[tuple[str, Any]]:
        name, widths = WIDTHS[key]
        number = _find_number(item)
        if number not in widths:
            self._refuse(f"{key} is {shown(repr(item))}, expected one of {list(widths)}")
            return []
        return [(name, int(number))]

    def _read_flag(self, key: str, item: Any) -> list[tuple[str, Any]]:
        word = str(item).strip().lower()
        if word not in WORDS:
            self._refuse(f"{key} is {shown(repr(item))}, expected True or False")
            return []
        return [(FLAGS[key], WORDS[word])]

    def _read_list(self, key: str, item: Any) -> list[tuple[str, Any]]:
        name, known = LISTS[key]
        words = [item] if isinstance(item, str) else item
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self._refuse(f"{key} is {shown(repr(item))}, expected a list of names")
            return []
        unknown = [part for word in words for part in word.split("_") if part not in known]
        if unknown:
            self._refuse(
                f"{key} names '{shown(unknown[0])}', expected some of: {', '.join(known)}",
                did_you_mean(unknown[0], known),
            )
            return []
        return [(name, tuple(dict.fromkeys(words)) or ((known[0],) if name == "variations" else ()))]

    def _read_algorithms(self, key: str, item: Any) -> list[tuple[str, Any]]:
        if not isinstance(item, list) or not all(isinstance(each, Mapping) for each in item):
            self._refuse(
                f'{key} is {shown(repr(item))}, expected a list of {{"algo_name": ..., "threshold": ...}}'
            )
            return []
        self._algorithms = {**getattr(self, "_algorithms", {}), key: tuple(map(self._read_choice, item))}
        return [("algorithms", self._algorithms)]

    def _read_choice(self, item: Mapping[str, Any]) -> AlgorithmChoice:
        name = SPELLINGS.get(str(item.get("algo_name")), str(item.get("algo_name")))
        if name.removeprefix(OF_RESULT) not in CHECKS:
            self._refuse(
                f"there is no algorithm '{shown(name)}', expected some of: {', '.join(CHECKS)}",
                did_you_mean(name, CHECKS),
            )
        threshold = item.get("threshold")
        number = _find_number(threshold)
        if threshold is not None and number is None:
            self._refuse(f"the threshold of {shown(name)} is {shown(repr(threshold))}, expected a number")
        return AlgorithmChoice(name, number)

    def _refuse(self, what: str, do: str = "") -> None:
        self.problems.append(UsageError(what, self._where, do=do))


def _find_number(item: Any) -> float | None:
    """The number that stands there, as such or as a text."""
    try:
        number = float(item) if not isinstance(item, bool) and item is not None else None
    except (TypeError, ValueError):
        return None
    return number if number is not None and math.isfinite(number) else None
