"""Builds a live graph from records: validated op by op, then created, connected and finalized."""

from collections.abc import Iterable
from ctypes import byref, c_void_p
from typing import Any

from edgewright.abi.codes import HtpGraphOption
from edgewright.abi.htp_structs import HtpGraphConfig
from edgewright.abi.structs import Tensor
from edgewright.backends.qnn.library import Library, configs, custom_config
from edgewright.backends.qnn.ops import op_config
from edgewright.backends.qnn.options import GraphOptions
from edgewright.backends.qnn.refusals import REFUSALS, refusal
from edgewright.backends.qnn.tensors import Kept, write_tensor
from edgewright.core.errors import EdgewrightError, Problems, Where
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor

_FINALIZE_LEVEL, _DLBC = 3, 4
_FLOAT_16, _FLOAT_32 = 1, 0


class LiveGraph:
    """A graph inside a context, with the structs of its tensors."""

    def __init__(self, handle: c_void_p, record: QnnGraph | None = None) -> None:
        self.handle = handle
        self.record = record
        self.kept = Kept()
        self.tensors: dict[str, Tensor] = {}
        self.inputs: list[QnnTensor] = []
        self.outputs: list[QnnTensor] = []


def _refused(library: Library, record: QnnGraph) -> list[EdgewrightError]:
    """Everything that the library's own validator refuses."""
    kept = Kept()
    tensors = {item.name: write_tensor(item, kept) for item in _all_tensors(record)}
    refused: list[EdgewrightError] = []
    for node in record.nodes:
        with library.heard() as said:
            code = library.interface.call(
                "backendValidateOpConfig", library.backend, op_config(node, tensors, kept)
            )
        if code and code not in REFUSALS:
            raise library.failure("backendValidateOpConfig", code, Where(op=node.type, node=node.name))
        if code:
            refused.append(refusal(record, node, code, said, library.message(code)))
    return refused


def build(library: Library, context: c_void_p, record: QnnGraph, graph_settings: Any) -> LiveGraph:
    """The graph with its tensors and nodes, not yet finalized."""
    handle = c_void_p()
    library.must("graphCreate", context, record.name.encode(), graph_settings, byref(handle))
    live = LiveGraph(handle, record)
    for item in _all_tensors(record):
        tensor = live.tensors[item.name] = write_tensor(item, live.kept)
        library.must("tensorCreateGraphTensor", handle, byref(tensor), where=Where(tensor=item.name))
    for node in record.nodes:
        config = op_config(node, live.tensors, live.kept)
        library.must("graphAddNode", handle, config, where=Where(op=node.type, node=node.name))
    return live


def graph_configs(options: GraphOptions, kept: Kept) -> Any:
    """HTP's configuration of a graph."""
    return configs([custom_config(item, kept) for item in _customs(options)], kept)


def checked(library: Library, records: Iterable[QnnGraph]) -> None:
    """Raises all refusals of all graphs at once."""
    refused = [problem for record in records for problem in _refused(library, record)]
    if refused:
        raise Problems(refused)


def _customs(options: GraphOptions) -> Iterable[HtpGraphConfig]:
    if options.optimization_level is not None:
        yield _optimization(_FINALIZE_LEVEL, options.optimization_level)
    if options.is_dlbc is not None:
        yield _optimization(_DLBC, int(options.is_dlbc))
    if options.is_fp16_relaxed is not None:
        yield _number(HtpGraphOption.PRECISION, _FLOAT_16 if options.is_fp16_relaxed else _FLOAT_32)
    if options.vtcm_mb is not None:
        yield _number(HtpGraphOption.VTCM_MB, options.vtcm_mb)
    if options.hvx_threads is not None:
        config = HtpGraphConfig(option=HtpGraphOption.HVX_THREADS)
        config.value.count = options.hvx_threads
        yield config


def _optimization(kind: int, value: int) -> HtpGraphConfig:
    config = HtpGraphConfig(option=HtpGraphOption.OPTIMIZATION)
    config.value.optimization.type, config.value.optimization.value = kind, float(value)
    return config


def _number(option: HtpGraphOption, value: int) -> HtpGraphConfig:
    config = HtpGraphConfig(option=option)
    config.value.number = value
    return config


def _all_tensors(record: QnnGraph) -> list[QnnTensor]:
    """Parameters first: a node's must exist before it is added."""
    params = [tensor for node in record.nodes for tensor in node.tensor_params.values()]
    return [*params, *record.tensors.values()]
