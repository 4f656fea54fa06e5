"""Evaluates many ways to quantize or run a model: what `ew.evaluate` is."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS
from edgewright.core.errors import UsageError, shown
from edgewright.data.open_samples import Data, open_samples
from edgewright.frontends.framework import Framework
from edgewright.model.open_shapes import explain_sizes, read_open_sizes
from edgewright.reports.difference_pictures import draw_difference
from edgewright.reports.evaluation import write_evaluation
from edgewright.sdk.evaluator.config_mode import ConfigRequest, evaluate_configuration
from edgewright.sdk.evaluator.converter_options import EvaluatedModel
from edgewright.sdk.evaluator.inputs import InputWriter, ListedInputs
from edgewright.sdk.evaluator.minimal import MinimalRequest, evaluate_combinations
from edgewright.sdk.evaluator.place import EvaluationPlace
from edgewright.sdk.evaluator.records import ModelEvaluation

MOST_SAMPLES = 50
CONFIGURATIONS = (".yaml", ".yml")


def evaluate(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: str | Path,
    data: Data | None = None,
    *,
    comparator: str = "avg",
    tolerance: float | None = None,
    backend: str = "htp-sim",
    precision: str = "w8a8",
    folder: str | Path | None = None,
    input_shapes: dict[str, tuple[int, ...]] | None = None,
    symbols: dict[str, int] | None = None,
    preprocessing: Preprocessing | None = None,
    samples: int = MOST_SAMPLES,
    box_input: str | Path | None = None,
    fetch_top: int = 1,
    cluster: str | None = None,
    workers: int | None = None,
    store: str | Path | None = None,
) -> ModelEvaluation:
    """Tries all 32 combinations of quantization options on a model, and ranks them.

    Four ways to choose ranges of weights, with and without cross layer equalization, encodings for each
    channel and for each row: the outputs of each are compared with those of the float model.

    Args:
        model: a source model; or a model configuration (.yaml), whose schemas are evaluated as it says, and
            which no other argument but ``folder`` goes with.
        data: samples, in any form that ``quantize`` takes; they also calibrate.
        comparator: abs, cos, topk, avg, l1norm, l2norm, std, rme, snr, maxerror, kld, pixelbypixel or box.
        tolerance: of the comparator.
        backend: what runs the quantized models: htp-sim, htp-native, cpu or dspvNN.
        precision: w8a8, w8a16, w4a8 or w4a16.
        folder: where models, results, metrics-info.csv and metrics-info.html go; MODEL_evaluation otherwise.
        input_shapes: shapes of inputs, where the model leaves them open.
        symbols: sizes of named dimensions.
        preprocessing: what is done to images.
        samples: how many are used at most.
        box_input: for box, a file that names the outputs with boxes, classes and scores.
        fetch_top: how many of the inputs that match least are listed.
        cluster: tcp://HOST:PORT of a Dask scheduler, or local:4 for one that is started here; processes of
            this machine otherwise.
        workers: how many processes of this machine; by default one for each core, once there is enough to do.
        store: where parts of evaluations are kept by content, a folder or a URL that all workers reach; what
            was computed before is not computed again. .tasks in the folder otherwise.
    """
    place = Path(folder) if folder is not None else Path(f"{Path(model).stem}_evaluation")
    where = EvaluationPlace(cluster, workers, None if store is None else str(store))
    open_engine = partial(where.open_engine, place)
    if Path(model).suffix in CONFIGURATIONS:
        request = ConfigRequest(str(model), place, draw=draw_difference)
        return write_evaluation(evaluate_configuration(request, open_engine))
    if data is None:
        raise UsageError(
            "there is no data to evaluate the model on", do="give samples, or a model configuration (.yaml)"
        )
    bits = PRECISIONS.get(precision)
    if bits is None:
        fixed = ", ".join(name for name, widths in PRECISIONS.items() if widths)
        raise UsageError(f"precision is '{shown(precision)}', expected one of: {fixed}")
    source = EvaluatedModel(str(model), shapes=dict(input_shapes or {}), symbols=dict(symbols or {}))
    sizes = _read_sizes(source, data, preprocessing)
    source = replace(source, symbols={**sizes, **source.symbols})
    minimal = MinimalRequest(
        backend=backend,
        comparator=comparator,
        tolerance=tolerance,
        params={"weight_bw": (str(bits[0]),), "act_bw": (str(bits[1]),)},
        box_input=None if box_input is None else str(box_input),
        draw=draw_difference,
        fetch_top=fetch_top,
    )

    def list_inputs(writer: InputWriter) -> ListedInputs:
        opened = open_samples(writer.graph, data, preprocessing=preprocessing)
        return writer.write_rows(itertools.islice(opened, samples), "inputs")

    evaluation = evaluate_combinations(source, list_inputs, minimal, place, open_engine)
    notes = [explain_sizes(sizes)] if sizes else []
    return write_evaluation(replace(evaluation, notes=(*evaluation.notes, *notes)))


def _read_sizes(source: EvaluatedModel, data: Data, preprocessing: Preprocessing | None) -> dict[str, int]:
    """Sizes of open dimensions, read off samples that can be read twice."""
    if source.framework is not Framework.ONNX or isinstance(data, Iterator):
        return {}
    graph = source.make_inputs_graph()
    if isinstance(data, str | Path):
        # Before anything is kept: a name that is wrong leaves nothing behind.
        open_samples(graph, data, preprocessing=preprocessing)
    return read_open_sizes(graph, data, preprocessing)
