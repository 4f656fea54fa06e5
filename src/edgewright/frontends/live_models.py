"""Models of the user's own process (torch, Keras, ONNX), written as files that the readers know."""

import copy
import inspect
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from edgewright.core.arrays import is_array, to_array
from edgewright.core.errors import BadInput, EnvironmentProblem, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.numbers import DType
from edgewright.core.optional import require

log = logging.getLogger(__name__)

# The classes that tell what an object is, so that nothing is imported to find out.
MODULE, SCRIPT = "torch.nn.modules.module.Module", "torch.jit._script.ScriptModule"
PROGRAM = "torch.export.exported_program.ExportedProgram"
KERAS = ("keras.", "tf_keras.", "tensorflow.python.keras.")
# Before it, torch pickled the weights of exported programs, which are not read then.
FIRST_PLAIN_EXPORT = (2, 8)


@dataclass(frozen=True)
class WrittenModel:
    """The file of a model, and what the examples say that the file does not."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, DType] = field(default_factory=dict)


def is_live_model(source: Any) -> bool:
    """Whether it is an object to be written first, and not a file or what is read in memory."""
    return not isinstance(source, str | Path | bytes | onnx.ModelProto)


def name_live_model(source: Any) -> str:
    """What a file of the model is called: its graph or its class."""
    if isinstance(source, onnx.ModelProto):
        return str(source.graph.name or "model").replace("/", "_")
    return str(getattr(source, "original_name", None) or type(source).__name__)


def write_live_model(source: Any, folder: Path, examples: Any = None) -> WrittenModel:
    """Writes a torch module or program, a Keras model or an ONNX model into a folder.

    Args:
        source: the model.
        folder: where its file goes.
        examples: inputs of a torch module: an array, arrays in the order of ``forward``, or by its names.
    """
    bases = {f"{base.__module__}.{base.__qualname__}" for base in type(source).__mro__}
    name = name_live_model(source)
    if isinstance(source, onnx.ModelProto):
        path = folder / f"{name}.onnx"
        onnx.save(source, path)
        return WrittenModel(path)
    if PROGRAM in bases:
        return _write_program(source, folder / "program.pt2")
    if SCRIPT in bases:
        return _write_script(source, folder / f"{name}.pt", _Examples.of(source, examples))
    if MODULE in bases:
        return _write_module(source, folder / name, _Examples.of(source, examples))
    if any(base.startswith(KERAS) and base.endswith(".Model") for base in bases):
        return _write_keras(source, folder / name)
    raise UsageError(
        f"a {shown(type(source).__name__, 60)} is no model, expected a file, a torch module or program, "
        "a Keras model or an ONNX ModelProto",
        do="give the path of a model, or the model itself",
    )


@dataclass(frozen=True)
class _Examples:
    """Inputs of a module as torch takes them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @classmethod
    def of(cls, module: Any, examples: Any) -> "_Examples":
        names = _list_arguments(module)
        if examples is None:
            listed = ", ".join(f"'{name}': ..." for name in names)
            raise UsageError(
                f"a {type(module).__name__} does not know the shapes of its inputs: {', '.join(names)}",
                do=f"give an array or tensor of the right shape for each: example_inputs={{{listed}}}",
            )
        real = next((p.dtype for p in module.parameters() if p.is_floating_point()), None)
        if isinstance(examples, Mapping):
            order = [*(name for name in names if name in examples), *(n for n in examples if n not in names)]
            return cls((), {name: _to_tensor(examples[name], real) for name in order})
        is_several = isinstance(examples, tuple) or (
            isinstance(examples, list) and all(map(is_array, examples))
        )
        return cls(tuple(_to_tensor(each, real) for each in (examples if is_several else (examples,))), {})

    def name_tensors(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """The tensors by the names of the arguments."""
        named = {**dict(zip(names, self.args, strict=False)), **self.kwargs}
        return ((name, value) for name, value in named.items() if hasattr(value, "detach"))


def _to_tensor(value: Any, real: Any) -> Any:
    """A tensor on the CPU; numbers that a network computes with get the type of its weights."""
    if value is None or isinstance(value, bool | int | float):
        return value
    torch = require("torch", to="export torch modules")
    if hasattr(value, "detach"):
        return value.detach().cpu()
    array = to_array(value)
    tensor = torch.from_numpy(np.array(array))
    is_narrow = array.dtype in {np.dtype(np.uint8), np.dtype(np.float64), np.dtype(np.float32)}
    return tensor.to(real) if real is not None and is_narrow else tensor


def _list_arguments(module: Any) -> list[str]:
    schema = getattr(module.forward, "schema", None)
    if schema is not None:
        return [argument.name for argument in schema.arguments[1:]]
    return list(inspect.signature(module.forward).parameters)


def _write_program(program: Any, path: Path) -> WrittenModel:
    torch = require("torch", to="export torch modules")
    torch.export.save(program, path)
    return WrittenModel(path)


def _write_script(module: Any, path: Path, examples: _Examples) -> WrittenModel:
    """TorchScript stores neither the shapes nor the types of its inputs: the examples say them."""
    module.save(str(path))
    tensors = dict(examples.name_tensors(_list_arguments(module)))
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    return WrittenModel(path, shapes, {name: DType.of(to_array(t).dtype) for name, t in tensors.items()})


def _write_module(module: Any, path: Path, examples: _Examples) -> WrittenModel:
    torch = require("torch", to="export torch modules")
    with _hold_in_inference(_move_to_processor(module)) as plain, torch.no_grad():
        version = tuple(int(part) for part in torch.__version__.split(".")[:2])
        if version >= FIRST_PLAIN_EXPORT:
            try:
                program = torch.export.export(plain, examples.args, examples.kwargs)
                return _write_program(program, path.with_name(f"{path.name}.pt2"))
            except ImportError as problem:
                raise EnvironmentProblem(
                    f"torch.export cannot be used: {shown(problem)}",
                    do="install torch with all that it needs: pip install --force-reinstall torch",
                ) from problem
            except Exception as problem:  # torch raises errors of many kinds for what it cannot follow
                log.info("torch.export does not take the %s: %s", path.name, _read_first_line(problem))
        return _write_script(
            _make_script(torch, plain, examples), path.with_name(f"{path.name}.pt"), examples
        )


def _make_script(torch: Any, module: Any, examples: _Examples) -> Any:
    """The module as TorchScript: from its code, which keeps branches, or else as one run of it went."""
    name = type(module).__name__
    with warnings.catch_warnings():
        # What they warn of is checked below.
        warnings.simplefilter("ignore")
        with suppress(Exception):
            script = torch.jit.script(module)
            log.warning("torch.export does not take the %s: its code is compiled to TorchScript", name)
            return script
        words = {"example_kwarg_inputs": examples.kwargs} if examples.kwargs else {}
        try:
            traced = torch.jit.trace(module, examples.args or None, check_trace=False, strict=False, **words)
        except Exception as problem:
            raise BadInput(
                f"torch can neither export nor trace the module: {_read_first_line(problem)}",
                Where(detail=name),
                do="check that it runs on the example inputs: module(*example_inputs)",
            ) from problem
    _check_trace(torch, module, traced, examples)
    log.warning("torch.export does not take the %s: it is traced with the example inputs", name)
    return traced


def _check_trace(torch: Any, module: Any, traced: Any, examples: _Examples) -> None:
    """Refuses a trace that other inputs would have taken another way: it would be wrong for them."""
    leaves = require("torch.utils._pytree", to="export torch modules").tree_leaves
    for change in OTHER_VALUES:
        args = [change(each) for each in examples.args]
        kwargs = {name: change(each) for name, each in examples.kwargs.items()}
        pairs = zip(leaves(module(*args, **kwargs)), leaves(traced(*args, **kwargs)), strict=True)
        if not all(torch.allclose(a, b, 1e-3, 1e-5, equal_nan=True) for a, b in pairs):
            raise UnsupportedFeature(
                "the module takes another way for other values of its inputs, which a trace does not follow",
                Where(detail=type(module).__name__),
                do="choose with torch.where or torch.cond, so that torch.export takes it",
            )


def _negate_value(value: Any) -> Any:
    return -value if hasattr(value, "is_floating_point") and value.is_floating_point() else value


def _clear_value(value: Any) -> Any:
    return value * 0 if hasattr(value, "is_floating_point") and value.is_floating_point() else value


def _move_to_processor(module: Any) -> Any:
    """The module, or a copy of it where its weights are on a device."""
    is_away = any(each.device.type != "cpu" for each in (*module.parameters(), *module.buffers()))
    return copy.deepcopy(module).cpu() if is_away else module


@contextmanager
def _hold_in_inference(module: Any) -> Iterator[Any]:
    """The module as it is used, and not as it is trained; afterwards it is as it was."""
    training = [part for part in module.modules() if part.training]
    if training:
        log.info("the module is in training mode: it is exported as eval() has it")
    module.eval()
    try:
        yield module
    finally:
        for part in training:
            part.training = True


def _write_keras(model: Any, path: Path) -> WrittenModel:
    require("tensorflow", to="export Keras models")
    model.export(str(path), verbose=False)
    return WrittenModel(path)


# Other values of a module's inputs: branches on values show themselves by them.
OTHER_VALUES = (_negate_value, _clear_value)


def _read_first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return shown(lines[0], 160)
