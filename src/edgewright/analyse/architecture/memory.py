"""Rules about memory, shapes and ops that the HTP does badly or not at all."""

from collections.abc import Iterator

from edgewright.analyse.architecture.costs import VTCM_BYTES, spell_bytes
from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Rule
from edgewright.ir.symbols import batch_symbols
from edgewright.ops.detection import NonMaxSuppression
from edgewright.ops.gather import GatherElements, GatherNd, NonZero
from edgewright.ops.gather_scatter import ScatterElements, ScatterNd
from edgewright.ops.recurrent import Recurrent
from edgewright.ops.reduce_order import CumulativeSum, TopK
from edgewright.passes.partition.htp_gaps import find_htp_gaps
from edgewright.quantize.roles import find_roles

VTCM = "8 MB of VTCM on most chips (edgewright targets lists them)"
SCATTERED = (
    *(GatherElements, GatherNd, NonZero, ScatterElements, ScatterNd, TopK, CumulativeSum, NonMaxSuppression),
)


def _find_large_tensors(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        sizes = [model.costs.count_bytes(value) for value in node.outputs if value]
        size = max(sizes, default=0)
        if size > VTCM_BYTES:
            yield Hit(
                node,
                f"{spell_bytes(size)} are written to and read from memory outside",
                weight=model.costs.share_bytes(size),
            )


def _find_large_weights(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        places = find_roles(model.graph, node).weights
        size = sum(model.costs.count_bytes(node.inputs[place]) for place in places)
        if size > VTCM_BYTES:
            text = f"{spell_bytes(size)} of weights are read from memory outside in every run"
            yield Hit(node, text, weight=model.costs.share(model.costs.count_padded_macs(node)))


def _find_open_shapes(model: CheckedGraph) -> Iterator[Hit]:
    types = model.graph.types
    # An open batch becomes 1 where nothing is said.
    batch = batch_symbols({name: types[name] for name in model.graph.inputs})
    symbols = {name: sorted(map(str, types[name].symbols - set(batch))) for name in model.graph.inputs}
    for name, each in symbols.items():
        if each:
            yield Hit(
                issue=f"Input '{name}' has open dimensions: {', '.join(each)}.",
                remedy=f"Fix them: --input_dim {name} SIZES, or --define_symbol {each[0]} SIZE.",
            )
    if not any(symbols.values()):
        for node in model.graph.nodes:
            if any(types[value].symbols - set(batch) for value in node.outputs if value):
                yield Hit(node, issue="The shape of its result is known only in a run.")
                return


def _find_recurrent(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op, Recurrent):
            yield Hit(node)


def _find_gaps(model: CheckedGraph) -> Iterator[Hit]:
    types = {name: model.graph.types[name] for name in model.graph.inputs}
    if any(kind.symbols - set(batch_symbols(types)) for kind in types.values()):
        # Nothing can be compiled before shapes are known; that is said by itself.
        return
    for gap in find_htp_gaps(model.graph):
        # Converters make 64-bit integers narrower.
        if "int_64" not in gap.reason:
            yield Hit(model.graph.node(gap.node), issue=f"The HTP cannot run it: {gap.reason}.")


def _find_scattered(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op, SCATTERED):
            size = sum(model.costs.count_bytes(value) for value in node.outputs if value)
            yield Hit(node, weight=model.costs.share_bytes(size))


RULES = (
    Rule(
        "unsupported_op",
        "The HTP cannot run this op.",
        "Replace the op in the source model, or end the model before it.",
        "the library has no such op, or not with these datatypes",
        "the library's own list of ops (2.51): the model is refused, or this part runs on the CPU",
        _find_gaps,
        grade="error",
    ),
    Rule(
        "dynamic_shape",
        "The model has open dimensions.",
        "Fix them when the model is converted.",
        "a graph of the HTP is compiled for fixed sizes",
        "QNN: such a model is refused, and elsewhere runs on the CPU",
        _find_open_shapes,
        grade="error",
    ),
    Rule(
        "recurrent",
        "This recurrent layer is computed step by step.",
        "Try shorter sequences or convolutions over time, or one step at a time with states outside.",
        "the HTP has no recurrent layers: each step is written out as ops of its own, one behind the other",
        "estimated: as many copies of the cell as there are steps",
        _find_recurrent,
    ),
    Rule(
        "scattered",
        "This op picks or places elements by computed indices, or by order.",
        "Try ending the model before it and computing it on the CPU, or a formula without it.",
        "elements are moved one by one, where vector units move 128 bytes at a time",
        "estimated; reports of users: quantized detectors become slow or wrong behind ScatterNd",
        _find_scattered,
        grade="note",
    ),
    Rule(
        "large_tensor",
        "This tensor is larger than the memory beside the HTP's units.",
        "Try a smaller resolution, tiles of the input, fewer channels where it is largest, or 8 bits.",
        "what does not fit is written to memory outside and read back",
        f"estimated from shapes; {VTCM}",
        _find_large_tensors,
    ),
    Rule(
        "large_weights",
        "The weights of this op are larger than the memory beside the HTP's units.",
        "Try weights of 4 bits, or a smaller layer.",
        "they come from memory outside in every run: its speed decides, not that of the products",
        f"estimated from shapes; {VTCM}",
        _find_large_weights,
        grade="note",
    ),
)
