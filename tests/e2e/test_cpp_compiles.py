"""model.cpp compiles against our own headers, and its library builds the graph that it was written from."""

import functools
import json
import re
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright
import edgewright.abi
from edgewright.artifacts.cpp import bin as weight_tar
from edgewright.artifacts.cpp import writer
from edgewright.artifacts.description import Description
from edgewright.core.files import write_all
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import TensorKind
from tests.unit.artifacts.graphs import conv_graph, every_dtype_graph, quantized_graph

HEADERS = Path(edgewright.abi.__file__).parent / "csrc"
CSRC = Path(__file__).parent / "csrc"
FLAGS = ["-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-O0", f"-I{HEADERS}"]
# On purpose hostile: all of it lands in the source.
ABOUT = Description("m.cpp", "m.bin", "tool; a=*/ #error 1; b=\\", 'me */ #error 2\n"', "", "Linux_net")

missing = [tool for tool in ("g++", "objcopy") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed")


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """The parts that all models share, compiled once."""
    folder = tmp_path_factory.mktemp("objects")
    for name in ("QnnModel", "QnnWrapperUtils"):
        run("g++", *FLAGS, "-c", HEADERS / f"{name}.cpp", "-o", f"{name}.o", cwd=folder)
    run("g++", *FLAGS, CSRC / "recorder.cpp", "-o", "recorder", "-ldl", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def library_of(objects, tmp_path_factory):
    """The library of a graph, built once."""
    return functools.cache(lambda make: build(make(), tmp_path_factory.mktemp("model"), objects))


def build(graph, folder, objects):
    """The model library: source, weights as objects, and the builder."""
    statics = graph.of_kind(TensorKind.STATIC)
    write_all(
        {folder / "m.cpp": writer.to_chunks(graph, ABOUT), folder / "m.bin": weight_tar.to_chunks(statics)}
    )
    (folder / "obj" / "binary").mkdir(parents=True)
    weights = []
    with tarfile.open(folder / "m.bin") as tar:
        for member in tar.getmembers():
            (folder / "obj" / "binary" / member.name).write_bytes(tar.extractfile(member).read())
            weights.append(f"{member.name}.o")
            elf = ("-I", "binary", "-O", "elf64-x86-64", "-B", "i386:x86-64")
            run("objcopy", *elf, f"obj/binary/{member.name}", weights[-1], cwd=folder)
    shared = [objects / "QnnModel.o", objects / "QnnWrapperUtils.o"]
    run("g++", *FLAGS, "-shared", "m.cpp", *shared, *weights, "-o", "libm.so", cwd=folder)
    return folder / "libm.so"


def calls(library, objects, *arguments):
    """What the library asks of a backend, line by line."""
    done = run(objects / "recorder", library, ABOUT.prefix, *(arguments or ("plain",)), cwd=library.parent)
    return done.stdout.splitlines()


def test_structs_have_the_published_layout(tmp_path):
    run("g++", *FLAGS, "-fsyntax-only", CSRC / "layout.cpp", cwd=tmp_path)


def test_headers_compile_as_older_cpp_too(tmp_path):
    flags = [flag.replace("gnu++17", "gnu++11") for flag in FLAGS]
    run("g++", *flags, "-fsyntax-only", HEADERS / "QnnModel.cpp", cwd=tmp_path)


@pytest.mark.parametrize("make", [conv_graph, quantized_graph, every_dtype_graph])
def test_the_library_creates_every_tensor_and_node_of_the_records(make, library_of, objects):
    graph = make()
    lines = calls(library_of(make), objects)
    created = {line.split()[2]: line for line in lines if line.startswith("tensor ")}
    params = [param for node in graph.nodes for param in node.tensor_params.values()]
    for tensor in graph.tensors.values():
        assert _without_id(created.pop(tensor.name)) == _expected(tensor, is_packed=tensor.dtype.bits == 4)
    for tensor in params:
        assert _without_id(created.pop(tensor.name)) == _expected(tensor)
    assert not created
    assert lines[-1] == "freed 0"


@pytest.mark.parametrize("make", [conv_graph, quantized_graph, every_dtype_graph])
def test_nodes_keep_order_types_inputs_and_parameters(make, library_of, objects):
    graph = make()
    lines = calls(library_of(make), objects)
    ids = {line.split()[2]: line.split()[1] for line in lines if line.startswith("tensor ")}
    expected = [line for node in graph.nodes for line in _node_lines(node, ids)]
    found = [line.rstrip() for line in lines if line.startswith(("node ", "param "))]
    assert found == expected


def test_graph_inputs_and_outputs_are_described_to_the_caller(library_of, objects):
    lines = calls(library_of(quantized_graph), objects)
    described = [line for line in lines if line.startswith(("info ", "input ", "output "))]
    assert [line.split()[0] for line in described] == ["info", "input", "output"]
    assert described[0] == "info quantized"
    assert "x version=2 type=0 dtype=1046 dims=[1,3] encoding=0 0.000388179993:-2778" in described[1]
    assert f"sdk {writer.SDK_VERSION}" in lines


def test_debug_turns_intermediate_tensors_into_outputs(library_of, objects):
    library = library_of(conv_graph)
    outputs = [line.split()[2] for line in calls(library, objects, "debug") if line.startswith("output ")]
    assert outputs == ["conv_out", "_575"]


def test_a_node_that_the_backend_refuses_ends_the_composition_with_its_code(library_of, objects):
    lines = calls(library_of(conv_graph), objects, "plain", "relu")
    assert lines[-1] == "composed 11 graphs=0"


def test_weights_that_do_not_fill_their_dims_are_refused(tmp_path, objects):
    graph = conv_graph()
    library = build(graph, tmp_path, objects)
    source = (
        (tmp_path / "m.cpp")
        .read_text()
        .replace("dimensions_w[] = {2, 2, 3, 2}", "dimensions_w[] = {2, 2, 3, 9}")
    )
    (tmp_path / "m.cpp").write_text(source)
    shared = [objects / "QnnModel.o", objects / "QnnWrapperUtils.o", "w.raw.o", "b.raw.o"]
    run("g++", *FLAGS, "-shared", "m.cpp", *shared, "-o", library, cwd=tmp_path)
    assert calls(library, objects)[-1] == "composed 1 graphs=0"


def test_names_that_are_macros_of_the_compiler_do_no_harm(tmp_path, objects):
    graph = conv_graph()
    weights = replace(graph.tensors.pop("w"), name="linux")
    graph.tensors["linux"] = weights
    graph.nodes[0] = replace(graph.nodes[0], name="unix", inputs=("x", "linux", "b"))
    assert calls(build(graph, tmp_path, objects), objects)[-1] == "freed 0"


def test_op_names_in_the_header_are_those_of_the_table():
    table = json.loads((Path(edgewright.__path__[0]) / "_data" / "ops.json").read_text())
    header = (HEADERS / "QnnOpDef.h").read_text()
    defined = re.findall(r'^#define QNN_OP_\w+ "(\w+)"$', header, re.MULTILINE)
    assert sorted(defined) == sorted(table)


def _without_id(line):
    word, _, rest = line.split(" ", 2)
    return f"{word} {rest}"


def _expected(tensor, *, is_packed=False):
    data = b"" if tensor.data is None else _bytes(tensor.data, is_packed)
    dims = ",".join(map(str, tensor.dims))
    head = f"tensor {tensor.name} version=2 type={int(tensor.kind)} dtype={int(tensor.dtype)} dims=[{dims}]"
    return f"{head} encoding={_encoding(tensor)} data={data.hex()}"


def _bytes(data, is_packed):
    """Elements one after the other; weights of 4 bits two in a byte, the first in its lower half."""
    array = np.ascontiguousarray(data)
    if not is_packed:
        return array.tobytes()
    halves = array.astype(np.uint8).reshape(-1) & 0xF
    halves = np.append(halves, np.zeros(halves.size % 2, np.uint8)).reshape(-1, 2)
    return (halves[:, 0] | halves[:, 1] << 4).tobytes()


def _encoding(tensor):
    encoding = tensor.encoding
    if encoding is None:
        return "-1"
    narrow = encoding.bitwidth != tensor.dtype.bits
    width = f"{encoding.bitwidth}b" if narrow else ""
    axis = "" if encoding.axis is None else f"{encoding.axis}/"
    steps = zip(encoding.scales, encoding.offsets, strict=True)
    code = 2 * narrow + (encoding.axis is not None)
    return f"{code} " + " ".join(f"{width}{axis}{float(np.float32(s)):.9g}:{o}" for s, o in steps)


def _node_lines(node, ids):
    named = [" ".join(f"{name}:{ids[name]}" for name in names) for names in (node.inputs, node.outputs)]
    yield f"node {node.name} {node.package} {node.type} inputs={named[0]} outputs={named[1]}"
    for name, param in node.tensor_params.items():
        yield f"param {name} tensor {param.name}:{ids[param.name]}"
    for name, scalar in node.scalar_params.items():
        if scalar.dtype == DType.STRING:
            # C ends a text at its first zero
            yield f"param {name} text {scalar.value.split(chr(0))[0].encode().hex()}"
        else:
            raw = np.array(scalar.value, scalar.dtype.numpy).tobytes()
            number = int.from_bytes(raw, "little")
            yield f"param {name} scalar {int(scalar.dtype)} {number:016x}"
