"""Times of single nodes: the engine's own profile, brought back to the nodes of the graph."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from edgewright.backends.base import NodeTime
from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.ir.graph import Graph
from edgewright.ops.cost import is_product, node_macs

_KERNEL = "_kernel_time"
# What the engine puts behind the name of a value or node when it makes another kernel of it.
_SUFFIX = re.compile(r"(_nchwc|_quant|_token_\d+|_\d+|/duplicated)$")
_PRODUCT = re.compile("Conv|Product|Depthwise|Gemm|MatMul|LSTM|GRU|RNN|Attention")
# Name, what the engine calls it, number of the run, microseconds since its start, time.
_Kernel = tuple[str, str, int, int, int]


class EngineProfile:
    """The profile of one session of the engine, from its first run to the moment it is read."""

    def __init__(self, graph: Graph, model: onnx.ModelProto) -> None:
        # What was written for the engine: the node that makes each value, and all nodes by name.
        self._makers = {value: node for node in model.graph.node for value in node.output if value}
        self._written = {node.name: node for node in model.graph.node}
        # A product costs most even where an open dimension hides how much.
        self._cost = {node.name: node_macs(graph, node) + is_product(node) for node in graph.nodes}
        self._folder = TemporaryDirectory(prefix="edgewright-profile-")
        # The engine's own file, once it was read.
        self.trace = b""

    def switch_on(self, settings: onnxruntime.SessionOptions) -> None:
        """Lets a session that is made with the settings measure its kernels."""
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(self._folder.name, "engine"))

    def read(self, session: onnxruntime.InferenceSession, starts: Sequence[int]) -> list[NodeTime]:
        """Times of all runs, which began at ``starts``; the session measures nothing afterwards."""
        self.trace = Path(session.end_profiling()).read_bytes()
        self._folder.cleanup()
        events = json.loads(self.trace)
        kernels = [found for found in _list_kernels(events) if found[2] < len(starts)]
        found = {name: find_written(name, self._written, self._makers) for name, *_ in kernels}
        done = self._done(kernels, found)
        owners = {name: [] if node is None else self._list_owners(node, done) for name, node in found.items()}
        return [
            NodeTime(owners[name][0], kernel, tuple(owners[name][1:]), run, starts[run] + start, time)
            if owners[name]
            else NodeTime("", kernel, (), run, starts[run] + start, time)
            for name, kernel, run, start, time in kernels
        ]

    def _done(self, kernels: Sequence[_Kernel], found: Mapping[str, Any]) -> set[str]:
        """Nodes of the graph with a kernel of their own; for a product that must be one that multiplies."""
        kinds = [
            (_find_owner(node), kernel) for name, kernel, *_ in kernels if (node := found[name]) is not None
        ]
        return {owner for owner, kernel in kinds if not self._cost.get(owner) or _PRODUCT.search(kernel)}

    def _list_owners(self, node: onnx.NodeProto, done: set[str]) -> list[str]:
        """Nodes of the graph that a kernel did, the dearest first: those before it without one were fused."""
        own = _find_owner(node)
        seen, waiting = {node.name: own}, [node]
        while waiting:
            for value in waiting.pop().input:
                before = self._makers.get(value)
                if before is None or before.name in seen or _find_owner(before) in done - {own}:
                    continue
                seen[before.name] = _find_owner(before)
                waiting.append(before)
        return sorted(dict.fromkeys(seen.values()), key=lambda name: -self._cost.get(name, 0))


def find_written_node(name: str, model: onnx.ModelProto) -> Any:
    """The written node that a node of the engine was made of; None for what the engine added of its own."""
    makers = {value: node for node in model.graph.node for value in node.output if value}
    return find_written(name, {node.name: node for node in model.graph.node}, makers)


def find_written(name: str, written: Mapping[str, Any], makers: Mapping[str, Any]) -> Any:
    """The same, of nodes by name and by what they make."""
    while name not in written and name not in makers:
        shorter = _SUFFIX.sub("", name)
        if shorter == name:
            inside = re.search(r"\S+#\d+", name)
            return written.get(inside.group()) if inside else None
        name = shorter
    return written[name] if name in written else makers[name]


def _find_owner(written: onnx.NodeProto) -> str:
    name: str = written.name.rpartition("#")[0]
    return name


def _list_kernels(events: Sequence[Mapping[str, Any]]) -> Iterator[_Kernel]:
    """All kernels; the engine tells of a run behind its kernels."""
    waiting: list[Mapping[str, Any]] = []
    run = 0
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(_KERNEL):
            waiting.append(event)
        elif event.get("name") == "model_run":
            for kernel in waiting:
                name, start = kernel["name"].removesuffix(_KERNEL), kernel["ts"] - event["ts"]
                yield name, kernel["args"].get("op_name", ""), run, start, kernel["dur"]
            waiting, run = [], run + 1
