"""Contexts on the genuine libraries: binaries, several graphs, options, profiling, refusals."""

import gc
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from edgewright.backends.qnn.backend import live_records
from edgewright.backends.qnn.options import GraphOptions, HtpOptions, Priority, ProfilingLevel
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.backends.qnn.shared import FOLDER
from edgewright.core.errors import BadInput, Problems, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, TensorKind
from tests.native.nets import conv_net, values

BUILD = """
import hashlib
from edgewright.backends.qnn.backend import live_records
from edgewright.backends.qnn.runtime import QnnRuntime
from tests.native.nets import conv_net
graph = conv_net()
with QnnRuntime() as runtime:
    print(hashlib.sha256(runtime.compile([live_records(graph, graph.outputs)]).binary()).hexdigest())
"""


def records(name="net", **more):
    graph = conv_net(name, **more)
    return live_records(graph, graph.outputs)


@pytest.fixture(scope="module")
def runtime():
    with QnnRuntime() as opened:
        yield opened


def test_the_library_tells_its_version_and_its_ops(runtime):
    assert runtime.version.core[0] == 2
    assert runtime.version.is_tested
    assert {"Conv2d", "MatMul", "Softmax"} <= set(runtime.operations())


def test_a_loaded_binary_computes_what_the_compiled_graph_did(runtime):
    context = runtime.compile([records()])
    wanted = context.run("net", {"x": values()})["y"]
    loaded = runtime.load(context.binary())
    assert [graph.name for graph in loaded.graphs] == ["net"]
    np.testing.assert_array_equal(loaded.run("net", {"x": values()})["y"], wanted)
    assert len(np.unique(wanted)) > 20


def test_metadata_of_a_binary_names_chip_versions_and_tensors(runtime):
    info = runtime.info(runtime.compile([records()]).binary())
    assert (info.soc_model, info.dsp_arch, info.backend_id) == (57, 75, 6)
    (graph,) = info.graphs
    (x,) = graph.inputs
    assert (x.name, x.dims, x.dtype) == ("x", (1, 8, 8, 16), DType.UFIXED_POINT_8)
    assert x.encoding == Encoding((float(np.float32(0.02)),), (-128,))
    assert graph.vtcm_bytes


def test_graph_options_reach_the_binary(runtime):
    options = HtpOptions(graph=GraphOptions(vtcm_mb=2, optimization_level=3), priority=Priority.HIGH)
    info = runtime.info(runtime.compile([records()], options).binary())
    assert info.graphs[0].vtcm_bytes == 2 << 20
    assert info.graphs[0].optimization_level == 3


def test_two_graphs_share_their_weights_when_asked(runtime):
    both = [records("first", channels=64), records("second", channels=64)]
    apart = runtime.compile(both).binary()
    shared = runtime.compile(both, HtpOptions(is_weight_sharing=True)).binary()
    assert len(shared) < 0.8 * len(apart)
    loaded = runtime.load(apart)
    first, second = (loaded.run(name, {"x": values(64)})["y"] for name in ("first", "second"))
    np.testing.assert_array_equal(first, second)


def test_another_chip_needs_another_runtime(runtime):
    with pytest.raises(UsageError, match="opened for SoC 57, asked for 43"):
        runtime.compile([records()], HtpOptions(soc_model=43))
    with QnnRuntime(HtpOptions(soc_model=43)) as other:
        info = other.info(other.compile([records()]).binary())
    assert (info.soc_model, info.dsp_arch) == (43, 73)


def test_two_fresh_processes_give_the_same_bytes():
    words = [sys.executable, "-c", BUILD]
    found = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert found[0] == found[1]
    # Nothing but our own line: what the library prints at load does not reach stdout.
    assert len(found[0].strip()) == 64


@pytest.mark.parametrize("level", [ProfilingLevel.BASIC, ProfilingLevel.DETAILED, ProfilingLevel.LINTING])
def test_profiling_is_labelled_as_host_emulation(runtime, level):
    context = runtime.compile([records()], HtpOptions(profiling=level))
    context.run("net", {"x": values()})
    events = context.profile()
    assert {event.measured_on for event in events} == {"host emulation"}
    assert any(event.unit == "microseconds" and event.value > 0 for event in events)
    assert any(event.depth for event in events) == (level != ProfilingLevel.BASIC)


