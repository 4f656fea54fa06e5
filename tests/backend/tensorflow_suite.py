"""Which TensorFlow ops become which QNN ops, as the small graphs of the tests show."""

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.tensorflow.graphdef import read_graph
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.frontends.tensorflow.registry import TRANSLATIONS
from edgewright.frontends.tensorflow.saved_model import TensorflowFile
from edgewright.frontends.tensorflow.wire import Message
from tests.backend.tflite_suite import TranslatedOp
from tests.unit.frontends.tensorflow.test_cases import CASES, STORED, arrays

__all__ = ["translated"]

# Made of several nodes of a graph while it is read; no op of TensorFlow is called so.
OWN = frozenset({"Choice", "Loop"})
MODELS = Path(__file__).parents[1] / "unit" / "frontends" / "tensorflow" / "models.zip"


def translated() -> list[TranslatedOp]:
    """Every op that has a translation."""
    counts: Counter[str] = Counter()
    becomes: dict[str, set[str]] = defaultdict(set)
    for case in CASES:
        graph = read_graph(Message(STORED[f"{case}/graph"].tobytes()))
        functions = [node.op for function in graph.functions.values() for node in function.nodes]
        counts.update({*functions, *(node.op for node in graph.nodes)})
        file = TensorflowFile(case, graph, "TensorFlow frozen graph")
        done = TensorflowSource(file, InputSpec(outputs=list(arrays(case, "y")))).build({})
        for step in done.steps:
            made = done.emitted[step.first : step.last]
            becomes[step.node.op].update(type(node.op).qnn_name() for node in made)
    counts.update(_in_models())
    names = [name for name in sorted(TRANSLATIONS) if name not in OWN]
    return [TranslatedOp(name, counts[name], tuple(sorted(becomes[name]))) for name in names]


def _in_models() -> Counter[str]:
    """Ops of the networks that are held against TensorFlow as well: loops, variables, older graphs."""
    found: Counter[str] = Counter()
    with TemporaryDirectory() as folder, ZipFile(MODELS) as models:
        models.extractall(folder)
        for name in sorted({_model(item) for item in models.namelist()} - {""}):
            graph = TensorflowFile.open(Path(folder, name)).graph
            functions = [node.op for function in graph.functions.values() for node in function.nodes]
            found.update({*functions, *(node.op for node in graph.nodes)})
    return found


def _model(member: str) -> str:
    """The model that a member of the archive belongs to; "" where that is none."""
    folder, slash, rest = member.partition("/")
    return (
        folder
        if slash and rest == "saved_model.pb"
        else member * (not slash and member.endswith((".pb", ".meta")))
    )
