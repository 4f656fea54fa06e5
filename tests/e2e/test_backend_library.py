"""Our backends behind QNN's C interface, called as a C program calls them."""

import os
import subprocess
import sys
import threading
import time
from ctypes import byref, c_char_p, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.abi.structs import Tensor
from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.contexts import LiveContext
from edgewright.backends.qnn.library import Library
from edgewright.backends.qnn.options import HtpOptions, ProfilingLevel
from edgewright.backends.qnn.system import SystemLibrary
from edgewright.backends.registry import find_backend
from edgewright.core.errors import BackendCrash, EdgewrightError, Problems
from edgewright.lower.lift import lift
from edgewright.lower.lower import lower
from edgewright.run.context.info import own_context
from edgewright.targets.htp_ops import read_htp_ops
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.umbrella import main
from tests.cli.models import DIGITS_MODEL
from tests.unit.ops.test_samples import SAMPLES, graph_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library is for Linux")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    assert main(["backend-library", "-o", str(folder), "--qnn-names"]) == 0
    assert main(["backend-library", "-o", str(folder), "--kind", "htp-sim"]) == 0
    return folder


@pytest.fixture(scope="module")
def cpu(folder):
    return open_library(folder / "libQnnCpu.so")


@pytest.fixture(scope="module")
def simulation(folder):
    return open_library(folder / "libEdgewrightHtpSim.so")


def open_library(path):
    library = Library(path, 2)
    library.open(0, None)
    return library


def digits():
    """The records of a small network, an input, and what our own session computes."""
    records = lower(ew.convert(DIGITS_MODEL).graph)
    (tensor,) = records.of_kind(0)
    image = np.random.default_rng(3).random(tensor.dims, np.float32)
    return records, {tensor.name: image}


def run_own(records, feed, backend):
    graph = lift(records)
    names = {name: records.source_names.get(name, name) for name in feed}
    found = find_backend(backend).prepare(graph, RunOptions()).run({names[n]: feed[n] for n in feed})
    return {
        tensor.name: found[records.source_names.get(tensor.name, tensor.name)]
        for tensor in records.of_kind(1)
    }


def run_library(library, records, feed, profiling=ProfilingLevel.OFF):
    context = LiveContext(library, HtpOptions(profiling=profiling))
    context.compile([records])
    found = context.execute(records.name, feed)
    return context, found


def test_the_command_writes_what_its_options_name(folder):
    names = {item.name for item in folder.iterdir()}
    assert names == {"libQnnCpu.so", "libQnnSystem.so", "libEdgewrightHtpSim.so"}


def test_the_library_of_another_is_not_replaced(tmp_path, capsys):
    (tmp_path / "libQnnHtp.so").write_bytes(b"\x7fELF another one")
    assert main(["backend-library", "-o", str(tmp_path), "--kind", "htp-sim", "--qnn-names"]) == 2
    assert "another library" in capsys.readouterr().err
    assert (tmp_path / "libQnnHtp.so").read_bytes() == b"\x7fELF another one"
    assert not (tmp_path / "libQnnSystem.so").exists()


def check_samples(library, samples):
    """How many samples give what our own session gives; those that differ or are refused fail."""
    wrong, equal = [], 0
    for sample in samples:
        name = f"{sample.op.qnn_name()}-{sample.label}"
        try:
            graph, feed = graph_of(sample)
            records = lower(graph)
            with np.errstate(all="ignore"):
                wanted = run_own(records, feed, "cpu")
        except EdgewrightError:
            continue
        # Tensors without elements are refused, as QNN has none.
        if any(0 in tensor.dims for tensor in records.tensors.values()):
            continue
        try:
            context, found = run_library(library, records, feed)
        except EdgewrightError as problem:
            wrong.append((name, str(problem)))
            continue
        context.free()
        if all(is_same(array, found[key]) for key, array in wanted.items()):
            equal += 1
        else:
            wrong.append((name, "it differs"))
    assert not wrong
    return equal


def is_same(wanted, found):
    return np.array_equal(found, wanted.reshape(found.shape), equal_nan=found.dtype.kind == "f")


def test_ops_give_what_our_own_session_gives(cpu):
    assert check_samples(cpu, SAMPLES[::9]) > 30


