"""What the search of the default quantizer and learned rounding cost, in passes over the samples.

``python -m benchmarks.search_cost``: CPU seconds on one thread beside them.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import onnx

import edgewright as ew
from benchmarks.accuracy import CALIBRATING, folders_of
from benchmarks.accuracy_metrics import outputs_of
from benchmarks.accuracy_models import TASKS, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option

NAMES = (
    *("mobilenet_v2_imagenet", "mnist_dscnn_float", "g2p_id_bert_mlm", "rnet", "silero_vad_16k_op15"),
    *("mnist_cntk", "embedding_model"),
)
COLUMNS = ("model", "float pass, CPU s", "`tf`", "search (`auto`)", "search and `adaround`")


def main() -> None:
    """Prints a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    add_write_option(parser)
    options = parser.parse_args()
    table = Table("search-cost", COLUMNS, options)
    for task in (task for task in TASKS if task.name in NAMES and options.filter in task.name):
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None:
            continue
        material = Material(tuple(options.data), is_calibrating=True)
        feeds = list(task.feeds(material, CALIBRATING, task, path))
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.onnx"
            onnx.save(prepared(task, path, feeds[0]), model)
            plain = _seconds(partial(outputs_of, model, feeds))
            converted = ew.convert(model)
            quantize = partial(ew.quantize, converted, feeds, threads=1)
            cells = [
                _describe(partial(quantize, act_quantizer=ranges, algorithms=algorithms))
                for ranges, algorithms in (("tf", ()), ("auto", ()), ("auto", ("adaround",)))
            ]
        table.add(task.name, f"{plain:.2f}", *cells)
    table.finish()


def _describe(quantize: Callable[[], ew.QuantizedModel]) -> str:
    began = time.process_time()
    passes = quantize().report.passes
    return f"{passes:.1f} passes, {time.process_time() - began:.1f} s"


def _seconds(work: Callable[[], object]) -> float:
    """CPU time: other work on the machine does not count."""
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
