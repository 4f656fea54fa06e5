"""qnn-accuracy-debugger: finds the feature that is asked for and hands over."""

import sys
from collections.abc import Sequence

from edgewright.config.accuracy_debugger import COMPONENTS, Components, DebuggerFolder, VerificationInputs
from edgewright.config.debugger_wrapper import WRAPPER, WrapperModel
from edgewright.config.encoding_comparison import EncodingInputs, InspectionInputs
from edgewright.config.framework_diagnosis import FrameworkModel
from edgewright.config.inference_engine import (
    INFERENCE_ENGINE,
    EngineFiles,
    EngineModel,
    EngineQuantizer,
    EngineRun,
)
from edgewright.tools.tool import Tool

NAME = "qnn-accuracy-debugger"


def run_verification(_component: Components, inputs: VerificationInputs, place: DebuggerFolder) -> None:
    """Compare two folders of tensors."""
    from edgewright.reports.accuracy_debugger import make_verification_page, write_verification_pages
    from edgewright.reports.page import show
    from edgewright.sdk.debugger.verification import verify_folders

    result = verify_folders(inputs, place)
    write_verification_pages(result)
    show(make_verification_page(result))


def run_diagnosis(_component: Components, model: FrameworkModel, place: DebuggerFolder) -> None:
    """Run the model in its framework."""
    from edgewright.reports.page import show
    from edgewright.sdk.debugger.framework_diagnosis import diagnose_framework

    result = diagnose_framework(model, place)
    show([f"{result.tensors} tensors by {result.engine}", f"wrote {result.folder}"])


def run_engine(
    _component: Components,
    model: EngineModel,
    quantizer: EngineQuantizer,
    run: EngineRun,
    files: EngineFiles,
    place: DebuggerFolder,
) -> None:
    """Run the converted model on a backend."""
    from edgewright.core.version import VERSION
    from edgewright.reports.page import show
    from edgewright.sdk.debugger.inference_engine import run_inference
    from edgewright.tools.debugger_words import make_engine_task

    groups = (model, quantizer, run, files, place)
    result = run_inference(make_engine_task(*groups[:4]), place, groups)
    version = [f"edgewright {VERSION}"] if str(files.print_version).lower() == "true" else []
    counted = f"{result.tensors} tensors of {len(result.results)} inputs on {result.backend}"
    show([*version, *result.notes, counted, f"wrote {result.folder}"])


ENGINE = Tool(
    f"{NAME} --inference_engine",
    "Run a model from any stage on a backend and write what every op makes.",
    (Components, *INFERENCE_ENGINE, DebuggerFolder),
    run_engine,
    examples=(
        (
            f"{NAME} --inference_engine -f onnx -m m.onnx -r htp -a x86_64-linux-clang -l inputs.txt",
            "convert, quantize with the inputs and run; writes working_directory/inference_engine/latest",
        ),
        (
            f"{NAME} --inference_engine --stage converted -qmcpp m.cpp -qmbin m.bin -r dspv73 -l inputs.txt",
            "run a converted model on the NPU of architecture v73",
        ),
    ),
)


def run_wrapper(
    _component: Components,
    model: WrapperModel,
    quantizer: EngineQuantizer,
    run: EngineRun,
    place: DebuggerFolder,
) -> None:
    """Run all three features, by the chosen algorithm."""
    from edgewright.reports.accuracy_debugger import make_debugging_page, write_verification_pages
    from edgewright.reports.page import show
    from edgewright.sdk.debugger.wrapper import debug_model
    from edgewright.tools.debugger_words import make_engine_task

    engine = EngineModel(
        runtime=model.runtime,
        input_list=model.input_list,
        architecture=model.architecture,
        model_path=model.model_path,
        framework=model.framework,
        input_tensor=model.input_tensor,
        output_tensor=model.output_tensor,
    )
    task = make_engine_task(engine, quantizer, run, EngineFiles())
    draw = None
    if model.enable_tensor_inspection:
        from edgewright.reports.tensor_plots import TensorPlots

        draw = TensorPlots()
    result = debug_model(model, task, place, (model, quantizer, run, place), draw)
    if result.verification is not None:
        write_verification_pages(result.verification)
    show(make_debugging_page(result))


