"""The report of a language model's files: llm_report.html, and llm_report.json beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from edgewright.core.files import write_all
from edgewright.core.plain import to_json
from edgewright.llm.evaluate_file import LIMITS
from edgewright.llm.matrix_errors import MatrixError
from edgewright.llm.quantize_model import LanguageModelFile
from edgewright.llm.report_record import RECORD, REPORT, LanguageModelReport, add_to_report
from edgewright.reports.html.llm_commands import list_commands
from edgewright.reports.html.page import make_environment
from edgewright.reports.llm import RUNTIMES

# Matrices that the page lists; the record has all.
MOST_MATRICES = 400
FLOATS = ("fp16", "fp32")
# Which precisions the Phi cookbook's chapter on quantization advises, and with what.
ADVICE = (
    ("Phone", ("int4",), "INT4; QNN on Snapdragon, MLX on Apple's chips"),
    ("IoT", ("int4",), "INT4"),
    ("AI PC, Copilot+ PC", ("int8", *FLOATS), "INT8, FP16 or FP32; OpenVINO on Intel, QNN on Snapdragon"),
    ("Mac", ("int8", *FLOATS), "INT8, FP16 or FP32 with MLX"),
    ("PC with a GPU of NVIDIA", ("int8", *FLOATS), "INT8, FP16 or FP32 with CUDA"),
)
# Formats that have a runtime on each of these.
FORMATS = {
    "Phone": ("gguf", "onnx", "mlx"),
    "IoT": ("gguf", "onnx", "openvino"),
    "AI PC, Copilot+ PC": ("onnx", "openvino", "gguf"),
    "Mac": ("mlx", "gguf"),
    "PC with a GPU of NVIDIA": ("gguf", "onnx", "safetensors"),
}


def write_report(folder: Path, checkpoint: Path | str, made: LanguageModelFile) -> Path:
    """Adds a file to the report of a folder; gives the page's path."""
    record = add_to_report(folder, checkpoint, made)
    folder.mkdir(parents=True, exist_ok=True)
    write_all({folder / REPORT: render_report(record), folder / RECORD: [to_json(record)]})
    return folder / REPORT


def render_report(record: LanguageModelReport) -> Iterable[bytes]:
    """The page; the same record gives the same bytes."""
    template = make_environment().get_template("llm_report.html.jinja")
    context = {
        "record": record,
        "name": PurePath(record.checkpoint.source).name,
        "rows": _list_rows(record.files),
        "smallest": min(record.files, key=lambda file: file.file_bytes),
        "devices": _list_devices(record),
        "layers": _list_layers(record.files),
        "commands": [
            (
                file,
                list_commands(
                    file, record.folder, record.checkpoint.context, can_chat=record.checkpoint.can_chat
                ),
            )
            for file in record.files
        ],
        "limits": LIMITS,
        "runtimes": RUNTIMES,
        "plots": {},
    }
    yield template.render(**context).encode("utf-8", "replace")


@dataclass(frozen=True)
class _Row:
    file: LanguageModelFile
    # Where the interval of the rise in perplexity is drawn, in percent of the width.
    left: float = 0.0
    width: float = 0.0
    dot: float = 0.0
    is_drawn: bool = False


def _list_rows(files: Sequence[LanguageModelFile]) -> list[_Row]:
    """Smallest first; all intervals are drawn to one scale, which begins at 0 or below."""
    ordered = sorted(files, key=lambda file: file.file_bytes)
    scores = [file.score for file in ordered if file.score is not None]
    borders = [
        end
        for score in scores
        for end in (score.increase_low, score.increase_high)
        if end is not None and abs(end) < 1e6
    ]
    low, high = min([0.0, *borders]), max([0.01, *borders])
    return [_place_interval(file, low, 1.04 * (high - low)) for file in ordered]


def _place_interval(file: LanguageModelFile, start: float, width: float) -> _Row:
    score = file.score
    if score is None or score.increase is None or score.increase_low is None or score.increase_high is None:
        return _Row(file)
    if not abs(score.increase_high) < 1e6:
        return _Row(file)
    left, dot, right = (
        round(100 * (value - start) / width, 2)
        for value in (score.increase_low, score.increase, score.increase_high)
    )
    return _Row(file, left, round(right - left, 2), dot, is_drawn=True)


@dataclass(frozen=True)
class _Device:
    name: str
    advice: str
    files: tuple[LanguageModelFile, ...]
    # What makes a file for it, where there is none.
    command: str


def _list_devices(record: LanguageModelReport) -> list[_Device]:
    devices = []
    for name, precisions, advice in ADVICE:
        fits = tuple(
            file for file in record.files if file.width in precisions and file.format in FORMATS[name]
        )
        command = (
            f"edgewright llm quantize {PurePath(record.checkpoint.source).name} --to {FORMATS[name][0]} "
            f"--precision {precisions[0]}"
        )
        devices.append(_Device(name, advice, fits, "" if fits else command))
    return devices


@dataclass(frozen=True)
class _Bar:
    name: str
    error: MatrixError
    # Of the widest bar, in percent: the longer, the more is lost.
    width: float


@dataclass(frozen=True)
class _Layers:
    paths: tuple[str, ...]
    is_of_products: bool
    bars: tuple[_Bar, ...]
    count: int


def _list_layers(files: Sequence[LanguageModelFile]) -> list[_Layers]:
    """The matrices along the model, once for all files that hold the same codes."""
    groups: dict[tuple[MatrixError, ...], list[str]] = {}
    for file in files:
        if file.matrices:
            groups.setdefault(file.matrices, []).append(file.path)
    return [_draw_layers(matrices, tuple(paths)) for matrices, paths in groups.items()]


def _draw_layers(matrices: Sequence[MatrixError], paths: tuple[str, ...]) -> _Layers:
    shown = matrices[:MOST_MATRICES]
    losses = [10 ** (-min(_choose_decibels(matrix), 200.0) / 20) for matrix in shown]
    bars = tuple(
        _Bar(
            matrix.name.removesuffix(".weight").removeprefix("model."),
            matrix,
            round(100 * loss / max(losses), 1),
        )
        for matrix, loss in zip(shown, losses, strict=True)
    )
    return _Layers(paths, any(matrix.product_db is not None for matrix in matrices), bars, len(matrices))


def _choose_decibels(matrix: MatrixError) -> float:
    return matrix.weight_db if matrix.product_db is None else matrix.product_db
