"""The options of the accuracy debugger as those of the tools that it stands for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from edgewright.config.inference_engine import EngineFiles, EngineModel, EngineQuantizer, EngineRun
from edgewright.core.errors import UsageError, shown

if TYPE_CHECKING:
    from edgewright.sdk.converter import ConverterOptions
    from edgewright.sdk.debugger.inference_engine import EngineTask

# Options are read with it; the job puts the real folder and files there.
PLACEHOLDER = "MODEL"
FLOAT_RUNTIMES = frozenset({"cpu", "gpu"})


def make_engine_task(
    model: EngineModel, quantizer: EngineQuantizer, run: EngineRun, files: EngineFiles
) -> "EngineTask":
    """The converter, the context generator and net-run, each with its own options read by its own rules."""
    from edgewright.config.context import Target
    from edgewright.config.context_generator import CONTEXT_GENERATOR
    from edgewright.config.group import collect_groups
    from edgewright.config.net_run import NET_RUN, NET_RUN_RULES
    from edgewright.run.remote.address import choose_device
    from edgewright.sdk.context_generate import GeneratorOptions
    from edgewright.sdk.debugger.inference_engine import EngineTask, find_engine_backend
    from edgewright.sdk.net_run import NetRunOptions
    from edgewright.tools.command_line import read_words

    backend = find_engine_backend(model.runtime)
    context = None
    if run.offline_prepare:
        words = list(_list_generator_words(run, backend))
        context = collect_groups(GeneratorOptions, read_words(words, (*CONTEXT_GENERATOR, Target), ()))
    words = list(_list_net_run_words(model, run, backend))
    return EngineTask(
        runtime=model.runtime,
        stage=model.stage,
        converter=_read_converter(model, quantizer) if model.stage == "source" else None,
        context=context,
        net_run=replace(
            collect_groups(NetRunOptions, read_words(words, NET_RUN, NET_RUN_RULES)),
            device=choose_device(model.architecture, files.deviceId),
        ),
        files=_list_model_files(model),
        golden=model.golden_output_reference_directory,
        name=files.model_name,
        library=(files.lib_name, files.binaries_dir) if files.lib_name or files.binaries_dir else None,
        choice=run,
    )


def _read_converter(model: EngineModel, quantizer: EngineQuantizer) -> "ConverterOptions":
    from edgewright.config.group import collect_groups
    from edgewright.config.onnx import ONNX_CONVERTER
    from edgewright.config.pytorch import PYTORCH_CONVERTER
    from edgewright.config.tensorflow import TENSORFLOW_CONVERTER
    from edgewright.config.tflite import TFLITE_CONVERTER
    from edgewright.frontends.framework import Framework
    from edgewright.sdk.converter import ConverterOptions
    from edgewright.sdk.debugger.framework_diagnosis import check_framework
    from edgewright.tools.command_line import read_words

    assert model.model_path is not None
    framework = check_framework(model.model_path, model.framework)
    groups = {
        Framework.ONNX: ONNX_CONVERTER,
        Framework.TFLITE: TFLITE_CONVERTER,
        Framework.TENSORFLOW: TENSORFLOW_CONVERTER,
        Framework.PYTORCH: PYTORCH_CONVERTER,
    }[framework]
    words = list(_list_converter_words(model, quantizer))
    if framework in {Framework.ONNX, Framework.PYTORCH}:
        # One raw file serves the framework and the engine: both read it in the source's layout.
        words += ["--preserve_io", "layout"]
    words += _list_extra_words("--extra_converter_args", quantizer.extra_converter_args)
    return collect_groups(ConverterOptions, read_words(words, groups, ()))


def _list_converter_words(model: EngineModel, quantizer: EngineQuantizer) -> Iterator[str]:
    yield from ("--input_network", str(model.model_path), "--output_path", PLACEHOLDER)
    for name in model.output_tensor:
        yield from ("--out_node", name)
    for entry in model.input_tensor:
        yield from ("--input_dim", entry[0], entry[1])
    is_half = quantizer.precision == "fp16"
    is_fixed = quantizer.precision == "int8" or quantizer.quantization_overrides
    yield from ("--float_bw", "16" if is_half else str(quantizer.float_bitwidth))
    if quantizer.float_bias_bitwidth is not None:
        yield from ("--float_bias_bw", str(quantizer.float_bias_bitwidth))
    if is_half or (model.runtime in FLOAT_RUNTIMES and not is_fixed):
        return
    yield from ("--input_list", model.input_list)
    yield from ("--act_bw", str(quantizer.act_bitwidth), "--bias_bw", str(quantizer.bias_bitwidth))
    yield from (
        "--weight_bw",
        str(quantizer.weights_bitwidth),
        "--param_quantizer",
        quantizer.param_quantizer,
    )
    yield from ("--act_quantizer", quantizer.act_quantizer)
    if quantizer.algorithms:
        yield from ("--algorithms", *quantizer.algorithms)
    if quantizer.quantization_overrides is not None:
        yield from ("--quantization_overrides", quantizer.quantization_overrides)
    if quantizer.restrict_quantization_steps is not None:
        low, high = quantizer.restrict_quantization_steps
        yield from ("--restrict_quantization_steps", f"{low:#x} {high:#x}")
    yield from ["--ignore_encodings"] * quantizer.ignore_encodings
    yield from ["--use_per_channel_quantization"] * quantizer.per_channel_quantization


def _list_generator_words(run: EngineRun, backend: str) -> Iterator[str]:
    yield from ("--model", PLACEHOLDER, "--backend", backend)
    if run.compiler_config is not None:
        yield from ("--config_file", run.compiler_config)
    yield from _list_extra_words("--extra_contextbin_args", run.extra_contextbin_args)


def _list_net_run_words(model: EngineModel, run: EngineRun, backend: str) -> Iterator[str]:
    yield from ("--model", PLACEHOLDER, "--backend", backend, "--input_list", model.input_list)
    yield from ["--use_native_input_files"] * (run.use_native_input_files or run.input_data_type == "native")
    yield from ["--use_native_output_files"] * run.use_native_output_files
    yield from ("--output_data_type", run.output_data_type, "--perf_profile", run.perf_profile)
    if run.profiling_level is not None:
        yield from ("--profiling_level", run.profiling_level)
    if run.qnn_netrun_config_file is not None:
        yield from ("--config_file", run.qnn_netrun_config_file)
    yield from _list_extra_words("--extra_runtime_args", run.extra_runtime_args)


def _list_extra_words(option: str, text: str | None) -> list[str]:
    """The words of 'name=value value;name=value'; a name alone is a switch."""
    words: list[str] = []
    for part in (text or "").split(";"):
        name, _, values = part.strip().partition("=")
        if not name and values:
            raise UsageError(
                f"{option} has '{shown(part)}', expected NAME=VALUE",
                do="separate options by semicolons, and write them without dashes",
            )
        if name:
            words += [f"--{name.strip().lstrip('-')}", *values.split()]
    return words


def _list_model_files(model: EngineModel) -> Sequence[str]:
    """The files of a later stage: .cpp, .bin and _net.json, or a library and a _net.json."""
    if model.stage == "source":
        return ()
    first = model.qnn_model_cpp_path if model.stage == "converted" else model.qnn_model_binary_path
    return (str(first), model.qnn_model_bin_path or "", model.qnn_model_net_json or "")
