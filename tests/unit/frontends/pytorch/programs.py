"""Writes programs for tests and compares what they become with torch itself."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from edgewright.core.errors import Problems
from edgewright.core.numbers import DType
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import Rewrites
from edgewright.frontends.torch_source import TorchSource
from edgewright.model.model import Model

__all__ = ["assert_same", "converted", "decomposed", "exported", "flat", "scripted", "traced", "wrapped"]


class _One(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.f = function

    def forward(self, a):
        return self.f(a)


class _Two(_One):
    def forward(self, a, b):
        return self.f(a, b)


class _Three(_One):
    def forward(self, a, b, c):
        return self.f(a, b, c)


def wrapped(function, count: int) -> nn.Module:
    """A function of so many tensors as a module."""
    return (_One, _Two, _Three)[count - 1](function).eval()


def traced(folder: Path, module: nn.Module, *inputs: torch.Tensor) -> Path:
    path = folder / "traced.pt"
    copies = tuple(item.clone() for item in inputs)
    torch.jit.trace(module.eval(), copies, check_trace=False, strict=False).save(str(path))
    return path


def scripted(folder: Path, module: nn.Module) -> Path:
    path = folder / "scripted.pt"
    torch.jit.script(module.eval()).save(str(path))
    return path


def exported(folder: Path, module: nn.Module, *inputs: torch.Tensor) -> Path:
    path = folder / "exported.pt2"
    copies = tuple(item.clone() for item in inputs)
    torch.export.save(torch.export.export(module.eval(), copies), path)
    return path


def decomposed(folder: Path, module: nn.Module, *inputs: torch.Tensor) -> Path:
    """An export in the few ops that torch's decompositions end in."""
    path = folder / "decomposed.pt2"
    copies = tuple(item.clone() for item in inputs)
    torch.export.save(torch.export.export(module.eval(), copies).run_decompositions(), path)
    return path


def converted(path: Path, *inputs: torch.Tensor, **options) -> Model:
    """The file as a model that runs; inputs tell shapes and types in their order."""
    names = [f"in{index}" for index in range(len(inputs))] if path.suffix == ".pt" else None
    if names is not None:
        arrays = [item.numpy() for item in inputs]
        options["input_shapes"] = {n: a.shape for n, a in zip(names, arrays, strict=True)}
        options["dtype_hints"] = {n: DType.of(a.dtype) for n, a in zip(names, arrays, strict=True)}
    source = TorchSource.open(path, InputSpec(**options))
    imported = source.build({})
    if imported.problems:
        raise Problems(imported.problems)
    return Model.of(Rewrites().apply(imported.graph), source.tensors)


def flat(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [tensor for item in items for tensor in flat(item)]


def assert_same(path: Path, module, inputs, tolerance: float = 1e-4) -> None:
    """The converted file and the module agree to a part of the output's range."""
    with torch.no_grad():
        wanted = [tensor.numpy() for tensor in flat(module(*(item.clone() for item in inputs)))]
    model = converted(path, *inputs)
    feed = {item.name: x.numpy() for item, x in zip(model.inputs, inputs, strict=True)}
    found = list(model.run(feed).values())
    assert [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in wanted]
    for got, want in zip(found, wanted, strict=True):
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            continue
        finite = np.isfinite(want)
        np.testing.assert_array_equal(np.isfinite(got), finite)
        if finite.any():
            span = max(np.ptp(want[finite]), np.abs(want[finite]).max(), 1e-6)
            assert np.abs(got[finite] - want[finite]).max() / span < tolerance
