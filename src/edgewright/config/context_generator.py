"""The options of qnn-context-binary-generator."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.log_options import LOG_LEVEL
from edgewright.config.model_options import (
    DLC_FILES,
    MODEL_PREFIX,
    OP_PACKAGES,
    OUTPUT_TENSORS,
    check_dlc_library,
)
from edgewright.config.rules import Check, Excludes
from edgewright.config.values import parse_key_values, parse_names

_LEVELS = {"low": 1, "medium": 2, "high": 3, "1": 1, "2": 2, "3": 3}


def _parse_level(text: str) -> int:
    if text.lower() not in _LEVELS:
        raise ValueError("low, medium or high, or 1, 2 or 3")
    return _LEVELS[text.lower()]


@dataclass(frozen=True)
class ContextModel(OptionGroup):
    """What goes into the context, and for which backend."""

    title = "Model and backend"
    rules = (Check(check_dlc_library),)

    models: tuple[str, ...] = opt(
        "--model",
        required=True,
        type=parse_names,
        metavar="FILE",
        help="the converted model: a _net.json, a DLC or a model library; several, separated by commas, go "
        "into one context",
    )
    backend: str = opt(
        metavar="LIB",
        example="--backend libQnnHtp.so",
        help="the backend that the context is for: a QNN library such as libQnnHtp.so, its path, htp-native, "
        "htp-sim or cpu",
    )
    dlc_path: tuple[str, ...] | None = DLC_FILES
    model_prefix: str = MODEL_PREFIX
    op_packages: tuple[str, ...] | None = OP_PACKAGES
    input_list: str | None = opt(
        metavar="FILE",
        without_effect="a converted model is quantized already",
        help="input files, which other tools calibrate with",
    )


@dataclass(frozen=True)
class ContextOutput(OptionGroup):
    """What is written, and which tensors the context gives out."""

    title = "Output"
    rules = (Excludes("--enable_intermediate_outputs", "--set_output_tensors"),)

    binary_file: str | None = opt(
        metavar="NAME", help="the name of the context binary; the model's name otherwise"
    )
    backend_binary: str | None = opt(
        metavar="NAME",
        help="the name of a file for the backend's own form of the context, which is the same here",
    )
    output_dir: str = opt(default="./output", metavar="FOLDER", help="where files are written")
    enable_intermediate_outputs: bool = opt(help="give out what every op makes, not only the outputs")
    set_output_tensors: tuple[tuple[str, tuple[str, ...]], ...] = opt(
        like=OUTPUT_TENSORS,
        help="tensors to give out beside the outputs of the graph; the graph name may be left out",
    )
    input_output_tensor_mem_type: str = opt(
        choices=("raw", "memhandle"),
        default="raw",
        not_built=("memhandle",),
        help="how inputs and outputs are passed",
    )


@dataclass(frozen=True)
class ContextSettings(OptionGroup):
    """How the context is compiled and measured."""

    title = "Settings"

    config_file: str | None = opt(
        metavar="FILE", help="a JSON file with backend extensions, context priority and settings of graphs"
    )
    optimization_level: int | None = opt(
        type=_parse_level,
        metavar="LEVEL",
        example="--optimization_level high",
        help="how long the compiler tries: low, medium or high, or 1 to 3",
    )
    profiling_level: str | None = opt(
        choices=("basic", "detailed", "backend"),
        help="measure the compilation, in total (basic) or each of its steps (detailed)",
    )
    profiling_option: str | None = opt(
        choices=("optrace",),
        help="optrace: also write the schematic of each graph, which traces of a device need",
    )
    platform_options: tuple[tuple[str, str], ...] | None = opt(
        type=parse_key_values,
        metavar="KEY:VALUE[;...]",
        example="--platform_options key0:value0;key1:value1",
        help="options passed to the genuine library as they are",
    )


@dataclass(frozen=True)
class GeneratorLog(OptionGroup):
    """How much the tool says."""

    title = "Messages"

    log_level: str | None = LOG_LEVEL
    verbose: bool = opt(help="show all messages")

    @property
    def loudness(self) -> str | None:
        """The level of --log_level, or verbose with --verbose."""
        return self.log_level or ("verbose" if self.verbose else None)


CONTEXT_GENERATOR: tuple[type[OptionGroup], ...] = (
    ContextModel,
    ContextOutput,
    ContextSettings,
    GeneratorLog,
)
