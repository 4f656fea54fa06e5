"""What all PyTorch programs have in common: inputs, a walk, and the ONNX terms that come of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.words import did_you_mean
from edgewright.frontends.pytorch.compiler import without_compiler
from edgewright.frontends.pytorch.context import find_onnx_code
from edgewright.frontends.pytorch.tracer import Call, Stopped, Tracer
from edgewright.frontends.pytorch.values import TORCH_DTYPES, Tensor, as_array, as_tensor, list_boxes
from edgewright.ir.dims import Dim

# The value of an input that has no default.
REQUIRED: Any = object()
# Inputs that are no tensors, and the type that holds their values.
NUMBERS = {"int": DType.INT_64, "float": DType.FLOAT_64, "bool": DType.BOOL_8}
_NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


@dataclass(frozen=True)
class ProgramInput:
    """An input as the file declares it."""

    name: str
    # "tensor", or one of NUMBERS.
    kind: str = "tensor"
    # None: the file does not say.
    shape: tuple[Dim, ...] | None = None
    dtype: DType | None = None
    default: Any = REQUIRED


@dataclass
class Translation:
    """What came of a walk; where there are problems, the model is what could be translated."""

    model: onnx.ModelProto | None
    weights: dict[str, Array]
    outputs: list[str]
    calls: list[Call]
    problems: list[EdgewrightError] = field(default_factory=list)
    notes: tuple[str, ...] = ()


class Program(ABC):
    """A program that can be walked through for inputs of given types."""

    format: str = ""

    def __init__(self, torch: Any, file: str) -> None:
        self.torch = torch
        self.file = file

    @property
    @abstractmethod
    def inputs(self) -> Sequence[ProgramInput]:
        """The inputs in their order."""

    @abstractmethod
    def _walk(self, tracer: Tracer, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Follows the program; the results with the names that the file has for them ("" for none)."""

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the results as far as the file tells them."""
        return ["output"]

    def candidates(self, name: str) -> Sequence[Any]:
        """Values that an input which is a number may have, as far as the program tells."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """What a user must know about the program."""
        return ()

    def translate(
        self,
        inputs: Mapping[str, tuple[Sequence[int], DType]],
        values: Mapping[str, Any],
        outputs: Sequence[str] = (),
        own_names: Mapping[str, str] | None = None,
    ) -> Translation:
        """The program for inputs of these types; ``values`` are those that are known.

        Inputs may have other names than the program's own, which ``own_names`` tells.
        """
        tracer = Tracer(self.torch, self.file)
        own = own_names or {}
        given: dict[str, Any] = {}
        for name, (shape, dtype) in inputs.items():
            given[own.get(name, name)] = tracer.input(name, shape, find_torch_dtype(self.torch, dtype))
        for name, value in values.items():
            given[own.get(name, name)] = self._emit_constant(tracer, value)
        try:
            with without_compiler():
                results = self._walk(tracer, given)
        except Stopped:
            results = []
        codes = [
            (n, find_onnx_code(find_torch_dtype(self.torch, d)), list(s)) for n, (s, d) in inputs.items()
        ]
        writer, calls, problems = tracer.ctx.writer, tracer.calls, tracer.problems
        places = writer.cut(outputs, list(inputs)) if problems and outputs else None
        if places is not None:
            # What is not supported lies behind the outputs.
            calls, problems = [call.moved(places) for call in calls], []
        if problems:
            places = writer.keep_sound(list(inputs))
            calls, names = [call.moved(places) for call in calls], writer.sinks()
        else:
            names = self._name_outputs(tracer, results, list(inputs), outputs)
        model = writer.model(codes, names) if names else None
        return Translation(model, writer.weights, names, calls, problems, self.notes())

    def execute(self, given: Mapping[str, Any]) -> list[Array]:
        """Computes the program op by op in torch; its results in their order."""
        tracer = Tracer(self.torch, self.file, is_run=True)
        boxed = {name: self._emit_constant(tracer, value) for name, value in given.items()}
        with without_compiler():
            results = self._walk(tracer, boxed)
        boxes = [box for _, value in results for box in list_boxes(value)]
        for box in boxes:
            tracer.refresh(box)
        return [as_array(box.data) for box in boxes]

    def _emit_constant(self, tracer: Tracer, value: Any) -> Any:
        if isinstance(value, bool | int | float | str) or value is None:
            return value
        return tracer.known(as_tensor(self.torch, value))

    def _name_outputs(
        self,
        tracer: Tracer,
        results: Sequence[tuple[str, Any]],
        inputs: Sequence[str],
        wanted: Sequence[str],
    ) -> list[str]:
        """The outputs' names: each is a value of its own, under the name that was asked for."""
        writer = tracer.ctx.writer
        writer.label = "output"
        if wanted:
            made = {name for node in writer.nodes for name in node.outputs}
            known = {**{n: n for n in (*made, *inputs)}, **{o: o for c in tracer.calls for o in c.outputs}}
            for name, box in ((hint, box) for hint, value in results for box in list_boxes(value)):
                if name in wanted and name not in known:
                    known[name] = _end(tracer, box, name, {*inputs, *known})
            for name in wanted:
                if name not in known:
                    raise _make_name_error(name, [c.outputs[0] for c in tracer.calls if c.outputs], self.file)
            return list(dict.fromkeys(wanted))
        names: list[str] = []
        for hint, box in ((h, b) for h, value in results for b in list_boxes(value)):
            names.append(_end(tracer, box, hint, {*inputs, *names}))
        if not names:
            raise UnsupportedFeature(
                "the model returns no tensor",
                Where(file=self.file),
                do=f"name outputs with {spell_option('outputs')}",
            )
        return names


def find_torch_dtype(torch: Any, dtype: DType) -> Any:
    """Torch's type for one of ours."""
    if dtype not in _NAMES:
        raise UsageError(f"PyTorch inputs cannot be {dtype.name}", do=f"use one of {', '.join(TORCH_DTYPES)}")
    return getattr(torch, _NAMES[dtype])


def _end(tracer: Tracer, box: Tensor, hint: str, taken: set[str]) -> str:
    tracer.refresh(box)
    name = tracer.ctx.value(box)
    makers = {output for node in tracer.ctx.writer.nodes for output in node.outputs}
    if name in makers and name not in taken and hint in {"", name}:
        return name
    found = tracer.ctx.writer.add("Identity", [name])[0]
    return tracer.ctx.writer.rename(found, hint or "output", len(tracer.ctx.writer.nodes) - 1)


def _make_name_error(name: str, known: Sequence[str], file: str) -> UsageError:
    listed = ", ".join(f"'{shown(item, 60)}'" for item in known[-10:])
    return UsageError(
        f"{spell_option('outputs')} names the value '{shown(name)}', which the model does not have",
        Where(file=file),
        do=did_you_mean(name, known, f"use one of its values, such as {listed}"),
    )
