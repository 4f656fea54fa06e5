"""Which TensorFlow ops become which QNN ops, as the small graphs of the tests show."""

from collections import Counter, defaultdict

from edgewright.frontends._common.overrides import Overrides
from edgewright.frontends.tensorflow.graphdef import read_graph
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.frontends.tensorflow.registry import translated_ops
from edgewright.frontends.tensorflow.saved_model import TensorflowFile
from edgewright.frontends.tensorflow.wire import Message
from tests.backend.tflite_suite import TranslatedOp
from tests.unit.frontends.tensorflow.test_cases import CASES, STORED, arrays

__all__ = ["translated"]

# Made of several nodes of a graph while it is read; no op of TensorFlow is called so.
OWN = frozenset({"Choice", "Loop"})


def translated() -> list[TranslatedOp]:
    """Every op that has a translation."""
    counts: Counter[str] = Counter()
    becomes: dict[str, set[str]] = defaultdict(set)
    for case in CASES:
        graph = read_graph(Message(STORED[f"{case}/graph"].tobytes()))
        functions = [node.op for function in graph.functions.values() for node in function.nodes]
        counts.update({*functions, *(node.op for node in graph.nodes)})
        file = TensorflowFile(case, graph, "TensorFlow frozen graph")
        done = TensorflowSource(file, Overrides(outputs=list(arrays(case, "y")))).build({})
        for step in done.steps:
            made = done.emitted[step.first : step.last]
            becomes[step.node.op].update(type(node.op).qnn_name() for node in made)
    names = [name for name in translated_ops() if name not in OWN]
    return [TranslatedOp(name, counts[name], tuple(sorted(becomes[name]))) for name in names]
