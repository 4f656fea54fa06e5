"""The options of the inference engine, a feature of qnn-accuracy-debugger."""

from dataclasses import dataclass

from edgewright.config.accuracy_debugger import (
    FRAMEWORK,
    GOLDEN_FOLDER,
    INPUT_TENSORS,
    MODEL_PATH,
    OUTPUT_TENSORS,
)
from edgewright.config.algorithms import ALGORITHMS
from edgewright.config.declare import opt
from edgewright.config.encoding_options import RESTRICTED_STEPS
from edgewright.config.group import OptionGroup
from edgewright.config.log_options import LOG_LEVEL
from edgewright.config.net_run import PERF_PROFILES
from edgewright.config.rules import Check, Given
from edgewright.config.values import parse_names
from edgewright.core.errors import UsageError

# The words that name an architecture of the NPU; the older DSPs exist on devices only.
RUNTIMES = (
    *("cpu", "gpu", "dsp", "dspv65", "dspv66", "dspv68", "dspv69", "dspv73", "dspv75", "dspv79"),
    *("htp", "htp-sim", "htp-native"),
)
ARCHITECTURES = ("x86_64-linux-clang", "aarch64-android", "aarch64-android-clang6.0")
_QUANTIZERS = ("tf", "enhanced", "adjusted", "symmetric")
RUNTIME = opt(
    "--runtime",
    "-r",
    choices=RUNTIMES,
    help="what runs the model: cpu, gpu (float models), htp (the emulator where it is installed, else the "
    "simulation), htp-sim, htp-native, or dspvNN for the NPU of that architecture",
)
ARCHITECTURE = opt(
    "--architecture",
    "-a",
    choices=ARCHITECTURES,
    default="x86_64-linux-clang",
    help="the machine that runs it: this one, or a device behind adb or ssh (--deviceId)",
)
INPUT_LIST = opt(
    "--input_list",
    "-l",
    metavar="FILE",
    help="a text file with one set of input files a line, in the layout of the source; they also calibrate",
)
EXTRA = opt(metavar="'NAME=VALUE;NAME=VALUE'")


def _check_stage(given: Given) -> UsageError | None:
    needed = {
        "source": "--model_path",
        "converted": "--qnn_model_cpp_path",
        "compiled": "--qnn_model_binary_path",
    }
    stage = given.get("--stage", "source")
    if stage not in needed or needed[stage] in given:
        return None
    return UsageError(
        f"stage '{stage}' needs '{needed[stage]}', which was not given", do=f"add {needed[stage]} FILE"
    )


@dataclass(frozen=True)
class EngineModel(OptionGroup):
    """What is run, from which stage on."""

    title = "Inference engine"
    rules = (Check(_check_stage),)

    runtime: str = opt(like=RUNTIME)
    input_list: str = opt(like=INPUT_LIST)
    stage: str = opt(
        choices=("source", "converted", "compiled"),
        default="source",
        help="what is given: a model of a framework, a converted model (.cpp, .bin), a model library (.so)",
    )
    architecture: str = opt(like=ARCHITECTURE)
    model_path: str | None = opt(like=MODEL_PATH)
    framework: tuple[str, ...] | None = opt(like=FRAMEWORK)
    input_tensor: tuple[tuple[str, ...], ...] = opt(like=INPUT_TENSORS)
    output_tensor: tuple[str, ...] = opt(like=OUTPUT_TENSORS)
    qnn_model_cpp_path: str | None = opt(also="-qmcpp", metavar="FILE", help="the converted model's .cpp")
    qnn_model_bin_path: str | None = opt(also="-qmbin", metavar="FILE", help="the converted model's .bin")
    qnn_model_binary_path: str | None = opt(
        also=("--qnn_model_binary", "-qmb"), metavar="FILE", help="the model library"
    )
    qnn_model_net_json: str | None = opt(
        metavar="FILE", help="the converted model's _net.json, where it is not beside its .cpp"
    )
    golden_output_reference_directory: str | None = opt(
        like=GOLDEN_FOLDER,
        also="--golden_dir_for_mapping",
        help="tensors of the framework, to map names where there is no source model",
    )


