"""DSP and LPAI, which no library for this machine exists of: what QNN lists for them, checked and computed.

The fixed-point meaning of each op, rounded to the nearest step: no device was compared with it.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu import CpuBackend
from edgewright.core.errors import EdgewrightError, Problems, UnsupportedFeature, UnsupportedOp, Where
from edgewright.ir.graph import Graph
from edgewright.lower.lower import lower
from edgewright.lower.qnn_graph import QnnGraph, QnnNode
from edgewright.passes.pipeline import run_passes
from edgewright.targets.processor_ops import find_datatypes, read_processor_ops

log = logging.getLogger(__name__)

BITS = 8


@dataclass(frozen=True)
class Processor:
    """A processor, and the lines of the reference guide that its rules come from."""

    # As QNN's op tables name it.
    table: str
    called: str
    libraries: tuple[str, ...]
    # Where the guide says that it needs quantized models, and where it names its libraries.
    quantized_line: str
    # One scale for a tensor, and 8 bits.
    is_eight_bit: bool


DSP = Processor(
    "DSP",
    "the Hexagon DSP (v65, v66)",
    ("libQnnDsp.so", "libQnnDspV65Stub.so", "libQnnDspV66Stub.so", "QnnDsp.dll", "QnnDspV66Stub.dll"),
    "the reference guide of QNN",
    is_eight_bit=True,
)
LPAI = Processor(
    "LPAI",
    "the low-power AI processor",
    ("libQnnLpai.so",),
    "its op tables, which list no floats",
    is_eight_bit=False,
)


class ListedBackend:
    """Graphs of ops and datatypes that QNN lists for a processor; everything else is refused."""

    # Real numbers are converted outside of the processor.
    has_exact_ends = False

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self.name = f"{processor.table.lower()} (simulation)"
        self.library_names = processor.libraries

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session, after everything that the processor lacks was refused at once."""
        checked = graph.copy()
        run_passes(checked, ("narrow_int64",))
        problems = list(_find_problems(lower(checked), self._processor))
        if problems:
            raise Problems(problems)
        _say_that_it_is_simulated(self._processor)
        return CpuBackend().prepare(graph, options)


def make_dsp() -> ListedBackend:
    """The DSP of chips before the HTP."""
    return ListedBackend(DSP)


def make_lpai() -> ListedBackend:
    """The low-power AI processor."""
    return ListedBackend(LPAI)


@cache
def _say_that_it_is_simulated(processor: Processor) -> None:
    log.warning(
        "no %s for this machine exists: %s is simulated, each op rounded to the nearest step",
        processor.libraries[0],
        processor.called,
    )


def _find_problems(records: QnnGraph, processor: Processor) -> Iterable[EdgewrightError]:
    if not any(tensor.dtype.is_fixed_point for tensor in records.tensors.values()):
        yield UnsupportedFeature(
            f"the model is not quantized, {processor.called} needs a quantized one "
            f"({processor.quantized_line})",
            do="quantize it with 8 bits: edgewright quantize, or --input_list in a converter",
        )
        return
    for node in records.nodes:
        yield from _find_node_problems(records, node, processor)
    if processor.is_eight_bit:
        yield from _find_encoding_problems(records)


def _find_node_problems(records: QnnGraph, node: QnnNode, processor: Processor) -> Iterable[EdgewrightError]:
    table = read_processor_ops(processor.table).get(node.type)
    where = Where(op=node.type, node=node.name)
    if table is None:
        yield UnsupportedOp(
            f"QNN's op tables list no {node.type} for {processor.called}",
            where,
            do=f"cut the graph before it, or run that part on the CPU: {processor.table.lower()}+cpu",
        )
        return
    sides = (("in", node.inputs), ("out", node.outputs))
    for side, index, name in ((side, i, name) for side, names in sides for i, name in enumerate(names)):
        tensor, allowed = records.tensors[name], find_datatypes(table, side, index)
        if tensor.dtype.name not in allowed and tensor.kind.name != "NULL":
            listed = ", ".join(sorted(allowed)) or "nothing"
            yield UnsupportedFeature(
                f"{side}[{index}] is {tensor.dtype.name}, QNN's op tables list {listed} for "
                f"{processor.called}",
                Where(op=node.type, node=node.name, tensor=name),
                do="quantize weights, biases and activations to one of these",
            )


def _find_encoding_problems(records: QnnGraph) -> Iterable[EdgewrightError]:
    """The guide's quantization is asymmetric (lines 3946 and 3950), with one scale unless asked (line 2075).

    That a DSP has scales of channels, or fewer bits, is said nowhere: it is refused.
    """
    for tensor in records.tensors.values():
        encoding = tensor.encoding
        if encoding is None or tensor.dtype.bits != BITS:
            continue
        if encoding.axis is not None or encoding.bitwidth != BITS:
            how = f"{len(encoding.scales)} scales along an axis" if encoding.axis is not None else "one scale"
            yield UnsupportedFeature(
                f"the tensor has {encoding.bitwidth} bits and {how}, expected 8 bits and one scale for a "
                "tensor: QNN's reference guide gives the DSP nothing else",
                Where(tensor=tensor.name),
                do="quantize without per-channel scales and with 8-bit weights",
            )