def test_all_refusals_come_in_one_report(runtime):
    graph = records()
    nodes = [replace(node, type="NoSuchOp", name=f"{node.name}_x") for node in graph.nodes]
    with pytest.raises(Problems) as caught:
        runtime.compile([QnnGraph(graph.name, graph.tensors, nodes)])
    assert [error.where.node for error in caught.value.errors] == [node.name for node in nodes]
    assert caught.value.exit_code == 4
    assert "HTP has no op 'NoSuchOp'" in str(caught.value)


def changed(name, **fields):
    graph = records()
    return QnnGraph(graph.name, {**graph.tensors, name: replace(graph.tensors[name], **fields)}, graph.nodes)


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (lambda: changed("x", dims=(1, 0, 8, 16)), "dimensions are"),
        (lambda: changed("x", dims=()), "dimensions are"),
        (lambda: changed("w", data=np.zeros(3, np.int8)), "data is int8"),
        (lambda: changed("w", data=None), "static tensor has no data"),
        (lambda: changed("x", encoding=None), "has no encoding"),
        (lambda: changed("x", encoding=Encoding((float("nan"),), (0,))), "scale is nan"),
        (lambda: changed("x", encoding=Encoding((-1.0,), (0,))), "scale is -1.0"),
        (lambda: changed("w", encoding=Encoding((0.1,) * 3, (0,) * 3, 3)), "3 scales along axis 3"),
        (lambda: changed("w", encoding=Encoding((0.1,) * 16, (0,) * 16, 7)), "axis is 7"),
        (
            lambda: changed("c", kind=TensorKind.NATIVE, encoding=Encoding((1.0, 2.0), (0, 0))),
            "without an axis",
        ),
    ],
)
def test_what_the_library_does_not_check_is_checked_before(runtime, graph, why):
    with pytest.raises(Problems, match=why):
        runtime.compile([graph()])
    assert runtime.is_alive


def test_nodes_out_of_order_are_refused_before_the_library_sees_them(runtime):
    graph = records()
    with pytest.raises(Problems, match="is read before a node computes it"):
        runtime.compile([QnnGraph(graph.name, graph.tensors, graph.nodes[::-1])])


def test_inputs_of_another_size_never_reach_the_library(runtime):
    context = runtime.compile([records()])
    with pytest.raises(BadInput, match=r"expected uint8\[1, 8, 8, 16\]"):
        context.run("net", {"x": values()[:, :4]})
    with pytest.raises(UsageError, match="there is no graph 'other'"):
        context.run("other", {"x": values()})
    with pytest.raises(UsageError, match=r"needs inputs \['x'\]"):
        context.run("net", {})


def test_shared_memory_gives_what_messages_give(runtime):
    sent = runtime.compile([records()]).run("net", {"x": values()})["y"]
    shared = runtime.compile([records()], HtpOptions(is_shared=True))
    for seed in (0, 1, 0):
        found = shared.run("net", {"x": values(seed=seed)})["y"]
    np.testing.assert_array_equal(found, sent)
    assert not np.array_equal(found, shared.run("net", {"x": values(seed=1)})["y"])


def test_shared_memory_is_gone_with_its_context(runtime):
    before = set(FOLDER.iterdir())
    context = runtime.compile([records()], HtpOptions(is_shared=True))
    context.run("net", {"x": values()})
    assert len(set(FOLDER.iterdir()) - before) == 1
    del context
    gc.collect()
    assert set(FOLDER.iterdir()) <= before


def test_platform_options_reach_the_library_which_refuses_those_it_does_not_know():
    with pytest.raises(
        UsageError, match=r"refuses the platform options 'nothing:known': .*Invalid platform option"
    ):
        QnnRuntime(HtpOptions(platform="nothing:known"))
