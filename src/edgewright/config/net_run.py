"""The options of qnn-net-run."""

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
from edgewright.config.rules import Check, Excludes, Needs, OneRequired, Rule, WithoutEffect
from edgewright.config.values import make_number_parser, parse_key_values, parse_names, parse_seconds

PERF_PROFILES = (
    *("low_balanced", "balanced", "default", "high_performance", "sustained_high_performance", "burst"),
    *("low_power_saver", "power_saver", "high_power_saver", "extreme_power_saver", "system_settings"),
)

# What computes for the CPU backend; auto measures the first two.
ENGINES = ("onnxruntime", "openvino", "openvino-bf16", "auto")
ENGINE = opt(
    choices=ENGINES,
    default=ENGINES[0],
    help="what computes for the CPU backend: onnxruntime, openvino (in f32; openvino-bf16 has 8 bits in "
    "products), or auto, which measures the two and takes the faster",
)


def choose_threads(profile: str, cores: int) -> int:
    """The threads that a performance profile leaves to an engine on the processor; 0 is its own choice."""
    if profile.endswith("power_saver"):
        return 1
    return max(cores // 2, 1) if profile == "low_balanced" else 0


@dataclass(frozen=True)
class Model(OptionGroup):
    """What is run, and on what."""

    title = "Model and backend"
    rules = (
        OneRequired(("--model", "--retrieve_context")),
        Excludes("--model", "--retrieve_context"),
        Needs("--retrieve_context_timeout", "--retrieve_context"),
        Needs("--use_mmap", "--retrieve_context"),
        Needs("--validate_binary", "--retrieve_context"),
        Excludes("--allow_cpu_ops", "--retrieve_context"),
        Check(check_dlc_library),
    )

    backend: str = opt(
        metavar="LIB",
        example="--backend libQnnCpu.so",
        help="the backend to run on: a QNN library such as libQnnCpu.so or QnnCpu.dll, its path, or cpu",
    )
    engine: str = ENGINE
    allow_cpu_ops: bool = opt(help="run on the CPU what the backend lacks, and say what ran where")
    models: tuple[str, ...] | None = opt(
        "--model", type=parse_names, metavar="FILE", help="the model to run, several separated by commas"
    )
    retrieve_context: str | None = opt(metavar="FILE", help="a context binary to run in place of a model")
    dlc_path: tuple[str, ...] | None = DLC_FILES
    model_prefix: str = MODEL_PREFIX
    op_packages: tuple[str, ...] | None = OP_PACKAGES
    config_file: str | None = opt(metavar="FILE", help="a JSON file with backend, context and graph settings")
    platform_options: tuple[tuple[str, str], ...] | None = opt(
        type=parse_key_values,
        metavar="KEY:VALUE[;...]",
        example="--platform_options key0:value0;key1:value1",
        help="options passed to the genuine library as they are",
    )
    use_mmap: bool = opt(help="map the context binary into memory")
    validate_binary: bool = opt(help="check the context binary first, as is always done here")
    retrieve_context_timeout: int | None = opt(
        metavar="MICROSECONDS", help="give up loading the context after this time; 0 waits for ever"
    )


@dataclass(frozen=True)
class InputFiles(OptionGroup):
    """Where the inputs come from and how their files are read."""

    title = "Inputs"
    rules = (
        Excludes("--use_native_input_files", "--native_input_tensor_names"),
        Excludes("--max_input_cache_tensor_sets", "--max_input_cache_size_mb"),
    )

    input_list: tuple[str, ...] = opt(
        required=True,
        type=parse_names,
        metavar="FILE",
        help="a text file with one set of input files a line; one for each graph, separated by commas, "
        "__ (two underscores) for a graph to skip",
    )
    use_native_input_files: bool = opt(
        help="input files hold the data types of the graph; all float32 otherwise"
    )
    native_input_tensor_names: tuple[str, ...] | None = opt(
        type=parse_names,
        metavar="NAME[,...]",
        help="the inputs whose files hold the data type of the graph; the others float32",
    )
    input_data_type: str = opt(
        choices=("float", "native"),
        default="float",
        help="another spelling: native is --use_native_input_files",
    )
    batch_multiplier: int | None = opt(
        type=make_number_parser(1),
        metavar="N",
        help="multiply the batch of inputs and outputs at execution; the graph keeps its own",
    )
    max_input_cache_tensor_sets: int | None = opt(
        type=make_number_parser(-1),
        metavar="N",
        help="keep at most so many input sets in memory, -1 for all; otherwise files are read each time",
    )
    max_input_cache_size_mb: int | None = opt(
        metavar="MB", help="keep at most so much of the inputs in memory"
    )

    def is_native(self, name: str) -> bool:
        """Whether the files of this input hold the data type of the graph."""
        if self.use_native_input_files or self.input_data_type == "native":
            return True
        return self.native_input_tensor_names is not None and name in self.native_input_tensor_names


@dataclass(frozen=True)
class OutputFiles(OptionGroup):
    """Which outputs are written, where and how."""

    title = "Outputs"
    rules = (Excludes("--debug", "--set_output_tensors"),)

    output_dir: str = opt(default="./output", metavar="FOLDER", help="where the outputs are written")
    use_native_output_files: bool = opt(
        help="output files hold the data types of the graph; all float32 otherwise"
    )
    output_data_type: str = opt(
        choices=("float_only", "native_only", "float_and_native"),
        default="float_only",
        help="another spelling: native_only is --use_native_output_files; float_and_native writes both",
    )
    debug: bool = opt(help="write the outputs of every op, not only those of the graph")
    set_output_tensors: tuple[tuple[str, tuple[str, ...]], ...] = OUTPUT_TENSORS
    keep_num_outputs: int | None = opt(metavar="N", help="write the outputs of the first N runs only")

    @property
    def forms(self) -> tuple[bool, ...]:
        """The files of each output: whether they hold the data type of the graph, or float32."""
        if self.output_data_type == "float_and_native":
            return (False, True)
        return (self.use_native_output_files or self.output_data_type == "native_only",)


@dataclass(frozen=True)
class Execution(OptionGroup):
    """How often and in which way the graph is executed."""

    title = "Execution"

    num_inferences: int | None = opt(
        type=make_number_parser(1), metavar="N", help="run N times, over the inputs again if need be"
    )
    duration: float | None = opt(
        type=parse_seconds, metavar="SECONDS", help="run for this time, over the inputs again if need be"
    )
    synchronous: bool = opt(help="execute one after the other, even where --config_file asks for a queue")
    perf_profile: str = opt(
        choices=PERF_PROFILES,
        default="default",
        metavar="PROFILE",
        help="how much of the processor is used: one thread by profiles that save power, half of the cores "
        f"by low_balanced, all by the others; one of {', '.join(PERF_PROFILES)}",
    )
    shared_buffer: bool = opt(
        help="keep inputs and outputs in memory that is shared with the process of the backend"
    )
    timeout: int | None = opt(
        metavar="MICROSECONDS", help="give up an execution after this time; 0 waits for ever"
    )


@dataclass(frozen=True)
class Profiling(OptionGroup):
    """What is measured."""

    title = "Profiling"
    rules = (
        Needs("--graph_profiling_num_executions", "--graph_profiling_start_delay"),
        WithoutEffect(("--graph_profiling_start_delay",), ("--profiling_level",)),
    )

    profiling_level: str | None = opt(
        choices=("basic", "detailed", "client", "backend"),
        help="measure set-up and execution (basic), each op (detailed), what the backend has besides "
        "(backend), or only what the tool sees (client)",
    )
    profiling_option: str | None = opt(
        choices=("optrace",), help="optrace is refused: only libraries on a device trace a run"
    )
    graph_profiling_start_delay: float | None = opt(
        type=parse_seconds, metavar="SECONDS", help="begin to measure so long after the first execution"
    )
    graph_profiling_num_executions: int | None = opt(
        type=make_number_parser(1), metavar="N", help="measure at most so many executions"
    )


@dataclass(frozen=True)
class NetRunLog(OptionGroup):
    """How much the tool says."""

    title = "Messages"

    log_level: str | None = opt(
        like=LOG_LEVEL,
        help="the least grave messages to show; debug and verbose show tracebacks too",
    )

    @property
    def loudness(self) -> str | None:
        """The level of --log_level."""
        return self.log_level


NET_RUN: tuple[type[OptionGroup], ...] = (Model, InputFiles, OutputFiles, Execution, Profiling, NetRunLog)
NET_RUN_RULES: tuple[Rule, ...] = (
    Excludes("--debug", "--retrieve_context"),
    Excludes("--set_output_tensors", "--retrieve_context"),
)
