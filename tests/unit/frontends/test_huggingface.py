"""Folders of Hugging Face models, made here: nothing is fetched, and no code of a folder runs."""

import json
import shutil
import sys

import numpy as np
import pytest

import edgewright as ew
from edgewright.api.folder_data import prepare_folder_data, take_first_sample
from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, EnvironmentProblem, UnsupportedFeature, UsageError
from edgewright.data.samples import DataRequest
from edgewright.frontends.huggingface import read_texts
from edgewright.tools.build_command import main


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


BROKEN = """__version__ = "5.0"


def __getattr__(name):
    if name == "BertModel":
        raise ModuleNotFoundError("no module") from RuntimeError("operator torchvision::nms does not exist")
    raise AttributeError(name)
"""


def test_packages_that_do_not_fit_are_a_problem_of_the_environment(tmp_path, monkeypatch):
    (tmp_path / "transformers.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "transformers", raising=False)
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertModel"]}))
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(EnvironmentProblem, match="cannot import 'BertModel': operator torchvision::nms"):
        ew.convert(folder)
    sys.modules.pop("transformers", None)


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


@pytest.fixture
def spoken_folder(transformers, text_folder):
    """With a tokenizer of a few words."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "whale", "swims", "white", "sea"]
    tokenizer = transformers.BertTokenizerFast(vocab={word: place for place, word in enumerate(words)})
    tokenizer.save_pretrained(text_folder)
    return text_folder


@pytest.mark.torch
def test_lines_of_a_text_are_samples_by_the_folders_tokenizer(spoken_folder, tmp_path):
    (tmp_path / "texts.txt").write_text("a whale swims\n\na white whale\na sea\n")
    tokens = read_texts(spoken_folder, tmp_path / "texts.txt")
    assert tokens["input_ids"].tolist() == [[2, 5, 6, 7, 3], [2, 5, 8, 6, 3], [2, 5, 9, 3, 0]]
    assert tokens["attention_mask"][2].tolist() == [1, 1, 1, 1, 0]
    # What is no text is left alone.
    assert read_texts(spoken_folder, tokens) is tokens
    (tmp_path / "list.txt").write_text("texts.txt\n")
    assert read_texts(spoken_folder, tmp_path / "list.txt") == tmp_path / "list.txt"


@pytest.mark.torch
def test_a_folder_without_tokenizer_says_so(text_folder, tmp_path):
    (tmp_path / "texts.txt").write_text("a whale swims\n")
    with pytest.raises(BadInput, match="no tokenizer that can be read"):
        read_texts(text_folder, tmp_path / "texts.txt")


@pytest.mark.torch
def test_a_dry_run_takes_a_folder_and_a_text(capsys, spoken_folder, tmp_path):
    (tmp_path / "texts.txt").write_text("a whale swims\na white whale\na sea\n")
    args = ("--data", tmp_path / "texts.txt", "--target", "v75", "--dry-run", "-o", tmp_path / "out")
    assert main([str(arg) for arg in (spoken_folder, *args)]) == 0
    assert "pre-flight:" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.torch
def test_a_text_is_no_data_of_a_model_that_reads_pictures(transformers, tmp_path):
    config = _small(transformers.ViTConfig, image_size=16, patch_size=8)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    (tmp_path / "texts.txt").write_text("a whale swims\n")
    with pytest.raises(BadInput, match="a ViTForImageClassification reads 'pixel_values'") as refusal:
        read_texts(tmp_path / "vit", tmp_path / "texts.txt")
    assert refusal.value.do.startswith("give pictures")


@pytest.mark.torch
def test_transformers_does_not_talk_while_it_reads(transformers, text_folder, capfd):
    examples = {"input_ids": np.ones((1, 8), np.int64)}
    ew.convert(text_folder, example_inputs=examples)
    assert capfd.readouterr().err == ""
    assert transformers.utils.logging.is_progress_bar_enabled()


PROCESSOR = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
PROCESSOR |= {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.5, 0.5]}


@pytest.mark.parametrize(
    ("config", "given", "found"),
    [
        (PROCESSOR, {}, (1 / 255, (0.5, 0.4, 0.3), (0.5, 0.5, 0.5))),
        (PROCESSOR | {"do_normalize": False}, {}, (1 / 255, (), ())),
        (PROCESSOR | {"do_rescale": False}, {}, (None, (0.5, 0.4, 0.3), (0.5, 0.5, 0.5))),
        # Older files leave out what image processors do by themselves.
        ({"image_mean": [0.5], "image_std": [0.5]}, {}, (1 / 255, (0.5,), (0.5,))),
        ({"do_normalize": True, "feature_size": 1}, {}, (None, (), ())),
        # What the user says comes first; what makes no sense is left alone.
        (PROCESSOR, {"scale": 2.0}, (2.0, (), ())),
        (PROCESSOR | {"image_std": [0, 1, 1]}, {}, (None, (), ())),
        (PROCESSOR | {"image_mean": "0.5"}, {}, (None, (), ())),
        ([], {}, (None, (), ())),
    ],
)
def test_pictures_are_scaled_as_the_folder_says(tmp_path, config, given, found):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"")
    request = DataRequest(tmp_path / "pictures", preprocessing=Preprocessing(**given))
    made = prepare_folder_data(tmp_path, request).preprocessing
    assert (made.scale, tuple(made.mean), tuple(made.std)) == found
    # Arrays are taken as they are.
    arrays = prepare_folder_data(tmp_path, DataRequest(np.zeros((1, 3, 4, 4)))).preprocessing
    assert not arrays.is_normalising


def test_pictures_beside_arrays_are_refused_unless_the_scale_is_said(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    (tmp_path / "a.png").write_bytes(b"")
    arrays = np.zeros((1, 3, 4, 4), np.float32)
    for parts in ((tmp_path / "a.png", arrays), (arrays, tmp_path / "a.png")):
        with pytest.raises(UsageError, match="one scale does not fit both"):
            prepare_folder_data(tmp_path, DataRequest(parts[0], eval_data=parts[1]))
    request = DataRequest(arrays, eval_data=tmp_path / "a.png", preprocessing=Preprocessing(scale=2.0))
    assert prepare_folder_data(tmp_path, request).preprocessing.scale == 2.0


@pytest.mark.parametrize("arrays", [{}, {"ids": np.int64(3)}, {"ids": np.zeros((0, 8))}])
def test_a_file_without_samples_says_so(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadInput, match="holds no samples"):
        take_first_sample(tmp_path / "a.npz")


def test_the_first_sample_of_a_file_is_an_example(tmp_path):
    ids = np.arange(12).reshape(3, 4)
    np.savez(tmp_path / "a.npz", ids=ids, labels=np.zeros(3))
    np.save(tmp_path / "a.npy", ids)
    (name, first), *others = take_first_sample(tmp_path / "a.npz").items()
    assert (name, first.tolist(), others) == ("ids", [[0, 1, 2, 3]], [])
    assert take_first_sample(str(tmp_path / "a.npy")).tolist() == [[0, 1, 2, 3]]
    assert take_first_sample(tmp_path) is None
