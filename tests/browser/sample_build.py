"""A record of a real, small build, with a candidates beside it; and one whose names are hostile."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import edgewright as ew
from edgewright.analyse.advice import list_findings
from edgewright.analyse.layers import measure_layers
from edgewright.analyse.tensors import view_worst_tensors
from edgewright.build.records import Artifact, BuildRecord, Candidate, Preflight, Source, Stage
from edgewright.core.numbers import Array
from edgewright.evaluate.records import Accuracy, Loss, Metric
from edgewright.evaluate.verdict import Verdict, judge_loss
from edgewright.ir.contract import contract
from edgewright.model.quantize import QuantizedModel

EXAMPLES = Path(__file__).parents[2] / "examples"
OUTPUT = "Plus214_Output_0"
HOSTILE = "</script><script>document.title='owned'</script>\"'<b>&amp;\u202e\u0000\ud800"
COSTS = {"w4a8": 0.5, "w8a8": 1.0, "w8a16": 2.0, "fp16": 4.0}


@cache
def digits() -> tuple[Sequence[Mapping[str, Array]], Array]:
    """Samples and labels."""
    with np.load(EXAMPLES / "data" / "digits.npz") as stored:
        images = stored["images"].astype(np.float32)[:, None, None]
        return [{"Input3": image} for image in images], stored["labels"]


@cache
def mnist(precision: str = "w8a8") -> tuple[ew.Model, QuantizedModel]:
    """The digit classifier, and its quantized form."""
    source = ew.convert(EXAMPLES / "models" / "mnist_cntk.onnx")
    if precision == "fp16":
        return source, ew.quantize(source, float_bw=16)
    weight, act = precision[1:].split("a")
    samples = digits()[0][::5]
    return source, ew.quantize(source, samples, weight_bw=int(weight), act_bw=int(act), act_quantizer="tf")


@cache
def record() -> BuildRecord:
    """What a build of the digit classifier finds."""
    source, quantized = mnist()
    before, after = source.fixed_graph(), quantized.fixed_graph()
    held = digits()[0][1::5]
    layers = measure_layers(before, after, held)
    tensors = view_worst_tensors(before, after, held, layers)
    types = {name: before.types[name] for name in (*before.inputs, *before.outputs)}
    candidates = tuple(_candidate(precision) for precision in COSTS)
    return BuildRecord(
        command="edgewright build examples/models/mnist_cntk.onnx --data examples/data/digits.npz "
        "--target SM8650 --max-drop 1% -o output/mnist",
        source=Source("mnist_cntk.onnx", "ONNX", "ab" * 32, 26394, 9, 5998, 786560, 23992),
        target="SM8650",
        architecture="v75",
        contract=contract(after, types),
        preflight=Preflight((), 0.2, 12.0, 210.0, 1.5),
        precision="auto",
        chosen="w8a8",
        max_drop=1.0,
        verdict=_verdict(candidates[1]),
        metric=Metric("right-answers", "How often the largest score is that of the digit shown.", (OUTPUT,)),
        accuracy=(
            _accuracy("float", candidates[1].score + candidates[1].drop, None),
            _accuracy("htp-sim", candidates[1].score, candidates[1].sqnr_db),
        ),
        candidates=candidates,
        layers=layers,
        tensors=tensors,
        findings=list_findings(before, after, layers, tensors, quantized.report),
        data=("500 digits from examples/data/digits.npz; every fifth calibrates, the others evaluate",),
        choices=("ranges: all that was seen (tf), plain convolutions need no more",),
        stages=(Stage("preflight", 0.2, 120), Stage("quantize", 1.4, 190), Stage("evaluate", 3.1, 195)),
        artifacts=(
            Artifact("context_binaries/htp_context.bin", 41234, "the compiled model"),
            Artifact("context_binaries/mnist_cntk_ctx.onnx", 412, "the same for ONNX Runtime"),
            Artifact("mnist_cntk.dlc", 19321, "the quantized model"),
        ),
        versions=(("edgewright", "0.1.0"), ("onnxruntime", "1.31.1")),
    )


def hostile() -> BuildRecord:
    """The same with names that try to break out of the page."""
    plain = record()
    return replace(
        plain,
        command=HOSTILE,
        source=replace(plain.source, file=HOSTILE),
        contract=tuple(replace(tensor, name=HOSTILE) for tensor in plain.contract),
        layers=tuple(replace(layer, source=HOSTILE, tensor=HOSTILE) for layer in plain.layers),
        tensors=tuple(replace(view, source=HOSTILE) for view in plain.tensors),
        findings=tuple(replace(finding, what=HOSTILE, do=HOSTILE) for finding in plain.findings),
        accuracy=tuple(replace(item, output=HOSTILE) for item in plain.accuracy),
        candidates=tuple(replace(candidate, name=HOSTILE, text=HOSTILE) for candidate in plain.candidates),
        artifacts=tuple(replace(artifact, path=f"{HOSTILE}.dlc") for artifact in plain.artifacts),
        data=(HOSTILE,),
        choices=(HOSTILE,),
        notes=(HOSTILE,),
    )


def _candidate(precision: str) -> Candidate:
    source, quantized = mnist(precision)
    samples, labels = digits()
    result = [quantized.run(sample, backend="htp-sim")[OUTPUT] for sample in samples[1::5]]
    expected = [source.run(sample)[OUTPUT] for sample in samples[1::5]]
    score, whole = (
        float(np.mean(np.stack(runs).reshape(len(runs), -1).argmax(-1) == labels[1::5])) * 100
        for runs in (result, expected)
    )
    noise = np.square(np.stack(expected) - np.stack(result)).sum()
    sqnr = float(10 * np.log10(np.square(np.stack(expected)).sum() / noise))
    weights, acts = (4, 8) if precision == "w4a8" else (16, 16) if precision == "fp16" else (8, 8)
    text = f"weights of {weights} bits, activations of {acts if precision != 'w8a16' else 16}"
    return Candidate(
        *(precision, text, "htp-sim", len(result), score, whole - score, sqnr, 5998 * weights // 8),
        cost=COSTS[precision],
        is_met=whole - score <= 1,
        is_chosen=precision == "w8a8",
        seconds=0.4,
    )


def _verdict(candidate: Candidate) -> Verdict:
    float_score = candidate.score + candidate.drop
    loss = Loss(OUTPUT, "htp-sim", candidate.samples, candidate.drop, candidate.drop - 0.9, 0.95, float_score)
    return judge_loss(loss, 1.0)


def _accuracy(backend: str, score: float, sqnr: float | None) -> Accuracy:
    count = len(digits()[0][1::5])
    reach = 196 * np.sqrt(score / 100 * (1 - score / 100) / count)
    return Accuracy(
        OUTPUT, backend, count, score, max(score - reach, 0), min(score + reach, 100), sqnr, 310.5
    )
