"""The cases that the onnx package stores as files: small models, models of PyTorch, and the light ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test

DATA = Path(onnx.backend.test.__file__).parent / "data"
KINDS = ("simple", "pytorch-operator", "pytorch-converted")


@dataclass(frozen=True)
class StoredCase:
    """A model with inputs and expected outputs, in the shape of ONNX's own cases."""

    name: str
    model: onnx.ModelProto
    data_sets: list[tuple[list[Any], list[Any]]]
    rtol: float = 1e-3
    atol: float = 1e-7


def stored_cases(kind: str) -> Iterator[StoredCase]:
    """The cases of one folder, by name."""
    for folder in sorted((DATA / kind).iterdir()):
        if (folder / "model.onnx").exists():
            model = onnx.load(folder / "model.onnx")
            sets = [
                (_values(data, "input", model.graph.input), _values(data, "output", model.graph.output))
                for data in sorted(folder.glob("test_data_set*"))
            ]
            yield StoredCase(folder.name, model, sets, **_tolerance(folder))


def light_cases() -> Iterator[StoredCase]:
    """The nine light models, with the input that their stored outputs were made from."""
    for path in sorted((DATA / "light").glob("light_*.onnx")):
        model = onnx.load(path)
        stored = {tensor.name for tensor in model.graph.initializer}
        inputs = [_ramp(item) for item in model.graph.input if item.name not in stored]
        outputs = [
            onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_{index}.pb").read_bytes())
            for index in range(len(model.graph.output))
        ]
        yield StoredCase(path.stem, model, [(inputs, outputs)])


def _values(folder: Path, kind: str, items: Any) -> list[Any]:
    """Tensors as they are; None for a sequence or an optional, which no graph here takes."""
    found = []
    for index, item in enumerate(items):
        path = folder / f"{kind}_{index}.pb"
        if path.exists():
            is_tensor = item.type.HasField("tensor_type")
            found.append(onnx.TensorProto.FromString(path.read_bytes()) if is_tensor else None)
    return found


def _tolerance(folder: Path) -> dict[str, float]:
    path = folder / "data.json"
    data = json.loads(path.read_text()) if path.exists() else {}
    return {key: data[key] for key in ("rtol", "atol") if key in data}


def _ramp(item: onnx.ValueInfoProto) -> Any:
    shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in item.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)
