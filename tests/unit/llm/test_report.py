"""llm_report.html and llm_report.json: what they hold, and how files of one checkpoint share them."""

import io
import json
import shlex
import sys

import numpy as np
import onnx
import pytest

from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.reports.html.llm_commands import list_commands
from edgewright.reports.llm_report import write_report
from edgewright.tools.umbrella import main
from tests.unit.llm.checkpoints import write_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = write_checkpoint(tmp_path_factory.mktemp("llm report") / "m")
    (path / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    np.save(path.parent / "text.npy", np.random.default_rng(1).integers(3, 96, 700))
    return path.parent


@pytest.fixture(scope="module")
def made(folder):
    return quantize_language_model(
        folder / "m", "onnx", output=folder / "int4-onnx", text=folder / "text.npy"
    )


def read_record(path):
    return json.loads((path / "llm_report.json").read_text())


def test_verify_writes_a_report_beside_the_output(folder, tmp_path, capsys):
    words = ["llm", "quantize", str(folder / "m"), "--to", "onnx", "--precision", "fp32"]
    words += ["-o", str(tmp_path / "out"), "--verify", "--text", str(folder / "text.npy")]
    assert main(words) == 0
    assert f"report: {tmp_path / 'llm_report.html'}" in capsys.readouterr().out
    (file,) = read_record(tmp_path)["files"]
    assert file["path"] == "out"
    assert file["score"]["runtime"].startswith("onnxruntime ")
    assert file["score"]["written_per_second"] > 0
    page = (tmp_path / "llm_report.html").read_text()
    for part in ("Which device takes what", "perplexity +0.00 %", "within 0.1 %", "edgewright llm run"):
        assert part in page


def test_files_of_one_checkpoint_share_a_report(folder, made, tmp_path):
    write_report(folder, folder / "m", made)
    other = quantize_language_model(folder / "m", recipe=Recipe("int8"), output=folder / "int8.gguf")
    write_report(folder, folder / "m", other)
    assert [file["path"] for file in read_record(folder)["files"]] == ["int4-onnx", "int8.gguf"]
    # The same file again takes its place; one that is gone is forgotten.
    write_report(folder, folder / "m", made)
    assert [file["path"] for file in read_record(folder)["files"]] == ["int8.gguf", "int4-onnx"]
    (folder / "int8.gguf").unlink()
    write_report(folder, folder / "m", made)
    assert [file["path"] for file in read_record(folder)["files"]] == ["int4-onnx"]
    # Another checkpoint begins anew.
    stranger = write_checkpoint(tmp_path / "n", hidden_size=128)
    third = quantize_language_model(stranger, output=folder / "n.gguf")
    write_report(folder, stranger, third)
    assert [file["path"] for file in read_record(folder)["files"]] == ["n.gguf"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"files": 3}', b'{"checkpoint": {"x": 1}}', b"[" * 100000]
)
def test_what_is_no_report_of_ours_is_replaced(folder, made, tmp_path, content):
    (tmp_path / "llm_report.json").write_bytes(content)
    write_report(tmp_path, folder / "m", made)
    assert len(read_record(tmp_path)["files"]) == 1


def test_the_same_record_gives_the_same_page(folder, made, tmp_path):
    pages = [write_report(tmp_path, folder / "m", made).read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]


def test_every_matrix_has_its_error(folder, made, tmp_path):
    write_report(tmp_path, folder / "m", made)
    page = (tmp_path / "llm_report.html").read_text()
    assert len(made.matrices) == 10
    assert all(f"layers.{number}.mlp.down_proj" in page for number in range(2))


def test_our_own_commands_run_as_they_are_pasted(folder, made, monkeypatch, capsys):
    pytest.importorskip("tokenizers", reason="could not import 'tokenizers'")
    run, chat, other = list_commands(made, str(folder), 64, can_chat=True)
    assert main(shlex.split(run.code)[1:]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("ab\n\n"))
    assert main(shlex.split(chat.code)[1:]) == 0
    capsys.readouterr()
    assert str(folder) in other.code
    assert len(list_commands(made, str(folder), 64, can_chat=False)) == 2


@pytest.mark.parametrize(("activations", "level"), [(None, 4), ("int8", 4), ("float", 1)])
def test_onnx_says_what_products_round_their_inputs_to(folder, tmp_path, activations, level):
    recipe = Recipe("int8", activations=activations or "")
    quantize_language_model(folder / "m", "onnx", recipe=recipe, output=tmp_path / "o")
    model = onnx.load(tmp_path / "o" / "model.onnx", load_external_data=False)
    products = [node for node in model.graph.node if node.op_type == "MatMulNBits"]
    levels = {a.i for node in products for a in node.attribute if a.name == "accuracy_level"}
    assert levels == {level}


@pytest.mark.slow  # so that it runs where openvino is installed
@pytest.mark.parametrize(("activations", "group"), [("int8", 32), ("float", 0)])
def test_openvino_says_what_products_round_their_inputs_to(folder, tmp_path, activations, group):
    openvino = pytest.importorskip("openvino", reason="the package openvino is not installed")
    recipe = Recipe("int8", activations=activations)
    quantize_language_model(folder / "m", "openvino", recipe=recipe, output=tmp_path / "o")
    model = openvino.Core().compile_model(tmp_path / "o" / "openvino_model.xml", "CPU")
    assert model.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE") == group


def test_activations_that_a_runtime_does_not_have_are_refused(folder, tmp_path):
    for kind, activations in (("gguf", "float"), ("mlx", "int8"), ("safetensors", "int8")):
        recipe = Recipe("int8", activations=activations)
        with pytest.raises(UnsupportedFeature):
            quantize_language_model(folder / "m", kind, recipe=recipe, output=tmp_path / "o")
    recipe = Recipe("fp16", activations="int8")
    with pytest.raises(UsageError, match="int4 or int8"):
        quantize_language_model(folder / "m", "onnx", recipe=recipe, output=tmp_path / "o")
    with pytest.raises(UsageError, match="activations 'int3' is unknown"):
        Recipe("int8", activations="int3")
    assert not (tmp_path / "o").exists()


def test_a_file_is_called_by_what_was_asked_for_and_judged_by_its_width(folder, tmp_path):
    made = quantize_language_model(
        folder / "m", "onnx", recipe=Recipe("lpbq"), output=tmp_path / "o", text=folder / "text.npy"
    )
    assert (made.precision, made.width) == ("lpbq", "int4")
    page = write_report(tmp_path, folder / "m", made).read_text()
    assert "<td>lpbq<div" in page
    # The advice for phones is for all kinds of 4 bits.
    assert '<span class="name">o</span>: ' in page.partition("Phone</td>")[2].partition("</tr>")[0]
