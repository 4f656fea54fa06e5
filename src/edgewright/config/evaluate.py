"""The options of `edgewright evaluate`."""

from dataclasses import dataclass

from edgewright.config.accuracy_evaluator import COMPARATOR_NAMES
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.quantize import PRECISIONS
from edgewright.config.rules import Excludes
from edgewright.config.sweep import CLUSTER
from edgewright.config.values import make_number_parser, make_range_parser


@dataclass(frozen=True)
class EvaluatedSource(OptionGroup):
    """Which model is meant."""

    title = "Model"

    model: str = opt(
        "MODEL",
        help="a source model (ONNX, PyTorch, TensorFlow, TFLite), or a model configuration (.yaml)",
    )


@dataclass(frozen=True)
class EvaluateOptions(OptionGroup):
    """What is tried out, and how it is compared."""

    title = "Evaluation"

    data: str | None = opt(
        metavar="PATH",
        help="samples: a folder of .npy, .npz or .raw files or of images, an .npz or .npy file of stacked "
        "arrays, or an input list; they calibrate, and outputs are compared on them",
    )
    samples: int = opt(
        type=make_number_parser(1), default=50, metavar="N", help="how many samples are used at most"
    )
    backend: str = opt(
        default="htp-sim",
        metavar="NAME",
        help="what runs the quantized models: htp-sim, htp-native (the emulator, slow), cpu or dspvNN",
    )
    precision: str = opt(
        choices=tuple(name for name, bits in PRECISIONS.items() if bits),
        default="w8a8",
        help="bits of weights and activations",
    )
    comparator: str = opt(choices=COMPARATOR_NAMES, default="avg", help="how outputs are compared")
    tolerance: float | None = opt(
        type=make_range_parser("a number, 0 or more", 0.0),
        metavar="TOLERANCE",
        help="the tolerance of the comparator, see docs/guide/evaluate.md",
    )
    box_input: str | None = opt(
        metavar="FILE",
        help="a JSON file that names the outputs with boxes, classes and scores, for the comparator box",
    )
    fetch_top: int = opt(
        type=make_number_parser(0), default=1, metavar="N", help="list so many inputs that match least"
    )
    folder: str | None = opt(
        "--output_path",
        "-o",
        metavar="FOLDER",
        help="where models, results and tables go; MODEL_evaluation otherwise",
    )


@dataclass(frozen=True)
class EvaluationWorkers(OptionGroup):
    """Who computes, and where results are kept."""

    title = "Where"
    rules = (Excludes("--cluster", "--workers"),)

    workers: int | None = opt(
        type=make_number_parser(0),
        metavar="N",
        help="processes of this machine; one for each core once there is enough to do by default, 0 for none",
    )
    cluster: str | None = opt(like=CLUSTER)
    store: str | None = opt(
        metavar="PLACE",
        example="--store s3://bucket/evaluations",
        help="where results are kept by content: a folder or a URL that all workers reach; .tasks in the "
        "output folder by default",
    )
