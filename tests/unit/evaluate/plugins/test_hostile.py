"""Whatever a sample holds, a plugin gives a result or says what is wrong with it."""

import random

import numpy as np
import pytest

from edgewright.core.errors import EdgewrightError
from edgewright.evaluate.plugins.plugin import DatasetPlugin, MetricPlugin, Processor, find_builtin_plugins
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample, list_paths

FILES = {
    "a.jpg": b"x",
    "b.json": b"{}",
    "c.npy": b"\x93NUMPY",
    "d.raw": b"1234",
    "e.txt": b"",
    "f.txt": b"a b\n1 2\n",
    "g.txt": b"\xff\xfe",
    "vocab.txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n<unk>",
}
PLAIN = (
    "",
    "a b",
    [],
    [{"bbox": [1, 2, 3, 4], "score": 0.5, "category": 1}],
    {"id": "1", "text": "x"},
    None,
    3,
)


def _make_value(draw, numbers, folder):
    kind = draw.randrange(4)
    if kind < 2:
        shape = tuple(draw.choice([0, 1, 2, 3, 4, 6, 8]) for _ in range(draw.randrange(5)))
        return numbers.normal(size=shape).astype(draw.choice([np.float32, np.int64, np.uint8, bool]))
    return draw.choice(PLAIN) if kind == 2 else folder / draw.choice([*FILES, "missing.txt", "."])


def _list_parameters(plugin, folder):
    known = {
        "dims": "3,8,8" if plugin.name == "image_transformers_input" else "8,8",
        "output_dims": "8,8",
        "max_inputs": 2,
        "max_calib": 1,
        "vocab_path": str(folder / "vocab.txt"),
        "vocabulary": str(folder),
        "tokenizer_name": str(folder),
        "vocab_file": str(folder / "b.json"),
        "merges_file": str(folder / "f.txt"),
        "seq_length": 2,
        "past_seq_length": 0,
        "dtypes": ["float32"],
        "sentencepiece_model_path": str(folder / "d.raw"),
    }
    given = {
        parameter.name: known[parameter.name]
        for parameter in plugin.list_parameters()
        if parameter.name in known
    }
    return given | ({"type": "target_dims"} if plugin.name == "pad" else {})


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", sorted(find_builtin_plugins()))
def test_odd_values_are_clean_errors(tmp_path, name):
    for file, data in FILES.items():
        (tmp_path / file).write_bytes(data)
    draw, numbers = random.Random(name), np.random.default_rng(7)
    plugin = find_builtin_plugins()[name].open(_list_parameters(find_builtin_plugins()[name], tmp_path))
    for _ in range(60):
        row = tuple(_make_value(draw, numbers, tmp_path) for _ in range(draw.randrange(1, 4)))
        truth = draw.choice([None, tmp_path, *(tmp_path / file for file in FILES)])
        dataset = Dataset(tmp_path, (row,), annotations=truth)
        context = Context(dataset, tmp_path / "work", is_memory=True, batch_size=2)
        sample = Sample(draw.randrange(3), row, list_paths(row), draw.choice([{}, {"original_size": (5, 7)}]))
        try:
            if isinstance(plugin, Processor):
                list(plugin.process([sample], context))
            elif isinstance(plugin, DatasetPlugin):
                plugin.transform(dataset, context)
            else:
                assert isinstance(plugin, MetricPlugin)
                plugin.measure([sample], context)
        except EdgewrightError:
            continue
