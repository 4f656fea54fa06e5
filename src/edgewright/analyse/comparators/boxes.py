"""The comparator `box`: which outputs are boxes, classes and scores, and how well detections agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from edgewright.analyse.comparators.comparator import Comparator
from edgewright.analyse.verifiers.rankings import MeanIou
from edgewright.core.errors import BadInput, ShapeMismatch, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array
from edgewright.core.words import quote_names

LARGEST_FILE = 1 << 20
KEYS = ("box", "class", "score")
NAME = "box"


@dataclass(frozen=True)
class BoxOutputs:
    """The names of the outputs; there may be no classes, and no scores."""

    boxes: str
    classes: str | None = None
    scores: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All that are there."""
        return tuple(name for name in (self.boxes, self.classes, self.scores) if name is not None)


def read_box_outputs(file: str) -> BoxOutputs:
    """The outputs that a file names: {"box": "Result_0/boxes.raw", "class": ..., "score": ...}."""
    where = Where(file=file)
    try:
        content = parse_json(read_limited(file, LARGEST_FILE))
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the file is no JSON: {shown(problem)}", where) from None
    is_fit = isinstance(content, dict) and all(isinstance(value, str) for value in content.values())
    if not is_fit or "box" not in content or set(content) - set(KEYS):
        raise BadInput(
            "the file is not as expected: an object with 'box', 'class' and 'score'",
            where,
            do='write {"box": "Result_0/boxes.raw", "class": "Result_0/classes.raw", '
            '"score": "Result_0/scores.raw"}',
        )
    names = {key: PurePosixPath(value.replace("\\", "/")).stem for key, value in content.items()}
    return BoxOutputs(names["box"], names.get("class"), names.get("score"))


def check_box_outputs(outputs: BoxOutputs, known: Mapping[str, object], file: str) -> None:
    """Refuses names that the model does not have."""
    missing = [name for name in outputs.names if name not in known]
    if missing:
        raise BadInput(
            f"'{shown(missing[0])}' is no output of the model, which has {quote_names(list(known))}",
            Where(file=file),
        )


def compare_boxes(
    comparator: Comparator, outputs: BoxOutputs, golden: Mapping[str, Array], target: Mapping[str, Array]
) -> float:
    """How well boxes cover those of the reference, in percent; both ways, so that extra ones count."""
    assert isinstance(comparator.verifier, MeanIou)
    sides = [_list_detections(outputs, tensors) for tensors in (golden, target)]
    if not len(sides[0][0]) or not len(sides[1][0]):
        return 100.0 if len(sides[0][0]) == len(sides[1][0]) else 0.0
    both = [comparator.verifier.score_pair(*pair) for pair in (sides, sides[::-1])]
    return 100.0 * min(both)


def _list_detections(outputs: BoxOutputs, tensors: Mapping[str, Array]) -> tuple[Array, Array]:
    """Boxes and classes of what was detected: places without a score are padding."""
    boxes = np.asarray(tensors[outputs.boxes], np.float64)
    if boxes.size % 4:
        raise ShapeMismatch(
            f"output '{shown(outputs.boxes)}' has {boxes.size} elements, expected boxes of 4 numbers"
        )
    boxes = boxes.reshape(-1, 4)
    classes = np.zeros(len(boxes)) if outputs.classes is None else tensors[outputs.classes].reshape(-1)
    if outputs.scores is None:
        return boxes, np.rint(classes)
    scores = tensors[outputs.scores].reshape(-1)
    if len(scores) != len(boxes) or len(classes) != len(boxes):
        raise ShapeMismatch(
            f"there are {len(boxes)} boxes, {len(classes)} classes and {len(scores)} scores, expected as many"
        )
    return boxes[scores > 0], np.rint(classes[scores > 0])