@pytest.mark.slow
def test_all_ops_give_what_our_own_session_gives(cpu):
    """Whatever records, datatypes, constants and parameters a graph has, they arrive."""
    assert check_samples(cpu, SAMPLES) > 300


@pytest.mark.parametrize("kind", ["cpu", "htp-sim"])
def test_a_quantized_network_gives_what_our_own_session_gives(kind, cpu, simulation, tmp_path):
    images = np.random.default_rng(1).random((8, 1, 1, 28, 28), np.float32)
    np.save(tmp_path / "images.npy", images)
    quantized = ew.quantize(ew.convert(DIGITS_MODEL), [images[i] for i in range(8)])
    records = lower(quantized.graph)
    (tensor,) = records.of_kind(0)
    feed = {tensor.name: np.random.default_rng(2).integers(0, 255, tensor.dims).astype(tensor.dtype.numpy)}
    _, found = run_library(cpu if kind == "cpu" else simulation, records, feed)
    wanted = run_own(records, feed, kind)
    for name, array in wanted.items():
        assert np.array_equal(found[name], array)
        assert np.ptp(array) > 0


def test_a_context_binary_is_one_of_ours(cpu, folder, tmp_path):
    records, feed = digits()
    context, found = run_library(cpu, records, feed)
    binary = context.binary()
    (tmp_path / "m.bin").write_bytes(binary.tobytes())
    assert [graph.name for graph in own_context(tmp_path / "m.bin").graphs] == [records.name]
    loaded = LiveContext(cpu, HtpOptions())
    loaded.load(SystemLibrary(folder / "libQnnSystem.so"), binary)
    again = loaded.execute(records.name, feed)
    for name, array in found.items():
        assert np.array_equal(again[name], array)
    assert np.array_equal(loaded.binary(), binary)
    # And our own tools run it.
    next(iter(feed.values())).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    words = ["--retrieve_context", str(tmp_path / "m.bin"), "--backend", "cpu"]
    assert (
        net_run([*words, "--input_list", str(tmp_path / "list.txt"), "--output_dir", str(tmp_path / "out")])
        == 0
    )
    (name, array), *_ = found.items()
    assert np.array_equal(
        np.fromfile(tmp_path / "out/Result_0" / f"{name}.raw", np.float32), array.reshape(-1)
    )


def test_a_binary_that_was_changed_or_is_for_another_backend_is_refused(cpu, simulation, folder):
    records, feed = digits()
    context, _ = run_library(cpu, records, feed)
    binary = context.binary()
    system = SystemLibrary(folder / "libQnnSystem.so")
    with pytest.raises(BackendCrash, match=r"5005.*this library is htp-sim"):
        LiveContext(simulation, HtpOptions()).load(system, binary)
    binary[-40] ^= 1
    with pytest.raises(EdgewrightError, match="30010"):
        LiveContext(cpu, HtpOptions()).load(system, binary)
    room, handle = binary[:100].copy(), c_void_p()
    words = (cpu.backend, None, None, room.ctypes.data, room.nbytes, byref(handle), None)
    assert cpu.interface.call("contextCreateFromBinary", *words) == 5005
    assert not handle


def test_what_is_refused_says_why(cpu, simulation):
    records, _ = digits()
    node = next(node for node in records.nodes if node.type == "Conv2d")
    broken = type(node)(
        node.name, node.package, "NoSuchOp", node.scalar_params, node.tensor_params, node.inputs, node.outputs
    )
    nodes = [broken if item is node else item for item in records.nodes]
    with pytest.raises((Problems, EdgewrightError), match="NoSuchOp"):
        run_library(cpu, type(records)(records.name, records.tensors, nodes), {})
    lacking = next(s for s in SAMPLES if s.op.qnn_name() not in read_htp_ops() and s.op.has_reference())
    with pytest.raises(EdgewrightError, match=f"HTP has no op '{lacking.op.qnn_name()}'"):
        run_library(simulation, lower(graph_of(lacking)[0]), {})


def test_profiles_have_times_and_those_of_nodes(cpu):
    records, feed = digits()
    context, _ = run_library(cpu, records, feed, ProfilingLevel.DETAILED)
    whole, *parts = context.profile.events()
    assert (whole.name, whole.unit, whole.depth) == (records.name, "microseconds", 0)
    assert whole.value > 0
    assert {part.depth for part in parts} == {1}
    assert {part.name for part in parts} <= {node.name for node in records.nodes} | {
        part.name for part in parts
    }
    assert any(part.name in {node.name for node in records.nodes} for part in parts)


