"""Models of the caller's own process: torch modules and programs, Keras and ONNX models."""

import gc
import logging
import tempfile

import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, EnvironmentProblem, Problems, UnsupportedFeature, UsageError
from tests.cli.models import DIGITS_MODEL

X = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def net(torch):
    torch.manual_seed(0)
    parts = (torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(), torch.nn.Flatten())
    return torch.nn.Sequential(*parts, torch.nn.Linear(144, 5))


def _expect(torch, module, array):
    with torch.no_grad():
        return module.eval()(torch.from_numpy(array)).numpy()


def test_what_is_no_model_is_said():
    with pytest.raises(UsageError, match="a dict is no model, expected a file, a torch module"):
        ew.convert({"a": 1})


def test_a_converted_model_is_built_and_not_converted_again(tmp_path):
    model = ew.convert(DIGITS_MODEL)
    with pytest.raises(UsageError, match="the model is converted already"):
        ew.convert(model)
    with pytest.raises(Problems, match="Google Tensor") as refusal:
        ew.build(model, np.zeros((6, 1, 28, 28), np.float32), target="Pixel 8", output=tmp_path / "out")
    assert len(refusal.value.errors) == 1, "nothing but the target stands in the way"


def test_an_onnx_model_in_memory_is_built(tmp_path):
    data = np.zeros((6, 1, 28, 28), np.float32)
    with pytest.raises(Problems, match="Google Tensor"):
        ew.build(onnx.load(DIGITS_MODEL), data, target="Pixel 8", output=tmp_path / "out")
    assert ew.quantize(onnx.load(DIGITS_MODEL), data, act_quantizer="tf").outputs[0].shape == (1, 10)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["module", "traced", "scripted", "exported"])
def test_every_form_of_a_torch_model_gives_its_results(torch, net, kind):
    x = torch.from_numpy(X)
    expected = _expect(torch, net, X)
    net.train(kind == "module")
    source = {
        "module": lambda: net,
        "traced": lambda: torch.jit.trace(net, x),
        "scripted": lambda: torch.jit.script(net),
        "exported": lambda: torch.export.export(net, (x,)),
    }[kind]()
    model = ew.convert(source, example_inputs=None if kind == "exported" else x)
    assert net.training == (kind == "module"), "the caller's module is as it was"
    (result,) = model.run(x).values()
    np.testing.assert_allclose(result, expected, atol=1e-5)


