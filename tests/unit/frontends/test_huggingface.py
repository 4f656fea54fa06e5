"""Folders of Hugging Face models, made here: nothing is fetched, and no code of a folder runs."""

import json
import shutil

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError


@pytest.fixture
def transformers():
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


def _small(kind, **more):
    return kind(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, **more)


@pytest.fixture
def text_folder(transformers, tmp_path):
    model = transformers.BertForSequenceClassification(_small(transformers.BertConfig, vocab_size=50))
    model.save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


def test_pickled_weights_are_not_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertModel"]}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(BadInput, match=r"no \.safetensors; weights in pickles"):
        ew.convert(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(BadInput, match="the file is no JSON"):
        ew.convert(tmp_path)


@pytest.mark.torch
def test_a_text_model_is_asked_for_its_length_and_then_converted(transformers, text_folder):
    torch = pytest.importorskip("torch")
    with pytest.raises(UsageError) as refusal:
        ew.convert(text_folder)
    assert "example_inputs={'input_ids': np.ones((1, 128), np.int64), 'attention_mask'" in refusal.value.do
    ids = np.arange(8)[None]
    examples = {"input_ids": ids, "attention_mask": np.ones((1, 8), np.int64)}
    (result,) = ew.convert(text_folder, example_inputs=examples).run(examples).values()
    module = transformers.AutoModelForSequenceClassification.from_pretrained(text_folder).eval()
    with torch.no_grad():
        expected = module(**{name: torch.from_numpy(array) for name, array in examples.items()}).logits
    np.testing.assert_allclose(result, expected, atol=1e-5)


@pytest.mark.torch
def test_an_image_model_knows_its_size(transformers, tmp_path):
    config = _small(transformers.ViTConfig, image_size=16, patch_size=8)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    assert ew.convert(tmp_path).inputs[0].shape == (1, 3, 16, 16)


@pytest.mark.torch
def test_weights_that_are_missing_are_not_made_up(text_folder):
    config = json.loads((text_folder / "config.json").read_text())
    (text_folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    with pytest.raises(BadInput, match=r"weights of the architecture are not in the folder: 'cls\."):
        ew.convert(text_folder)


@pytest.mark.torch
def test_code_of_a_folder_is_not_run(text_folder):
    config = json.loads((text_folder / "config.json").read_text())
    config |= {"architectures": ["Strange"], "auto_map": {"AutoModel": "strange.Strange"}}
    (text_folder / "config.json").write_text(json.dumps(config))
    shutil.copy(text_folder / "config.json", text_folder / "strange.py")
    with pytest.raises(UnsupportedFeature, match="architecture 'Strange' is not one of transformers"):
        ew.convert(text_folder)
