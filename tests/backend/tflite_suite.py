"""Which TFLite ops become which QNN ops, as the small models of the tests show."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from edgewright.frontends.tflite.load import TfliteSource
from edgewright.frontends.tflite.reader import TfliteFile
from edgewright.frontends.tflite.registry import TRANSLATIONS
from edgewright.ops.quant import Dequantize, Quantize
from tests.unit.frontends.tflite.cases import float_cases
from tests.unit.frontends.tflite.flow_cases import flow_cases
from tests.unit.frontends.tflite.quantized_cases import quantized_cases

__all__ = ["TranslatedOp", "translated"]


@dataclass(frozen=True)
class TranslatedOp:
    """A TFLite op, how many models with it were compared with LiteRT, and the QNN ops that it became."""

    name: str
    cases: int
    becomes: tuple[str, ...]


def translated() -> list[TranslatedOp]:
    """Every op that has a translation."""
    counts: Counter[str] = Counter()
    becomes: dict[str, set[str]] = defaultdict(set)
    for case in (*float_cases(), *quantized_cases(), *flow_cases()):
        file = TfliteFile(memoryview(case.data))
        counts.update({operator.op for graph in file.subgraphs for operator in graph.operators})
        done = TfliteSource(file).build({})
        for step in done.steps:
            made = [node.op for node in done.emitted[step.first : step.last]]
            becomes[step.node.op].update(
                type(op).qnn_name() for op in made if not isinstance(op, (Quantize, Dequantize))
            )
    return [TranslatedOp(name, counts[name], tuple(sorted(becomes[name]))) for name in sorted(TRANSLATIONS)]