def test_eight_threads_get_their_own_answers(cpu):
    records, feed = digits()
    context, _ = run_library(cpu, records, feed)
    ((name, image),) = feed.items()
    images = [np.roll(image, shift, axis=1) for shift in range(8)]
    wanted = [run_own(records, {name: item}, "cpu") for item in images]
    wrong = []

    def execute(index):
        for _ in range(25):
            found = context.execute(records.name, {name: images[index]})
            wrong.extend(key for key in found if not np.array_equal(found[key], wanted[index][key]))

    threads = [threading.Thread(target=execute, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_short_buffers_and_wrong_ids_are_refused(cpu):
    records, feed = digits()
    context, _ = run_library(cpu, records, feed)
    live = context.graph(records.name)
    ((name, image),) = feed.items()
    (output,) = (tensor.name for tensor in records.of_kind(1))

    def execute(change):
        tensors = {}
        for key, room in ((name, image), (output, np.zeros(10, np.float32))):
            tensors[key] = Tensor.from_buffer_copy(live.tensors[key])
            tensors[key].of.v1.memory.buffer.data = room.ctypes.data
            tensors[key].of.v1.memory.buffer.size = room.nbytes
        change(tensors[name].of.v1, tensors[output].of.v1)
        given, wanted = (Tensor * 1)(tensors[name]), (Tensor * 1)(tensors[output])
        return cpu.interface.call("graphExecute", live.handle, given, 1, wanted, 1, None, None)

    def set_field(path, value):
        def change(given, wanted):
            item, (*steps, last) = (given if path[0] == "in" else wanted), path[1:]
            for step in steps:
                item = getattr(item, step)
            setattr(item, last, value)

        return change

    assert execute(lambda _given, _wanted: None) == 0
    for path, value in (
        (("in", "memory", "buffer", "size"), image.nbytes - 1),
        (("out", "memory", "buffer", "size"), 39),
        (("in", "memory", "buffer", "data"), None),
        (("in", "memory", "buffer", "data"), 0xDEAD0000),
        (("out", "memory", "buffer", "data"), 8),
        (("in", "id"), live.tensors[output].of.v1.id),
        (("in", "id"), 4_000_000_000),
        (("in", "memory_type"), 1),
    ):
        assert execute(set_field(path, value)) == 6004, path
    reason = c_char_p()
    call = cpu.interface
    call._functions["errorGetVerboseMessage"] = call._bound("errorGetVerboseMessage", (c_uint64, c_void_p))
    assert call.call("errorGetVerboseMessage", 6004, byref(reason)) == 0
    assert b"memory of tensor" in reason.value


def test_handles_are_valid_once(cpu):
    records, feed = digits()
    context, _ = run_library(cpu, records, feed)
    call, live, handle = cpu.interface.call, context.graph(records.name), context._handle
    assert call("contextFree", handle, None) == 0
    assert call("contextFree", handle, None) == 5002
    assert call("graphFinalize", live.handle, None, None) == 6001
    assert call("graphExecute", live.handle, None, 0, None, 0, None, None) == 6001
    # The handle of a graph is none of a backend.
    assert call("backendFree", live.handle) == 4011


def run_child(module, library, **more):
    return subprocess.run(
        [sys.executable, "-m", module, str(library)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **more},
    )


def test_a_worker_that_is_gone_is_an_error_and_ends_with_its_client(folder):
    done = run_child("tests.e2e.kill_backend_worker", folder / "libQnnCpu.so")
    assert done.returncode == 0, done.stderr
    process = Path("/proc") / done.stdout.split()[-1]
    for _ in range(100):
        if not process.exists():
            return
        time.sleep(0.1)
    pytest.fail("the worker still runs")


def test_a_python_that_is_not_there_is_one_clear_error(folder):
    more = {"EDGEWRIGHT_PYTHON": "/nowhere/python"}
    done = run_child("tests.e2e.kill_backend_worker", folder / "libQnnCpu.so", **more)
    assert "backendCreate returned 4000" in done.stderr
    assert "/nowhere/python does not start" in done.stderr
