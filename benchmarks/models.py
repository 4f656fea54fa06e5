"""The models that are measured: of the repository, of ONNX, of public packages, of folders a user names."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

__all__ = ["FETCHED", "generated_model", "inputs_for", "model_files"]

EXAMPLES = Path(__file__).parents[1] / "examples" / "models"
# What `make bench-models` fetches and makes: models and data.
FETCHED = Path(__file__).parents[1] / ".cache" / "bench"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
# Elements of one weight of a generated model: 16 MB of float32.
WEIGHT = (2048, 2048)


def model_files(folders: list[Path]) -> Iterator[Path]:
    """ONNX files of the repository, of the onnx package and of the given folders, or what was fetched."""
    for folder in (EXAMPLES, LIGHT, *(folders or [FETCHED])):
        yield from sorted(folder.glob("*.onnx"))


def inputs_for(session: object, seed: int = 7) -> dict[str, np.ndarray]:
    """Random inputs of the types that an ONNX Runtime session declares; open dimensions become 1."""
    random = np.random.default_rng(seed)
    return {item.name: _data(random, item) for item in session.get_inputs()}  # type: ignore[attr-defined]


def generated_model(path: Path, megabytes: int, *, is_external: bool) -> None:
    """Writes a chain of matrix products with the given size of weights, inline or in a file beside it."""
    count = max(1, megabytes * 2**20 // (4 * WEIGHT[0] * WEIGHT[1]))
    names = [f"w{i}" for i in range(count)]
    nodes = [
        helper.make_node("MatMul", [f"x{i}", name], [f"x{i + 1}"], name=f"n{i}")
        for i, name in enumerate(names)
    ]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, WEIGHT[0]])
    y = helper.make_tensor_value_info(f"x{count}", TensorProto.FLOAT, [1, WEIGHT[1]])
    graph = helper.make_graph(nodes, "generated", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    _write(path, model, names, is_external=is_external)


def _write(path: Path, model: onnx.ModelProto, names: list[str], *, is_external: bool) -> None:
    """Weights are written one by one: protobuf itself cannot hold more than 2 GB."""
    size = 4 * WEIGHT[0] * WEIGHT[1]
    if is_external:
        for index, name in enumerate(names):
            tensor = model.graph.initializer.add(name=name, data_type=TensorProto.FLOAT, dims=WEIGHT)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", path.name + ".data"), ("offset", index * size), ("length", size)):
                tensor.external_data.add(key=key, value=str(value))
        path.write_bytes(model.SerializeToString())
        with path.with_name(path.name + ".data").open("wb") as file:
            for index in range(len(names)):
                file.write(_weight(index))
        return
    with path.open("wb") as file:
        head = model.graph.SerializeToString()
        tensors = [
            TensorProto(name=n, data_type=TensorProto.FLOAT, dims=WEIGHT).SerializeToString() for n in names
        ]
        raw = _key(9, 2) + _varint(size)
        total = len(head) + sum(
            len(_key(5, 2) + _varint(len(t) + len(raw) + size)) + len(t) + len(raw) + size for t in tensors
        )
        del model.graph.node[:], model.graph.input[:], model.graph.output[:]
        model.ClearField("graph")
        file.write(model.SerializeToString() + _key(7, 2) + _varint(total) + head)
        for index, tensor in enumerate(tensors):
            file.write(_key(5, 2) + _varint(len(tensor) + len(raw) + size) + tensor + raw + _weight(index))


def _weight(index: int) -> bytes:
    random = np.random.default_rng(index)
    return (random.standard_normal(WEIGHT, np.float32) / np.float32(np.sqrt(WEIGHT[0]))).tobytes()


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _data(random: np.random.Generator, item: object) -> np.ndarray:
    shape = [dim if isinstance(dim, int) and dim > 0 else 1 for dim in item.shape]  # type: ignore[attr-defined]
    kind = item.type  # type: ignore[attr-defined]
    if kind in {"tensor(float)", "tensor(double)", "tensor(float16)"}:
        dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}[
            kind
        ]
        return random.standard_normal(shape).astype(dtype)
    if kind == "tensor(bool)":
        return random.random(shape) < 0.5
    return random.integers(0, 5, shape).astype(kind.removeprefix("tensor(").removesuffix(")"))
