"""Inference schemas: what runs a model in which precision, and all combinations that one of them names."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edgewright.config.params import Params
from edgewright.core.errors import LimitExceeded

QNN = "qnn"
# Engines of frameworks, by the names of the guide, beside qnn.
ENGINES = (QNN, "onnxrt", "tensorflow", "tensorflow-session", "torchscript", "tflite")
PRECISIONS = ("fp32", "fp16", "int8", "quant")
ARCHITECTURES = ("x86_64-linux-clang", "aarch64-android")
HOST = ARCHITECTURES[0]
MOST_COMBINATIONS, LONGEST_NAME = 4096, 120
# The tables of a schema, whose values may be alternatives.
TABLES = ("converter_params", "contextbin_params", "netrun_params", "backend_extensions")
# What minimal mode tries out (guide, qnn-accuracy-evaluator): 4 x 2 x 2 x 2.
MINIMAL_PARAMS: dict[str, tuple[str, ...]] = {
    "param_quantizer": ("tf | symmetric | enhanced | adjusted",),
    "algorithms": ("default | cle",),
    "use_per_channel_quantization": ("True | False",),
    "use_per_row_quantization": ("True | False",),
}
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class InferenceSchema:
    """One way to run the model; tables have texts as they stand in the file."""

    engine: str = QNN
    precision: str = "fp32"
    backend: str = "cpu"
    target_arch: str = HOST
    # The device of another architecture, as the user names it.
    device: str = ""
    tag: str = ""
    is_reference: bool = False
    converter_params: Params = field(default_factory=dict)
    contextbin_params: Params = field(default_factory=dict)
    netrun_params: Params = field(default_factory=dict)
    backend_extensions: Params = field(default_factory=dict)
    # Its place in the list of schemas.
    number: int = 0
    # Keys of the converter that had several values.
    varied: tuple[str, ...] = ()

    @property
    def is_quantized(self) -> bool:
        """Whether its model is in fixed point."""
        return self.precision in {"int8", "quant"}

    @property
    def name(self) -> str:
        """The name of its folder: schema1_qnn_symmetric_cle_pcq."""
        return f"schema{self.number}_{self.engine}_{self._name_option()}"

    def _name_option(self) -> str:
        named = MINIMAL_PARAMS if self.is_quantized else {}
        tables = (getattr(self, name) for name in TABLES)
        values = {key: texts for table in tables for key, texts in table.items()}
        others = [f"{key}_{'_'.join(values[key])}" for key in self.varied if key not in named]
        return _UNFIT.sub("-", "_".join([*self._list_usual_parts(), *others]))[:LONGEST_NAME]

    def _list_usual_parts(self) -> list[str]:
        if self.engine != QNN:
            return [self.precision]
        if not self.is_quantized:
            return [self.backend, self.precision]
        params = self.converter_params
        algorithms = [word for word in _list_words(params, "algorithms") if word != "default"]
        parts = [*_list_words(params, "param_quantizer", "tf"), *algorithms]
        parts += ["pcq"] * is_true(params, "use_per_channel_quantization")
        return parts + ["pqr"] * is_true(params, "use_per_row_quantization")


def is_true(params: Params, key: str) -> bool:
    """Whether a switch is on."""
    return " ".join(_list_words(params, key)).lower() in {"true", "yes", "on", "1"}


def expand_schema(schema: InferenceSchema) -> list[InferenceSchema]:
    """All combinations of values that are written `a | b`, in the order in which they are written."""
    choices = {
        (table, key): _split_choices(texts)
        for table in TABLES
        for key, texts in getattr(schema, table).items()
    }
    count = math.prod(len(options) for options in choices.values())
    if count > MOST_COMBINATIONS:
        raise LimitExceeded(f"a schema stands for {count} combinations, at most {MOST_COMBINATIONS} are run")
    varied = tuple(key for (_, key), options in choices.items() if len(options) > 1)
    return [
        replace(schema, varied=varied, **_fill_tables(choices, chosen))
        for chosen in itertools.product(*choices.values())
    ]


def make_minimal_schemas(base: InferenceSchema, params: Params) -> list[InferenceSchema]:
    """The float model on the CPU, and all 32 combinations of what is run as ``base`` says."""
    searched = replace(base, number=1, converter_params={**MINIMAL_PARAMS, **params})
    return [InferenceSchema(is_reference=True), *expand_schema(searched)]


def _fill_tables(
    choices: Mapping[tuple[str, str], Sequence[tuple[str, ...]]],
    chosen: Sequence[tuple[str, ...]],
) -> dict[str, Any]:
    filled: dict[str, dict[str, tuple[str, ...]]] = {table: {} for table in TABLES}
    for (table, key), texts in zip(choices, chosen, strict=True):
        filled[table][key] = texts
    return {**filled}


def _split_choices(texts: Sequence[str]) -> list[tuple[str, ...]]:
    if len(texts) != 1 or "|" not in texts[0]:
        return [tuple(texts)]
    return [(part.strip(),) for part in texts[0].split("|") if part.strip()]


def _list_words(params: Params, key: str, default: str = "") -> list[str]:
    return list(_iterate_list_words(params.get(key, (default,))))


def _iterate_list_words(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from text.split()
