"""Files in the runtimes that they are written for; `make bench-llm` installs all of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgewright.llm.evaluate_file import evaluate_file
from edgewright.llm.generate import TextGenerator
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.runtimes.session import RuntimeSession
from edgewright.llm.texts import split_text
from edgewright.reports.html.llm_commands import list_commands
from tests.unit.llm.checkpoints import write_checkpoint

pytestmark = pytest.mark.slow
MODULES = {
    "gguf": "llama_cpp",
    "onnx": "onnxruntime_genai",
    "openvino": "openvino_genai",
    "mlx": "mlx_lm",
    "safetensors": "transformers",
}
MISSING = "a runtime of language models is not installed: make bench-llm has all"
PROBES = ("Call me Ishmael.", "  two", "caf\u00e9 \u201cwhale\u201d\n", "")
ROOT = Path(__file__).parents[3]


def need(*modules):
    for module in modules:
        pytest.importorskip(module, reason=MISSING)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small trained model of bytes."""
    path = tmp_path_factory.mktemp("own") / "moby_phi"
    shutil.copytree(ROOT / "examples" / "models" / "moby_phi", path)
    (path / "text.txt").write_bytes((ROOT / "examples" / "data" / "moby_end.txt").read_bytes()[:2600])
    return path


def make(folder, kind, precision, activations=""):
    output = folder / f"{precision}-{activations}{kind}"
    output = output.with_name(f"{output.name}.gguf") if kind == "gguf" else output
    if not output.exists():
        # The same codes in all formats: of itself ONNX has a wider embedding.
        recipe = Recipe(precision, activations=activations, keep={"embedding": precision})
        quantize_language_model(folder, kind, recipe=recipe, output=output)
    return output


@pytest.mark.parametrize("precision", ["int4", "int8", "fp16", "fp32"])
def test_mlx_predicts_as_the_same_codes_do_elsewhere(folder, precision):
    need("mlx_lm")
    # Without its own rounding of what goes into products, ONNX Runtime computes what the codes say.
    paths = (make(folder, "mlx", precision), make(folder, "onnx", precision, "float"))
    scores = [evaluate_file(path, folder / "text.txt", against=folder) for path in paths]
    assert abs(scores[0].increase - scores[1].increase) < 0.01
    assert abs(scores[0].increase) < 0.001 or precision.startswith("int")


@pytest.mark.parametrize("kind", ["gguf", "onnx", "openvino", "mlx"])
def test_greedy_tokens_are_those_of_the_float_model(folder, kind):
    need(MODULES[kind], "tokenizers")
    texts = []
    for path in (folder, make(folder, kind, "fp32")):
        generator = TextGenerator(path, context=64)
        try:
            texts.append("".join(generator.continue_text("Call me ", 24)))
        finally:
            generator.close()
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kind", ["gguf", "onnx", "openvino"])
@pytest.mark.parametrize("family", ["phi35", "phi4mini"])
@pytest.mark.parametrize("length", [10, 21], ids=["short", "long"])
def test_the_factors_of_long_positions_are_chosen_by_the_text(tmp_path, kind, family, length):
    need(MODULES[kind])
    # The factors change at 16 tokens; there is room for more in both cases.
    source, output = write_checkpoint(tmp_path / family, family), tmp_path / f"out{kind}"
    output = output.with_suffix(".gguf") if kind == "gguf" else output
    quantize_language_model(source, kind, recipe=Recipe("fp32"), output=output)
    tokens, logits = np.arange(length) * 7 % 90, []
    for path in (source, output):
        with RuntimeSession(path, 64) as session:
            logits.append(session.feed(tokens))
    # llama.cpp keeps keys and values in half precision.
    np.testing.assert_allclose(*logits, atol=0.1 if kind == "gguf" else 0.002)


@pytest.mark.parametrize("probe", PROBES)
def test_tokenizers_of_the_runtimes_give_the_tokens_of_the_checkpoint(folder, probe):
    need("openvino_genai", "openvino_tokenizers", "transformers", "onnxruntime_genai", "tokenizers")
    import onnxruntime_genai
    import openvino_genai

    expected = split_text(folder, probe).tolist()
    tokenizer = openvino_genai.Tokenizer(str(make(folder, "openvino", "int8")))
    assert tokenizer.encode(probe).input_ids.data[0].tolist() == expected
    other = onnxruntime_genai.Tokenizer(onnxruntime_genai.Model(str(make(folder, "onnx", "int8"))))
    other.update_options(add_special_tokens="true")
    assert other.encode(probe).tolist() == expected


@pytest.mark.parametrize("kind", list(MODULES))
def test_the_commands_of_a_report_run_as_they_are_pasted(folder, kind, tmp_path):
    need(MODULES[kind])
    path = make(folder, kind, "int8")
    made = quantize_language_model(folder, kind, recipe=Recipe("int8"), output=path)
    own, other = list_commands(made, str(folder), 512, can_chat=False)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for code in (own.code, other.code):
        ended = subprocess.run(
            ["bash", "-ec", code],
            cwd=tmp_path,
            env=environment,
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.strip()
