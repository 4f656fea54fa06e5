"""The options of `edgewright build`."""

import math
import re
from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.quantize import PRECISIONS
from edgewright.config.rules import Check, Excludes, Given
from edgewright.config.values import make_number_parser, make_range_parser
from edgewright.core.errors import UsageError

AUTO = "auto"
# What `auto` takes of the precisions that keep the limit.
CHEAPEST, FASTEST = "cheapest", "fastest"
# What a build may take where nothing is said, in seconds.
TIME_LIMIT = 600.0
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
METRICS = (
    "right-answers",
    "same-answers",
    "top-5",
    "closeness",
    "sqnr",
    "cosine",
    "mean-absolute-error",
    "iou",
    "box-iou",
    "map",
    "wer",
    "cer",
    "perplexity",
)
# Those that take more, as in wer:alphabet.txt or map:cxcywh.
WITH_DETAILS = ("box-iou", "map", "wer", "cer")
_TOP = re.compile(r"top-[1-9]\d{0,5}")


_percentage = make_range_parser("points of a percentage from 0 to 100, as in 1%", 0, 100)


def parse_points(text: str) -> float:
    """Points of a percentage: 1, 1% or 0.5 %."""
    value: float = _percentage(text.strip().removesuffix("%"))
    return value


def parse_duration(text: str) -> float:
    """Seconds of a time with its unit: 90s, 10m, 1.5h; infinite for none."""
    word = text.strip().lower()
    if word == "none":
        return math.inf
    try:
        seconds = float(word[:-1]) * UNITS[word[-1:]]
    except (ValueError, KeyError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError("expected a time with its unit, as in 10m, 90s or 1.5h; or none")
    return seconds


def split_metric(text: str) -> dict[str, str]:
    """Names of metrics by output, as in boxes=closeness,scores=top-3; by '' where there is one for all."""
    if "=" not in text:
        return {"": text}
    pairs = [part.rpartition("=") for part in text.split(",")]
    return {output.strip(): name.strip() for output, _, name in pairs}


def is_metric(name: str) -> bool:
    """Whether it is the name of a metric, or a function of the user's own: FILE.py:FUNCTION."""
    path, _, function = name.rpartition(":")
    is_own = path.endswith(".py") and function.isidentifier()
    has_details = name.partition(":")[0] in WITH_DETAILS
    return name in METRICS or bool(_TOP.fullmatch(name)) or is_own or has_details


def parse_metric(text: str) -> str:
    """A metric, or one for each of some outputs."""
    if text == AUTO or all(map(is_metric, split_metric(text).values())):
        return text
    raise ValueError(
        f"expected one of {', '.join((AUTO, *METRICS))}, top-K, or FILE.py:FUNCTION; OUTPUT=NAME,OUTPUT=NAME "
        "for outputs of different kinds"
    )


def _check_data(given: Given) -> UsageError | None:
    if "--data" in given or "--random-data" in given:
        return None
    return UsageError(
        "option '--data' is missing, calibration and evaluation need samples",
        do="add --data FOLDER, --data samples.npz or --data list.txt; --random-data does without, for a "
        "first try that says nothing about accuracy",
    )


@dataclass(frozen=True)
class BuildData(OptionGroup):
    """What the model is calibrated and evaluated on."""

    title = "Data"
    rules = (
        Check(_check_data),
        Excludes("--data", "--random-data"),
        Excludes("--eval-data", "--random-data"),
    )

    data: str | None = opt(
        metavar="PATH",
        help="samples: a folder of .npy, .npz or .raw files, of images or of .wav audio, an .npz or .npy "
        "file of stacked arrays, a .csv of numbers or paths, or an input list; some calibrate, the others "
        "evaluate",
    )
    eval_data: str | None = opt(
        "--eval-data",
        "--eval_data",
        metavar="PATH",
        help="samples to evaluate on; then all of --data may calibrate",
    )
    labels: str | None = opt(
        metavar="FILE",
        help="the right answer of each sample that evaluates: classes or arrays in .npy or .npz, .txt with a "
        "number or text a line, .csv with FILE,NUMBER, a folder of masks, or annotations in COCO's .json; "
        "classes are also found as an array 'labels' or 'y' beside the samples, and in the names of "
        "subfolders that are numbers",
    )
    random_data: bool = opt(
        "--random-data",
        "--random_data",
        help="random numbers in place of samples: the files are complete, their accuracy means nothing",
    )
    calibration_samples: int = opt(
        "--calibration-samples",
        "--calibration_samples",
        type=make_number_parser(1),
        default=100,
        metavar="N",
        help="how many samples calibrate at most; never more than half, unless --eval-data is given",
    )
    evaluation_samples: int = opt(
        "--evaluation-samples",
        "--evaluation_samples",
        type=make_number_parser(1),
        default=1000,
        metavar="N",
        help="how many samples evaluate at most",
    )


@dataclass(frozen=True)
class BuildTarget(OptionGroup):
    """For which chip, how small and how accurate."""

    title = "Target and precision"

    target: str = opt(
        metavar="CHIP",
        help="the chip: SM8650, 'Snapdragon 8 Gen 3', 'Galaxy S24', v75 or a SoC number; edgewright targets "
        "lists them",
    )
    precision: str = opt(
        choices=(AUTO, *PRECISIONS),
        default=AUTO,
        help="bits of weights and activations, or half precision; auto tries them and takes the cheapest "
        "that meets --max-drop",
    )
    prefer: str = opt(
        choices=(CHEAPEST, FASTEST),
        default=CHEAPEST,
        help="which precision auto takes of those that meet --max-drop: the one with the fewest bits, or the "
        "one that is estimated to be the fastest on the chip",
    )
    max_drop: float | None = opt(
        "--max-drop",
        "--max_drop",
        type=parse_points,
        metavar="POINTS",
        example="--max-drop 1%",
        help="points of the metric that may be lost against the float model; where more is lost the exit "
        "code is 5, and all files are written all the same; auto aims at 1 where nothing is said",
    )
    allow_unproven: bool = opt(
        "--allow-unproven",
        "--allow_unproven",
        help="exit with 0 where the limit is kept on the samples at hand, but they are too few to prove it",
    )
    metric: str = opt(
        type=parse_metric,
        default=AUTO,
        metavar="NAME",
        example="--metric cosine",
        help=f"how accuracy is measured: {', '.join(METRICS)} (top-3 and others as well), or "
        "FILE.py:FUNCTION, your own function of (output, float model's output, label) that returns 1 for a "
        "perfect output; OUTPUT=NAME,OUTPUT=NAME judges some outputs, each its own way; wer:ALPHABET.txt and "
        "cer:ALPHABET.txt read CTC outputs, map:xyxy (yxyx, xywh, cxcywh) boxes; auto takes right-answers "
        "where labels are known, same-answers where every output holds probabilities or classes, else "
        "closeness of each output",
    )

    quantization_overrides: str | None = opt(
        metavar="FILE",
        help="a JSON file with encodings that come before those computed, such as the report advises",
    )
    out_node: tuple[str, ...] = opt(
        also="--out-node",
        fills="outputs",
        repeated=True,
        metavar="NAME",
        help="a tensor of the source model that becomes an output in place of its own; the rest is cut off",
    )


@dataclass(frozen=True)
class BuildOutput(OptionGroup):
    """Where the build goes, and how far."""

    title = "Output"
    rules = (Excludes("--dry-run", "--resume"),)

    output: str | None = opt(
        also=("-o", "--output_path"),
        metavar="FOLDER",
        help="the folder to write; MODEL_CHIP in the current folder otherwise",
    )
    dry_run: bool = opt(
        "--dry-run", "--dry_run", help="stop after the pre-flight: say what stands in the way, write nothing"
    )
    time_limit: float = opt(
        "--time-limit",
        "--time_limit",
        type=parse_duration,
        default=TIME_LIMIT,
        metavar="TIME",
        example="--time-limit 90s",
        help="what the build may take, as in 90s, 10m or 1h, or none; a third of it is the emulator's; the "
        "best result until then is kept, and the report says what was left out; 10m by default",
    )
    resume: bool = opt(help="continue where an interrupted build of the same model, data and options stopped")


@dataclass(frozen=True)
class Sound(OptionGroup):
    """How .wav files become the numbers that a model was trained on."""

    title = "Sound"

    sample_rate: int | None = opt(
        "--sample-rate",
        "--sample_rate",
        type=make_number_parser(1),
        metavar="HZ",
        help="values a second that the model was trained on: files with another rate are resampled; by "
        "default as the files have it",
    )
