"""The options of qnn-quantization-checker, and the keys of its configuration file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup

VARIATIONS = ("tf", "enhanced", "adjusted", "symmetric")
ALGORITHMS = ("cle", "pcq", "bc")
# What the guide's sample has; of weights and biases, of activations, of data that is not quantized yet.
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "WEIGHT_COMPARISON_ALGORITHMS": ("minmax", "maxdiff", "sqnr"),
    "BIAS_COMPARISON_ALGORITHMS": ("minmax", "maxdiff", "sqnr"),
    "ACT_COMPARISON_ALGORITHMS": (
        "minmax",
        "maxdiff",
        "sqnr",
        "data_range_analyzer",
        "data_distribution_analyzer",
    ),
    "INPUT_DATA_ANALYSIS_ALGORITHMS": ("stats",),
}
# Places of programs that the SDK's tool starts; nothing is started here.
PLACES = (
    *("CLANG_PATH", "BASH_PATH", "BIN_PATH", "PY3_PATH", "TENSORFLOW_HOME", "TFLITE_HOME", "ONNX_HOME"),
)


@dataclass(frozen=True)
class QuantizationCheckOptions(OptionGroup):
    """The model, its inputs, and what is written."""

    title = "Quantization check"

    config_file: str | None = opt(
        metavar="FILE", help="a JSON file with the options by their keys; the command line comes before it"
    )
    model: str | None = opt(
        metavar="PATH", help="a model of any framework, or a folder of models (MODEL_PATH)"
    )
    input_list: str | None = opt(
        metavar="FILE",
        help="a list of input files; in a folder of models, each may have one beside it (INPUT_LIST_PATH)",
    )
    activation_width: int | None = opt(choices=(8, 16), help="bits of activations; 8 (ACTIVATION_WIDTH)")
    bias_width: int | None = opt(choices=(8, 32), help="bits of biases; 8 (BIAS_WIDTH)")
    output_dir: str | None = opt(
        metavar="FOLDER",
        help="where results go: html, csv, qnn-quantization-checker-log, models and float activations; "
        "quantization_checker without it (OUTPUT_DIR_PATH)",
    )
    skip_building_model: bool = opt(
        without_effect="models are run as graphs, no library is built",
        help="build no model library: none is needed here",
    )
    skip_generator: bool = opt(help="take the converted models that an earlier run left in the output folder")
    skip_runner: bool = opt(help="take the float activations that an earlier run left in the output folder")
    generate_histogram: bool = opt(help="draw histograms of weights and biases (GENERATE_HISTOGRAM)")
    per_channel_histogram: bool = opt(help="draw one for each channel as well")
    output_csv: bool = opt(help="write the results as CSV too (OUTPUT_CSV)")


@dataclass(frozen=True)
class AlgorithmChoice:
    """An algorithm by name; None: its own threshold."""

    name: str
    threshold: float | None = None


@dataclass(frozen=True)
class QuantizationCheckConfig:
    """Everything that a check needs, from the file and the command line."""

    model: str
    input_list: str | None = None
    output_dir: str = "quantization_checker"
    activation_width: int = 8
    bias_width: int = 8
    weight_width: int = 8
    overrides: str | None = None
    algorithms: Mapping[str, tuple[AlgorithmChoice, ...]] | None = None
    variations: tuple[str, ...] = VARIATIONS
    corrections: tuple[str, ...] = ("cle", "pcq")
    is_repairing: bool = False
    writes_csv: bool = False
    draws: bool = False
    draws_channels: bool = False
    skips_generator: bool = False
    skips_runner: bool = False
    # Keys that change nothing here.
    idle: tuple[str, ...] = ()

    def list_algorithms(self, key: str) -> tuple[AlgorithmChoice, ...]:
        """Those of a key, as given or as they are without it."""
        given: Any = (self.algorithms or {}).get(key)
        return tuple(AlgorithmChoice(name) for name in DEFAULTS[key]) if given is None else given

    @property
    def variants(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Every combination: its name, how ranges are chosen, what is corrected."""
        parts = [(), *(tuple(word.split("_")) for word in self.corrections)]
        return {"_".join((how, *part)): (how, tuple(part)) for how in self.variations for part in parts}
