"""The options of qnn-accuracy-debugger that its features share, and those of verification."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Check, Given, OneRequired
from edgewright.core.errors import UsageError

COMPONENTS = (
    *("--framework_diagnosis", "--inference_engine", "--verification"),
    *("--compare_encodings", "--tensor_inspection"),
)
VERIFIER_NAMES = (
    *("RtolAtol", "AdjustedRtolAtol", "TopK", "L1Error", "CosineSimilarity"),
    *("MSE", "MAE", "SQNR", "MeanIOU", "ScaledDiff"),
)
DEFAULT_VERIFIERS = opt(
    "--default_verifier",
    nargs="+",
    type=str,
    repeated=True,
    metavar="VERIFIER[,PARAMETER,VALUE...]",
    example="--default_verifier rtolatol,rtolmargin,0.01,atolmargin,0.01",
    help=f"how tensors are compared: {', '.join(VERIFIER_NAMES)}, with hyper-parameters where wanted; once "
    "for each verifier",
)
MODEL_PATH = opt("--model_path", "-m", metavar="FILE", help="the source model")
FRAMEWORK = opt(
    "--framework",
    "-f",
    nargs=(1, 2),
    metavar=("{onnx,tflite,tensorflow,pytorch}", "[VERSION]"),
    help="the framework of the source model; a version is taken note of, the installed one runs",
)
GOLDEN_FOLDER = opt(
    "--golden_output_reference_directory", metavar="FOLDER", help="tensors of the framework, as raw files"
)
INPUT_TENSORS = opt(
    "--input_tensor",
    "-i",
    nargs=(2, 4),
    type=str,
    repeated=True,
    metavar=("NAME", "DIMS", "FILE", "[DTYPE]"),
    example='--input_tensor "data" 1,3,224,224 data.raw float32',
    help="an input: its name, its dimensions separated by commas, a raw file, its data type; once for each",
)
OUTPUT_TENSORS = opt(
    "--output_tensor",
    "-o",
    fills="outputs",
    repeated=True,
    metavar="NAME",
    help="an output of the model; once for each",
)


def _check_one_component(given: Given) -> UsageError | None:
    chosen = [flag for flag in COMPONENTS if flag in given]
    if len(chosen) <= 1:
        return None
    return UsageError(
        f"options {' and '.join(chosen)} were given together, expected at most one feature",
        do="choose one; without any, framework diagnosis, inference and verification run one after the other",
    )


@dataclass(frozen=True)
class Components(OptionGroup):
    """Which feature runs."""

    title = "Features (none: framework diagnosis, inference engine and verification, one after the other)"
    rules = (Check(_check_one_component),)

    framework_diagnosis: bool = opt(help="all intermediate outputs of the model in its own framework")
    inference_engine: bool = opt(help="all intermediate outputs of the converted model on a backend")
    verification: bool = opt(help="compare the outputs of the two by verifiers")
    compare_encodings: bool = opt(help="compare the encodings of a converted model with those of AIMET")
    tensor_inspection: bool = opt(help="plots and statistics of two folders of tensors")


@dataclass(frozen=True)
class DebuggerFolder(OptionGroup):
    """Where a feature writes, and how much it says."""

    title = "Output"

    working_dir: str = opt(
        also="-w",
        default="working_directory",
        metavar="FOLDER",
        help="results go to FOLDER/FEATURE/TIME, and FOLDER/FEATURE/latest leads to the newest",
    )
    output_dirname: str | None = opt(metavar="NAME", help="the name of that folder in place of the time")
    verbose: bool = opt(also="-v", help="show what happens on the way")

    @property
    def loudness(self) -> str | None:
        """Info with --verbose."""
        return "info" if self.verbose else None


@dataclass(frozen=True)
class VerificationInputs(OptionGroup):
    """The two folders and what is known of their tensors."""

    title = "Verification"
    rules = (OneRequired(("--default_verifier", "--verifier_config")),)

    golden_output_reference_directory: str = opt(
        like=GOLDEN_FOLDER, also="--framework_results", required=True
    )
    inference_results: str = opt(
        metavar="FOLDER", help="tensors of the inference engine, such as output/Result_0"
    )
    default_verifier: tuple[tuple[str, ...], ...] = opt(like=DEFAULT_VERIFIERS, required=False, default=())
    tensor_mapping: str | None = opt(
        metavar="FILE", help="a JSON object from names of the inference to names of the framework"
    )
    verifier_config: str | None = opt(
        metavar="FILE", help="a JSON file with verifiers, their hyper-parameters and their tensors"
    )
    graph_struct: str | None = opt(
        metavar="FILE", help="the structure of the graph, which the inference engine writes"
    )
    qnn_model_json_path: str | None = opt(
        metavar="FILE", help="the model's _net.json; tells the axes and the order of tensors"
    )
    model_path: str | None = opt(
        like=MODEL_PATH, help="the source model, to map the names of its tensors without --tensor_mapping"
    )
    engine: tuple[str, ...] | None = opt(
        also="-e",
        nargs=(1, 2),
        metavar=("NAME", "[VERSION]"),
        without_effect="there is one engine",
        help="the engine that ran the inference",
    )
    framework: tuple[str, ...] | None = opt(
        like=FRAMEWORK, without_effect="the file of the model tells its framework"
    )
