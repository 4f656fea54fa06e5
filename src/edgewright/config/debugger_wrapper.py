"""The options of qnn-accuracy-debugger without a feature: all three, one after the other."""

from dataclasses import dataclass

from edgewright.config.accuracy_debugger import (
    DEFAULT_VERIFIERS,
    FRAMEWORK,
    GOLDEN_FOLDER,
    INPUT_TENSORS,
    MODEL_PATH,
    OUTPUT_TENSORS,
)
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.inference_engine import ARCHITECTURE, INPUT_LIST, RUNTIME, EngineQuantizer, EngineRun
from edgewright.config.rules import Check, Given
from edgewright.core.errors import UsageError

ALGORITHMS = ("oneshot-layerwise", "cumulative-layerwise", "layerwise")


def _check_layers(given: Given) -> UsageError | None:
    """Guide 7695: choices of layers are for the layerwise algorithms."""
    named = [option for option in ("--start_layer", "--end_layer", "--model_per_layer") if option in given]
    if not named or "--debugging_algorithm" in given:
        return None
    return UsageError(
        f"option '{named[0]}' is for layerwise and cumulative-layerwise debugging, which was not asked for",
        do=f"add --debugging_algorithm layerwise, or leave {named[0]} out",
    )


@dataclass(frozen=True)
class WrapperModel(OptionGroup):
    """The model, its inputs, and how it is debugged."""

    title = "Debugging"
    rules = (Check(_check_layers),)

    model_path: str = opt(like=MODEL_PATH)
    runtime: str = opt(like=RUNTIME)
    input_list: str = opt(like=INPUT_LIST)
    default_verifier: tuple[tuple[str, ...], ...] = opt(like=DEFAULT_VERIFIERS, required=True)
    debugging_algorithm: str = opt(
        choices=ALGORITHMS,
        default="oneshot-layerwise",
        help="all layers of one run; each layer with golden inputs and what that does to the outputs; each "
        "layer alone (the latter two for ONNX)",
    )
    start_layer: str | None = opt(metavar="NAME", help="the first layer to debug, by its output")
    end_layer: str | None = opt(metavar="NAME", help="the last layer to debug, by its output")
    model_per_layer: bool = opt(
        help="convert, quantize, compile and run a model for each layer, as the SDK does: slow, but it shows "
        "at which stage a layer fails"
    )
    framework: tuple[str, ...] | None = opt(like=FRAMEWORK)
    architecture: str = opt(like=ARCHITECTURE)
    input_tensor: tuple[tuple[str, ...], ...] = opt(like=INPUT_TENSORS)
    output_tensor: tuple[str, ...] = opt(like=OUTPUT_TENSORS)
    golden_output_reference_directory: str | None = opt(
        like=GOLDEN_FOLDER,
        also=("--framework_results", "--golden_directory"),
        help="golden tensors, of a framework or of another run; framework diagnosis is left out",
    )
    inference_results: str | None = opt(
        metavar="FOLDER", help="tensors of an inference that is there already; none is run"
    )
    tensor_mapping: str | None = opt(metavar="FILE", help="the tensor mapping of --inference_results")
    graph_struct: str | None = opt(metavar="FILE", help="the graph structure of --inference_results")
    qnn_model_json_path: str | None = opt(metavar="FILE", help="the _net.json of --inference_results")
    enable_tensor_inspection: bool = opt(help="plots of every layer's output, and ranges in the summary")
    deep_analyzer: str | None = opt(
        choices=("modelDissectionAnalyzer",),
        help="look closer at what differs: layers alone with golden inputs, after a oneshot run",
    )
    engine: tuple[str, ...] | None = opt(
        nargs=(1, 2),
        metavar=("NAME", "[VERSION]"),
        without_effect="there is one engine",
        help="the engine that runs it",
    )

    @property
    def is_cumulative(self) -> bool:
        """Whether each layer's effect on the outputs is measured."""
        return self.debugging_algorithm == "cumulative-layerwise"


WRAPPER: tuple[type[OptionGroup], ...] = (WrapperModel, EngineQuantizer, EngineRun)
