"""GGUF as a source: what it holds comes back, what is damaged ends in one error."""

import struct
from contextlib import suppress

import numpy as np
import pytest

from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UnsupportedFeature
from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import EMBEDDING, HEAD, Checkpoint
from edgewright.llm.load.gguf_decode import TYPES
from edgewright.llm.load.gguf_file import read_gguf
from edgewright.llm.load.vocabulary import read_vocabulary
from edgewright.llm.quantize_model import choose_recipe, quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.texts import split_text
from edgewright.llm.writers.gguf_blocks import F32
from edgewright.llm.writers.gguf_format import GgufTensor, iterate_file
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
TEXT = np.array([1, 5, 9, 3, 40, 7, 12, 80])


def write_gguf(folder, path, name="f32"):
    recipe = choose_recipe(Recipe(), None, has_text=False, gguf_type=name)
    quantize_language_model(folder, recipe=recipe, output=path)
    return path


@pytest.mark.parametrize("number", TYPES)
def test_every_type_is_decoded_as_the_package_gguf_does(number):
    kind, rng = TYPES[number], np.random.default_rng(number)
    data = rng.integers(0, 256, (32, kind.size)).astype(np.uint8)
    with np.errstate(all="ignore"):
        values, expected = kind.decode(data), gguf.dequantize(data, gguf.GGMLQuantizationType[kind.name])
    good = np.isfinite(expected)
    assert good.mean() > 0.8
    np.testing.assert_allclose(values[good], expected[good], rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_comes_back_whole(tmp_path, family):
    folder = write_checkpoint(tmp_path / "m", family)
    first = Checkpoint(folder)
    second = Checkpoint(write_gguf(folder, tmp_path / "m.gguf"))
    for name in first.tensors:
        np.testing.assert_array_equal(second.read(name), first.read(name))
    for name in (EMBEDDING, HEAD):
        rows = [checkpoint.find(name).pick_rows(TEXT) for checkpoint in (first, second)]
        np.testing.assert_array_equal(*rows)
    # llama.cpp has no window for Mistral.
    for text in (TEXT, np.resize(TEXT, 8 if family == "mistral" else 40)):
        logits = [next(iterate_float_logits(checkpoint, [text])) for checkpoint in (first, second)]
        np.testing.assert_allclose(logits[0], logits[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["q4_0", "q4_1", "q4_k_m", "q6_k", "q8_0", "f16"])
def test_rounded_weights_are_read_as_they_are_and_said_to_be(tmp_path, name, caplog):
    path = write_gguf(write_checkpoint(tmp_path / "m"), tmp_path / "m.gguf", name)
    checkpoint = Checkpoint(path)
    assert ("have rounded them" in caplog.text) == (name != "f16")
    assert "generation_config.json" in caplog.text
    expected = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}["blk.0.ffn_down.weight"]
    values = checkpoint.read("model.layers.0.mlp.down_proj.weight")
    np.testing.assert_allclose(values, gguf.dequantize(expected.data, expected.tensor_type), rtol=1e-6)
    assert checkpoint.find("lm_head.weight").nbytes < 4 * 96 * 256


def test_the_tokenizer_gives_the_same_tokens(tmp_path):
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    folder = write_checkpoint(tmp_path / "m")
    checkpoint = Checkpoint(write_gguf(folder, tmp_path / "m.gguf"))
    for text in ("abcdab", "ababcddcba", "h</s>ab"):
        tokens = [split_text(place, text).tolist() for place in (folder, checkpoint.folder)]
        # The folder's tokenizer has no beginning of its own, the settings have.
        assert tokens[1] == [1, *tokens[0]]
    first, second = read_vocabulary(folder, 96), read_vocabulary(checkpoint.folder, 96)
    assert (first.tokens, first.types, first.special) == (second.tokens, second.types, second.special)


@pytest.mark.parametrize("to", ["gguf", "onnx", "mlx", "safetensors"])
def test_every_format_is_written_from_it(tmp_path, to):
    folder = write_checkpoint(tmp_path / "m", "phi4mini")
    source = write_gguf(folder, tmp_path / "m.gguf")
    for number, start in enumerate((folder, source)):
        quantize_language_model(start, to, recipe=Recipe("int4"), output=tmp_path / f"o{number}")
    files = [tmp_path / f"o{number}" for number in (0, 1)]
    if to == "gguf":
        contents = [
            {name: bytes(entry.data) for name, entry in read_gguf(path).tensors.items()} for path in files
        ]
        assert contents[0] == contents[1]
    elif to == "onnx":
        # Factors of positions are in single precision in GGUF.
        data = [np.frombuffer((path / "model.onnx.data").read_bytes(), np.uint8) for path in files]
        assert (data[0] != data[1]).mean() < 0.02
    else:
        data = [(path / "model.safetensors").read_bytes() for path in files]
        assert data[0] == data[1]


def test_the_file_that_is_read_is_not_overwritten(tmp_path):
    path = write_gguf(write_checkpoint(tmp_path / "m"), tmp_path / "m.gguf")
    with pytest.raises(EdgewrightError, match="is the checkpoint itself"):
        quantize_language_model(path, output=path)


def make_file(pairs=b"", tensors=b"", data=b"", counts=(0, 0)):
    return b"GGUF" + struct.pack("<IQQ", 3, *counts) + pairs + tensors + data


def text(value):
    return struct.pack("<Q", len(value)) + value


def tensor(dims=(4,), kind=0, offset=0, name=b"a", rank=None):
    return text(name) + struct.pack(
        f"<I{len(dims)}QIQ", len(dims) if rank is None else rank, *dims, kind, offset
    )


HUGE = (1 << 64) - 1
HOSTILE = {
    "empty": b"",
    "cut": b"GGUF\x03",
    "magic": b"GGML" + bytes(64),
    "big endian": b"GGUF" + struct.pack(">I", 3) + bytes(64),
    "version": b"GGUF" + struct.pack("<IQQ", 99, 0, 0),
    "tensors": make_file(counts=(HUGE, 0)),
    "pairs": make_file(counts=(0, HUGE)),
    "key": make_file(struct.pack("<Q", HUGE) + b"x" * 64, counts=(0, 1)),
    "text": make_file(text(b"k") + struct.pack("<IQ", 8, HUGE) + bytes(64), counts=(0, 1)),
    "list": make_file(text(b"k") + struct.pack("<IIQ", 9, 4, HUGE) + bytes(64), counts=(0, 1)),
    "list of texts": make_file(text(b"k") + struct.pack("<IIQ", 9, 8, 1 << 22) + bytes(64), counts=(0, 1)),
    "lists of lists": make_file(text(b"k") + struct.pack("<IIQ", 9, 9, 1) * 400, counts=(0, 1)),
    "type of a value": make_file(text(b"k") + struct.pack("<I", 77) + bytes(64), counts=(0, 1)),
    "same key": make_file((text(b"k") + struct.pack("<II", 4, 1)) * 2, counts=(0, 2)),
    "alignment 0": make_file(text(b"general.alignment") + struct.pack("<II", 4, 0), counts=(0, 1)),
    "alignment 3": make_file(text(b"general.alignment") + struct.pack("<II", 4, 3), counts=(0, 1)),
    "alignment of text": make_file(
        text(b"general.alignment") + struct.pack("<I", 8) + text(b"32"), counts=(0, 1)
    ),
    "rank": make_file(tensors=tensor(rank=1 << 31), data=bytes(128), counts=(1, 0)),
    "no dims": make_file(tensors=tensor(()), data=bytes(128), counts=(1, 0)),
    "no values": make_file(tensors=tensor((0, 4)), data=bytes(128), counts=(1, 0)),
    "product": make_file(tensors=tensor((1 << 62, 1 << 62, 4)), data=bytes(128), counts=(1, 0)),
    "exabytes": make_file(tensors=tensor((1 << 59, 32), kind=12), data=bytes(128), counts=(1, 0)),
    "type": make_file(tensors=tensor(kind=4242), data=bytes(128), counts=(1, 0)),
    "block": make_file(tensors=tensor((33,), kind=2), data=bytes(128), counts=(1, 0)),
    "offset": make_file(tensors=tensor(offset=1 << 63), data=bytes(128), counts=(1, 0)),
    "misaligned": make_file(tensors=tensor(offset=4), data=bytes(128), counts=(1, 0)),
    "same name": make_file(tensors=tensor() * 2, data=bytes(128), counts=(2, 0)),
    "overlap": make_file(
        tensors=tensor((64,)) + tensor((4,), offset=32, name=b"b"), data=bytes(512), counts=(2, 0)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_one_error(tmp_path, name):
    path = tmp_path / "x.gguf"
    path.write_bytes(HOSTILE[name])
    with pytest.raises((BadInput, UnsupportedFeature, LimitExceeded)):
        read_gguf(path)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf")
    checkpoint = write_checkpoint(folder / "m", num_hidden_layers=2, intermediate_size=64)
    return read_gguf(write_gguf(checkpoint, folder / "m.gguf"))


WRONG_VALUES = {
    "general.architecture": ["phimoe", 7],
    "phi3.block_count": [0, -1, 1 << 31, "2", [2, 2]],
    "phi3.embedding_length": [0, 255, 1 << 31, "x"],
    "phi3.attention.head_count": [0, 3, "x", [4, 4]],
    "phi3.attention.head_count_kv": [3, 1 << 20],
    "phi3.attention.key_length": [0, 65],
    "phi3.feed_forward_length": [1, [256, 256]],
    "phi3.attention.layer_norm_rms_epsilon": [-1.0, float("nan"), "x"],
    "phi3.rope.freq_base": [0.0, float("inf"), "x"],
    "phi3.rope.dimension_count": [1 << 20],
    "phi3.rope.scaling.type": ["yarn"],
    "phi3.expert_count": [8],
    "tokenizer.ggml.tokens": [[1, 2], "x"],
    "tokenizer.ggml.scores": [[0.5]],
    "tokenizer.ggml.token_type": [[1], 3],
    "tokenizer.ggml.bos_token_id": ["x"],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG_VALUES.items() for value in values]
)
def test_values_that_do_not_fit_are_one_error(tmp_path, content, key, value):
    values = {**content.values, key: value}
    if isinstance(value, int) and value < 0:
        values[key] = float(value)
    tensors = [GgufTensor(name, entry.shape, F32) for name, entry in content.tensors.items()]
    data = [[bytes(entry.data)] for entry in content.tensors.values()]
    (tmp_path / "x.gguf").write_bytes(b"".join(iterate_file(values, tensors, data)))
    with pytest.raises((BadInput, UnsupportedFeature)):
        Checkpoint(tmp_path / "x.gguf")


def test_bytes_that_are_flipped_never_end_in_a_traceback(tmp_path):
    """Anything may come of it but an error that is not one of ours."""
    data = write_gguf(
        write_checkpoint(tmp_path / "m", num_hidden_layers=1), tmp_path / "m.gguf", "q4_0"
    ).read_bytes()
    rng, path = np.random.default_rng(0), tmp_path / "x.gguf"
    for _ in range(150):
        changed = bytearray(data)
        for place in rng.integers(0, 6000, rng.integers(1, 4)):
            changed[place] = rng.integers(0, 256)
        path.write_bytes(changed if rng.random() < 0.8 else changed[: rng.integers(0, len(changed))])
        with suppress(EdgewrightError):
            read_vocabulary(Checkpoint(path).folder, 96)
