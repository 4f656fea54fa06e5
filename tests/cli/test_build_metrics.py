"""Whole builds by each metric, on small networks whose outputs are what the metric looks at."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgewright.tools.build_command import main

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
OWN = """
import numpy as np

def score(output, reference):
    return 1 - np.abs(output - reference).mean()
"""
WORDS = 20


def save(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A segmenter, a raw detector with annotations, a box, a recognizer, a language model; and their data."""
    place = tmp_path_factory.mktemp("metrics")
    random = np.random.default_rng(0)

    def draw(*shape):
        return (random.standard_normal(shape) * 0.5).astype(np.float32)

    node = helper.make_node
    image = [("x", FLOAT, [1, 3, 16, 16])]
    convolve = node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4)
    save(
        place / "seg.onnx", [convolve], image, [("y", [1, 5, 16, 16])], {"w": draw(5, 3, 3, 3), "b": draw(5)}
    )
    steps = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4, strides=[2, 2]),
        node("Sigmoid", ["c"], ["s"]),
        node("Reshape", ["s", "shape"], ["output0"]),
    ]
    held = {"w": draw(6, 3, 3, 3), "b": draw(6), "shape": np.array([1, 6, 64])}
    save(place / "det.onnx", steps, image, [("output0", [1, 6, 64])], held)
    steps = [
        node("Flatten", ["x"], ["f"]),
        node("Gemm", ["f", "w", "b"], ["g"]),
        node("Sigmoid", ["g"], ["box"]),
    ]
    held = {"w": draw(768, 4) * np.float32(0.1), "b": np.array([-2, -2, 2, 2], np.float32)}
    save(place / "box.onnx", steps, image, [("box", [1, 4])], held)
    steps = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[0, 1, 0, 1]),
        node("Squeeze", ["c", "axis"], ["q"]),
        node("Transpose", ["q"], ["t"], perm=[0, 2, 1]),
        node("Softmax", ["t"], ["text"], axis=-1),
    ]
    held = {"w": draw(8, 3, 16, 3), "b": draw(8), "axis": np.array([2])}
    save(place / "ctc.onnx", steps, image, [("text", [1, 16, 8])], held)
    steps = [node("Gather", ["e", "input_ids"], ["g"]), node("MatMul", ["g", "w"], ["logits"])]
    held = {"e": draw(WORDS, 16), "w": draw(16, WORDS)}
    save(place / "lm.onnx", steps, [("input_ids", INT64, [1, 12])], [("logits", [1, 12, WORDS])], held)
    images = random.random((60, 3, 16, 16)).astype(np.float32)
    np.savez(place / "images.npz", x=images)
    np.savez(place / "ids.npz", input_ids=random.integers(0, WORDS, (60, 12)))
    (place / "alphabet.txt").write_text("\n".join("|abcdef") + "\n")
    (place / "own.py").write_text(OWN)
    (place / "coco.json").write_text(json.dumps(annotate(place / "det.onnx", images)))
    return place


def annotate(model, images):
    """The float detector's four best boxes of each image as annotations."""
    session = onnxruntime.InferenceSession(str(model))
    listed, boxes = [], []
    for number, image in enumerate(images):
        rows = session.run(None, {"x": image[None]})[0][0].T
        listed.append({"id": number, "file_name": f"{number}.png", "width": 16, "height": 16})
        for place in np.argsort(-rows[:, 4:].max(1))[:4]:
            x, y, width, height = (16 * rows[place, :4]).tolist()
            boxes.append(
                {"id": len(boxes) + 1, "image_id": number, "category_id": int(rows[place, 4:].argmax()) + 1}
                | {"bbox": [x - width / 2, y - height / 2, width, height], "iscrowd": 0}
            )
    return {"images": listed, "annotations": boxes, "categories": [{"id": 1}, {"id": 2}]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "metric", "lowest"),
    [
        ("seg.onnx --data images.npz", "iou", 95),
        ("seg.onnx --data images.npz", "mean-absolute-error", 99),
        ("seg.onnx --data images.npz", "own.py:score", 98),
        ("box.onnx --data images.npz", "box-iou", 98),
        ("det.onnx --data images.npz --labels coco.json", "map:cxcywh:0.6", 70),
        ("ctc.onnx --data images.npz", "wer:alphabet.txt", 60),
        ("ctc.onnx --data images.npz", "cer:alphabet.txt", 80),
        ("ctc.onnx --data images.npz", "top-3", 90),
        ("lm.onnx --data ids.npz", "perplexity", 95),
    ],
)
def test_a_build_is_judged_by_the_metric(call, folder, tmp_path, monkeypatch, words, metric, lowest):  # noqa: PLR0917 - fixtures
    monkeypatch.chdir(folder)
    answer = call(
        *(main, *words.split(), "--metric", metric, "--precision", "w8a8", "--max-drop", "40%"),
        *("--allow-unproven", "--target", "SM8650", "-o", tmp_path),
    )
    assert answer.code == 0, answer.err
    record = json.loads((tmp_path / "report.json").read_text())
    assert record["metric"]["name"] == metric
    figures = [item for item in record["accuracy"] if item["backend"].startswith("htp")]
    assert figures
    assert all(lowest <= item["score"] <= 101 for item in figures)