TOOL = Tool(
    NAME,
    "Find the layers where a model loses accuracy: its framework against a backend, layer by layer.",
    (Components, *WRAPPER, DebuggerFolder),
    run_wrapper,
    examples=(
        (
            f"{NAME} -f onnx -m m.onnx -i x 1,3,8,8 x.raw -r htp -l inputs.txt --default_verifier SQNR",
            "all layers of one run, each compared with the framework's",
        ),
        (
            f"{NAME} --debugging_algorithm layerwise -m m.onnx -i x 8 x -r htp -l l --default_verifier mse",
            "each layer with exact inputs",
        ),
        (f"{NAME} --verification --help", "the options of a feature alone"),
    ),
)


def run_encodings(_component: Components, inputs: EncodingInputs, place: DebuggerFolder) -> None:
    """Compare encodings."""
    from edgewright.reports.accuracy_debugger import make_encodings_page
    from edgewright.reports.page import show
    from edgewright.sdk.debugger.compare_encodings import compare_encoding_files

    show(make_encodings_page(compare_encoding_files(inputs, place)))


def run_inspection(_component: Components, inputs: InspectionInputs, place: DebuggerFolder) -> None:
    """Inspect tensors."""
    from edgewright.reports.accuracy_debugger import make_inspection_page
    from edgewright.reports.page import show
    from edgewright.reports.tensor_plots import TensorPlots
    from edgewright.sdk.debugger.tensor_inspection import inspect_folders

    show(make_inspection_page(inspect_folders(inputs, place, TensorPlots())))


ENCODINGS = Tool(
    f"{NAME} --compare_encodings",
    "Compare the encodings of a converted model with those of AIMET; writes a sheet with mismatches marked.",
    (Components, EncodingInputs, DebuggerFolder),
    run_encodings,
    examples=(
        (
            f"{NAME} --compare_encodings --input m_net.json --aimet_encodings_json m.encodings",
            "writes working_directory/compare_encodings/latest/encodings_diff.xlsx",
        ),
    ),
)
INSPECTION = Tool(
    f"{NAME} --tensor_inspection",
    "Statistics and pictures of the tensors that two folders have under the same names.",
    (Components, InspectionInputs, DebuggerFolder),
    run_inspection,
    examples=(
        (
            f"{NAME} --tensor_inspection --golden_data golden --target_data Result_0 --verifier sqnr",
            "histograms, distributions and differences of every tensor",
        ),
    ),
)
DIAGNOSIS = Tool(
    f"{NAME} --framework_diagnosis",
    "Run a model in its own framework and write what every op makes.",
    (Components, FrameworkModel, DebuggerFolder),
    run_diagnosis,
    examples=(
        (
            f"{NAME} --framework_diagnosis --framework onnx -m m.onnx -i x 1,3,8,8 x.raw",
            "writes working_directory/framework_diagnosis/latest",
        ),
    ),
)
VERIFICATION = Tool(
    f"{NAME} --verification",
    "Compare the tensors of an inference with those of the framework, by one or several verifiers.",
    (Components, VerificationInputs, DebuggerFolder),
    run_verification,
    examples=(
        (
            f"{NAME} --verification --default_verifier SQNR --framework_results gold --inference_results out",
            "what the other two features wrote; --graph_struct tells its axes",
        ),
        (
            f"{NAME} --verification --default_verifier mse --framework_results a --inference_results b",
            "two runs of one model: tensors of the same name are compared",
        ),
    ),
)
# The tool of each feature; the whole where none is named.
TOOLS = {
    "": TOOL,
    "--framework_diagnosis": DIAGNOSIS,
    "--inference_engine": ENGINE,
    "--verification": VERIFICATION,
    "--compare_encodings": ENCODINGS,
    "--tensor_inspection": INSPECTION,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the feature that a flag names, or all three of them."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((flag for flag in COMPONENTS if flag in words), "")
    return TOOLS[chosen].main(words)