@pytest.mark.torch
def test_the_file_that_it_went_through_is_gone_with_the_model(net, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = ew.convert(net, example_inputs=X)
    assert list(tmp_path.glob("edgewright-*/Sequential.pt2"))
    del model
    gc.collect()
    assert not list(tmp_path.glob("edgewright-*"))


@pytest.mark.torch
def test_the_first_sample_is_the_example_and_wider_numbers_get_the_type_of_the_weights(torch, net):
    data = np.random.default_rng(1).normal(size=(8, 3, 8, 8))
    quantized = ew.quantize(net, data, act_quantizer="tf")
    (result,) = quantized.run(X).values()
    assert np.abs(result - _expect(torch, net, X)).max() < 0.2


@pytest.mark.torch
def test_examples_go_by_the_names_of_forward_and_keep_its_order(torch):
    class Two(torch.nn.Module):
        def forward(self, image, place):
            return image + torch.nn.functional.one_hot(place, 4)

    examples = {"place": np.array([1]), "image": np.zeros((1, 4), np.float32)}
    model = ew.convert(Two(), example_inputs=examples)
    assert [(item.name, item.dtype) for item in model.inputs] == [("image", "float32"), ("place", "int64")]
    (result,) = model.run([np.zeros((1, 4), np.float32), np.array([2])]).values()
    assert result.tolist() == [[0, 0, 1, 0]]


@pytest.mark.torch
def test_a_module_without_examples_is_asked_for_them_all_at_once(net):
    with pytest.raises(UsageError) as refusal:
        ew.convert(net)
    assert "does not know the shapes of its inputs: input" in refusal.value.what
    assert "example_inputs={'input': ...}" in refusal.value.do


@pytest.mark.torch
def test_a_branch_on_values_is_kept_or_refused(torch, caplog):
    class Kept(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x * 3

    class Refused(torch.nn.Module):
        def forward(self, x, **more):
            return x * 2 if float(x.sum()) > 0 else x * 3

    ones = np.ones((1, 4), np.float32)
    with caplog.at_level(logging.WARNING):
        (result,) = ew.convert(Kept(), example_inputs=ones).run(-ones).values()
    assert result.tolist() == [[-3] * 4]
    assert "its code is compiled to TorchScript" in caplog.text
    with pytest.raises(UnsupportedFeature, match="takes another way for other values"):
        ew.convert(Refused(), example_inputs=ones)


@pytest.mark.torch
def test_a_module_that_does_not_run_on_the_examples_says_why(torch):
    class Odd(torch.nn.Module):
        def forward(self, x, **more):
            return x @ torch.ones(3, 3)

    with pytest.raises(BadInput, match="torch can neither export nor trace the module"):
        ew.convert(Odd(), example_inputs=np.ones((1, 4), np.float32))


def test_a_keras_model_is_exported_by_keras():
    keras = pytest.importorskip("keras")
    dense = [keras.layers.Input((4,), name="x"), keras.layers.Dense(3, activation="softmax")]
    model, x = keras.Sequential(dense), np.ones((2, 4), np.float32)
    (result,) = ew.convert(model).run(x).values()
    np.testing.assert_allclose(result, model.predict(x, verbose=0), atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["traced", "scripted"])
def test_a_build_of_torchscript_takes_the_datatypes_of_its_examples(torch, kind, tmp_path):
    class Lookup(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)

        def forward(self, ids, is_kept):
            return self.table(ids) * is_kept.unsqueeze(-1)

    ids, is_kept = torch.tensor([[1, 2, 3]]), torch.tensor([[True, False, True]])
    net = Lookup().eval()
    model = torch.jit.trace(net, (ids, is_kept)) if kind == "traced" else torch.jit.script(net)
    data = [{"ids": ids.numpy(), "is_kept": is_kept.numpy()}] * 3
    record = ew.build(
        model, data, target="v75", output=tmp_path / "out", precision="fp16", example_inputs=(ids, is_kept)
    )
    assert [(item.name, item.dtype) for item in record.contract[:2]] == [
        ("ids", "int32"),
        ("is_kept", "bool"),
    ]


@pytest.mark.torch
def test_a_result_that_an_op_only_names_depends_on_its_inputs(torch, caplog):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout()).eval()
    model = ew.convert(module, example_inputs=torch.ones(1, 4))
    assert [output.shape for output in model.outputs] == [(1, 3)]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.torch
def test_a_torch_that_lacks_packages_is_no_fault_of_the_module(torch, net, monkeypatch):
    def fail(*_args, **_words):
        raise ModuleNotFoundError("No module named 'networkx'")

    monkeypatch.setattr(torch.export, "export", fail)
    with pytest.raises(EnvironmentProblem, match=r"torch\.export cannot be used: No module named 'networkx'"):
        ew.convert(net, example_inputs=X)


@pytest.mark.torch
def test_results_of_a_dictionary_have_the_names_of_their_keys(torch):
    class Detector(torch.nn.Module):
        def forward(self, x):
            return {"scores": torch.softmax(x, -1), "parts": (x + 1, {"boxes": x * 2}), "x": x - 1}

    model = ew.convert(Detector(), example_inputs=torch.ones(1, 4))
    names = [item.name for item in model.outputs]
    assert names[:1] == ["scores"]
    # What stands beside others in a list has the key of the list, if that is enough to tell it.
    assert names[1:3] == ["parts", "parts_boxes"]
    # An input has that name.
    assert names[3] not in {"x", *names[:3]}
    results = model.run(np.zeros((1, 4), np.float32))
    assert (results["parts"] == 1).all()
    assert (results[names[3]] == -1).all()
    cut = ew.convert(Detector(), example_inputs=torch.ones(1, 4), outputs=["parts_boxes"])
    assert [item.name for item in cut.outputs] == ["parts_boxes"]