@dataclass(frozen=True)
class EngineQuantizer(OptionGroup):
    """How the source is quantized; for the NPU it is, unless --precision fp16 is given."""

    title = "Quantization, at the stage source"

    precision: str | None = opt(
        choices=("int8", "fp16"), help="fixed point with the widths below, or half precision"
    )
    act_bitwidth: int = opt(also="-abw", choices=(8, 16), default=8, help="bits of activations")
    bias_bitwidth: int = opt(also="-bbw", choices=(8, 32), default=8, help="bits of biases")
    weights_bitwidth: int = opt(also="-wbw", choices=(8, 4, 16), default=8, help="bits of weights")
    float_bitwidth: int = opt(choices=(32, 16), default=32, help="bits of what stays in floating point")
    float_bias_bitwidth: int | None = opt(also="-fbw", choices=(32, 16), help="bits of float biases")
    param_quantizer: str = opt(
        also="-pq", choices=_QUANTIZERS, default="tf", help="how ranges of weights are chosen"
    )
    act_quantizer: str = opt(
        choices=(*_QUANTIZERS, "auto"), default="tf", help="how ranges of activations are chosen"
    )
    algorithms: tuple[str, ...] = opt(choices=tuple(ALGORITHMS), help="corrections of weights, such as cle")
    quantization_overrides: str | None = opt(also="-qo", metavar="FILE", help="encodings that are given")
    ignore_encodings: bool = opt(help="compute all encodings, leaving out those of the model")
    per_channel_quantization: bool = opt(help="one encoding for each output channel of convolutions")
    restrict_quantization_steps: tuple[int, int] | None = opt(like=RESTRICTED_STEPS, also="-rqs")
    extra_converter_args: str | None = opt(
        like=EXTRA, help="more options of the converter, without dashes, as in 'input_layout=data NCHW'"
    )


@dataclass(frozen=True)
class EngineRun(OptionGroup):
    """How the model is compiled and run."""

    title = "Running"

    offline_prepare: bool = opt(help="compile a context binary first and run that")
    debug_mode_off: bool = opt(help="write the outputs of the model only, not those of every op")
    use_native_input_files: bool = opt(also="-nif", help="input files hold the data types of the graph")
    use_native_output_files: bool = opt(also="-nof", help="output files hold the data types of the graph")
    input_data_type: str = opt(
        also="-idt", choices=("float", "native"), default="float", help="another spelling of -nif"
    )
    output_data_type: str = opt(
        also="-odt",
        choices=("float_only", "native_only", "float_and_native"),
        default="float_only",
        help="what output files hold",
    )
    profiling_level: str | None = opt(
        choices=("basic", "detailed", "backend"), help="measure the run, and each op with detailed"
    )
    perf_profile: str = opt(choices=PERF_PROFILES, default="default", help="the performance profile")
    qnn_netrun_config_file: str | None = opt(metavar="FILE", help="the --config_file of qnn-net-run")
    compiler_config: str | None = opt(
        metavar="FILE", help="the --config_file of qnn-context-binary-generator, with --offline_prepare"
    )
    extra_contextbin_args: str | None = opt(like=EXTRA, help="more options of qnn-context-binary-generator")
    extra_runtime_args: str | None = opt(like=EXTRA, help="more options of qnn-net-run")
    add_layer_outputs: tuple[str, ...] = opt(
        type=parse_names, metavar="NAME[,...]", help="write these tensors only, beside the outputs"
    )
    add_layer_types: tuple[str, ...] = opt(
        type=parse_names, metavar="TYPE[,...]", help="write what ops of these types make only"
    )
    skip_layer_types: tuple[str, ...] = opt(
        type=parse_names, metavar="TYPE[,...]", help="leave out what ops of these types make"
    )
    skip_layer_outputs: tuple[str, ...] = opt(
        type=parse_names, metavar="NAME[,...]", help="leave out these tensors"
    )


@dataclass(frozen=True)
class EngineFiles(OptionGroup):
    """Names of what is written, and options about the machine."""

    title = "Files and machine"

    model_name: str = opt(
        also=("-qmn", "-mn"), default="model", metavar="NAME", help="name of the model's files"
    )
    lib_name: str | None = opt(metavar="NAME", help="compile a model library of this name and run it")
    binaries_dir: str | None = opt(
        also="-bd", metavar="FOLDER", help="where model libraries go; compiles one, which is run"
    )
    engine_path: str | None = opt(
        also="-p", metavar="FOLDER", without_effect="the engine is this one", help="path of an SDK"
    )
    engine_version: str | None = opt(
        metavar="VERSION", without_effect="the engine is this one", help="version of an SDK"
    )
    engine: tuple[str, ...] | None = opt(
        nargs=(1, 2),
        metavar=("NAME", "[VERSION]"),
        without_effect="there is one engine",
        help="the engine that runs it",
    )
    print_version: str | None = opt(metavar="{true,false}", help="name the version with the results")
    deviceId: str | None = opt(  # noqa: N815 - the guide's spelling
        metavar="SERIAL",
        help="the device of --architecture aarch64-android: its serial number in adb (the first of the list "
        "without it), or an address such as ssh://USER@HOST",
    )
    host_device: str = opt(choices=("x86",), default="x86", help="the machine that converts")
    default_verifier: tuple[tuple[str, ...], ...] = opt(
        nargs="+",
        type=str,
        repeated=True,
        metavar="VERIFIER",
        without_effect="nothing is compared here; --verification does",
        help="verifiers of the wrapper",
    )
    log_level: str | None = opt(like=LOG_LEVEL)

    @property
    def loudness(self) -> str | None:
        """The level of --log_level."""
        return self.log_level


INFERENCE_ENGINE: tuple[type[OptionGroup], ...] = (EngineModel, EngineQuantizer, EngineRun, EngineFiles)
