"""PyTorch programs as source models: their ONNX terms are imported by the ONNX frontend."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import edgewright.frontends.pytorch  # noqa: F401 - registers the translations
from edgewright.config.pytorch import PytorchOnly
from edgewright.config.spelling import has_option, spell_option
from edgewright.core.errors import BadInput, EdgewrightError, TypeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames, Step
from edgewright.frontends._common.input_spec import InputSpec, bind_values, decide_types, shape_input
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.onnx.load import OnnxSource
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.pytorch.load import load_op_library, open_program
from edgewright.frontends.pytorch.program import REQUIRED, Program, ProgramInput, Translation
from edgewright.frontends.pytorch.tracer import Call
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

log = logging.getLogger(__name__)
OTHER_FLOATS = (DType.FLOAT_16, DType.BFLOAT_16, DType.FLOAT_64)
WAITING = "the program's control flow"


class TorchSource(SourceModel):
    """A PyTorch program with the types of its inputs decided.

    TorchScript names its inputs but not their shapes: the user's names for them are taken in their order.
    """

    framework = "PyTorch"
    must_name_inputs = True

    def __init__(self, program: Program, spec: InputSpec | None = None) -> None:
        self._program = program
        spec = spec or InputSpec()
        with guard_reading(program.file):
            self._inputs = _named(program, spec)
            self._untyped = {
                name
                for name, item in self._inputs.items()
                if item.dtype is None and name not in spec.dtype_hints
            }
            self._numbers = {name for name, item in self._inputs.items() if item.kind != "tensor"}
            declared = _types(program, self._inputs, spec)
            given = _given_numbers(self._inputs, spec)
            known = bind_values(program.file, InputSpec(input_values=given), declared)
            self._known = {name: value for name, (_, value) in known.items()}
            inputs = {name: t for name, t in declared.items() if name not in self._known}
            super().__init__(program.file, inputs, spec.outputs or program.output_names)
        self._wanted = tuple(spec.outputs)
        self._decided: list[str] = []
        self._last: Translation | None = None
        self._declared: dict[str, TensorType] = {}

    @classmethod
    def open(cls, path: str | Path, spec: InputSpec | None = None) -> "TorchSource":
        """From a path."""
        return cls(open_program(path), spec)

    @property
    def format(self) -> str:
        """TorchScript or torch.export."""
        return f"PyTorch, {self._program.format}"

    @property
    def own_outputs(self) -> Sequence[str]:
        """What the program returns, once it was walked through."""
        return self.outputs

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the program did, and what it keeps between calls."""
        return (*self._program.notes(), *self._decided)

    def decide(self) -> None:
        """Settles a number that the program compares with others, where one of those alone fits."""
        for name in [name for name in self.inputs if name in self._numbers]:
            candidates = self._program.candidates(self._inputs[name].name)
            fitting = [value for value in candidates if self._fits(name, value)]
            if len(fitting) == 1:
                del self.inputs[name]
                self._known[name] = np.array(fitting[0])
                self._decided.append(
                    f"input '{shown(name)}' is set to {fitting[0]}, the only value that fits among those "
                    f"that the program knows; {_spell_value(name)} sets another"
                )

    def _fits(self, name: str, value: float) -> bool:
        with suppress(EdgewrightError):
            return self.build({name: np.array(value)}).is_complete
        return False

    @property
    def tensors(self) -> frozenset[str]:
        """Names of all values and weights."""
        last = self._last
        if last is None or last.model is None:
            return frozenset(self.inputs)
        made = {name for node in last.model.graph.node for name in node.output}
        stored = {tensor.name for tensor in last.model.graph.initializer}
        return frozenset(made | stored | last.weights.keys() | self.inputs.keys())

    def _list_traced(self) -> Collection[str]:
        # What an op is written in has names of our own.
        calls = self._last.calls if self._last else []
        return [*self.inputs, *(name for call in calls for name in (*call.stored, *call.outputs))]

    def nodes(self) -> list[NodeNames]:
        """All ops that depend on the inputs, and what gives results their names."""
        last = self._last
        return [] if last is None else [*map(_names, last.calls), *_list_namings(last)]

    def find_declared_type(self, name: str) -> TensorType | None:
        """The types that torch foresees."""
        return self._declared.get(name)

    def execute(self, given: Mapping[str, Array]) -> list[Array]:
        """Runs the program itself, in torch: its results in their order, as ``outputs`` names them."""
        values = {**self._known, **given}
        own = {self._inputs[name].name: _plain(self._inputs[name], array) for name, array in values.items()}
        return self._program.execute(own)

    def _import(self, bindings: Mapping[str, BoundInput]) -> Imported:
        values: dict[str, Any] = {name: _plain(self._inputs[name], v) for name, v in self._known.items()}
        values |= {n: _plain(self._inputs[n], s.value) for n, s in bindings.items() if s.value is not None}
        missing = [name for name in bindings if name in self._numbers and name not in values]
        if missing:
            return Imported(Graph(), bound=dict.fromkeys(missing, WAITING), steps=[_stop()])
        open_types = {name: spec.tensor_type for name, spec in bindings.items() if spec.value is None}
        if not all(t.is_static for t in open_types.values()):
            return Imported(Graph(), shapes_for=WAITING, steps=[_stop()])
        try:
            return self._translated(open_types, values)
        except (BadInput, TypeMismatch):
            for guess in self._other_types(open_types):
                with suppress(EdgewrightError):
                    found = self._translated(guess, values)
                    self.inputs.update(guess)
                    return found
            raise

    def _other_types(self, types: Mapping[str, TensorType]) -> Iterator[dict[str, TensorType]]:
        """Where the file tells no types and 32-bit floats do not fit: integers, then other floats."""
        loose = [n for n in types if n in self._untyped and types[n].dtype == DType.FLOAT_32]
        sets = dict.fromkeys([*((name,) for name in loose), tuple(loose)]) if loose else {}
        tries = [(DType.INT_64, names) for names in sets]
        tries += [(dtype, tuple(loose)) for dtype in OTHER_FLOATS if loose]
        for dtype, names in tries:
            yield {n: t.with_dtype(dtype) if n in names else t for n, t in types.items()}

    def _translated(self, types: Mapping[str, TensorType], values: Mapping[str, Any]) -> Imported:
        own = {name: item.name for name, item in self._inputs.items()}
        inputs = {name: (t.static_shape(), t.dtype) for name, t in types.items()}
        with guard_reading(self.name):
            last = self._program.translate(inputs, values, self._wanted, own)
        self._last = last
        if last.problems:
            return self._refused(last)
        assert last.model is not None
        self.outputs = list(last.outputs)
        imported = OnnxSource(OnnxFile(last.model, name=self.name)).build(last.weights)
        imported.steps = _grouped(imported.steps, last)
        return imported

    def _refused(self, last: Translation) -> Imported:
        """All problems, beside what becomes of the ops that do not need what is missing."""
        imported, done = Imported(Graph()), list[Step]()
        if last.model is not None:
            with suppress(EdgewrightError):
                imported = OnnxSource(OnnxFile(last.model, name=self.name)).build(last.weights)
                done = _grouped(imported.steps, last)
        known = {step.node.label for step in done}
        rest = [call for call in last.calls if call.problem is not None or _names(call).label not in known]
        imported.steps = [*done, *(Step(_names(c), 0, 0, c.problem, c.is_behind) for c in rest)]
        imported.problems = list(last.problems)
        return imported


def load_op_libraries(options: PytorchOnly) -> None:
    """Loads the libraries that --pytorch_custom_op_lib names, and says that this runs their code."""
    for path in options.libraries:
        log.warning("'%s' is loaded: a library is code, and it runs now", shown(path))
        load_op_library(path)


def _named(program: Program, spec: InputSpec) -> dict[str, ProgramInput]:
    """The program's inputs by the names that they get: the user's, in their order, where it knows none."""
    declared = list(program.inputs)
    own = [item.name for item in declared]
    given = [*spec.input_shapes, *(n for n in spec.input_values if n not in spec.input_shapes)]
    strange = [name for name in given if name not in own]
    if strange:
        free = [item for item in declared if item.name not in given and _is_open(item)]
        if len(strange) > len(free):
            listed = ", ".join(f"'{shown(name)}'" for name in own)
            raise UsageError(
                f"{len(given)} inputs are named, such as '{shown(strange[0])}'; the program has {listed}",
                Where(file=program.file),
                do=f"use its names, or give {len(own)} names in its order",
            )
        taken = {item.name: name for item, name in zip(free, strange, strict=False)}
        return {taken.get(item.name, item.name): item for item in declared if _is_used(item, given, taken)}
    return {item.name: item for item in declared if _is_used(item, given, {})}


def _is_open(item: ProgramInput) -> bool:
    return item.kind == "tensor"


def _is_used(item: ProgramInput, given: Sequence[str], taken: Mapping[str, str]) -> bool:
    """An argument with a default counts as an input only where the user names it."""
    return item.default is REQUIRED or item.name in given or item.name in taken


def _types(program: Program, inputs: Mapping[str, ProgramInput], spec: InputSpec) -> dict[str, TensorType]:
    unknown = [n for n, item in inputs.items() if item.shape is None and n not in spec.input_shapes]
    unknown = [name for name in unknown if name not in spec.input_values]
    if unknown:
        raise _no_shape(program, unknown)
    found: dict[str, TensorType] = {}
    for name, item in inputs.items():
        dtype = spec.dtype_hints.get(name) or item.dtype or DType.FLOAT_32
        if name in spec.input_values and item.kind == "tensor":
            found[name] = TensorType(tuple(_shape_of(spec.input_values[name])), dtype)
        elif item.shape is None:
            found[name] = TensorType(tuple(spec.input_shapes[name]), dtype)
        elif item.kind == "tensor":
            found[name] = shape_input(name, TensorType(item.shape, dtype), program.file, spec)
        else:
            found[name] = TensorType((), dtype)
    return decide_types(found, program.file, spec)


def _shape_of(value: Any) -> tuple[int, ...]:
    return tuple(np.shape(value))


def _given_numbers(inputs: Mapping[str, ProgramInput], spec: InputSpec) -> dict[str, Any]:
    """Values of inputs; a number's "shape" on the command line is its value."""
    values: dict[str, Any] = dict(spec.input_values)
    for name, item in inputs.items():
        shape = spec.input_shapes.get(name, ())
        if item.kind != "tensor" and len(shape) == 1:
            values.setdefault(name, shape[0])
    return values


def _spell_value(name: str) -> str:
    # Tools without an option for values take a number's value as its shape.
    field = "input_values" if has_option("input_values") else "input_shapes"
    return spell_option(field, {shown(name): "VALUE"})


def _no_shape(program: Program, names: Sequence[str]) -> UsageError:
    listed = ", ".join(f"'{shown(name)}'" for name in names)
    shapes = spell_option("input_shapes", {shown(name): ("N", "N", "...") for name in names})
    return UsageError(
        f"{program.format} does not store the shapes of its inputs, and none is given for {listed}",
        Where(file=program.file),
        do=f"give them: {shapes}",
    )


def _plain(item: ProgramInput, value: Array) -> Any:
    """An input's value: a Python number where the program wants one."""
    return value if item.kind == "tensor" else value.reshape(()).item()


def _names(call: Call) -> NodeNames:
    return NodeNames(call.op, call.label, call.inputs, call.outputs, call.stored)


def _list_namings(last: Translation) -> Iterator[NodeNames]:
    """What passes a value on under the name of a result, where the op that names it does nothing."""
    named = {name for call in last.calls for name in call.outputs}
    for node in last.model.graph.node if last.model is not None else ():
        if node.op_type == "Identity" and node.output[0] in last.outputs and node.output[0] not in named:
            yield NodeNames(node.op_type, node.name, tuple(node.input), tuple(node.output))


def _stop() -> Step:
    return Step(NodeNames("forward", WAITING, (), ()), 0, 0)


def _grouped(steps: Sequence[Step], last: Translation) -> list[Step]:
    """Steps of the ONNX terms as steps of the ops that they came from."""
    assert last.model is not None
    nodes = last.model.graph.node
    calls = {nodes[i].name: call for call in last.calls for i in range(call.first, call.last)}
    found: list[Step] = []
    latest: Call | None = None
    for step in steps:
        call = calls.get(step.node.label)
        if call is not None and call is latest:
            before = found.pop()
            problem = before.problem or step.problem
            found.append(
                Step(before.node, before.first, step.last, problem, before.is_skipped or step.is_skipped)
            )
        else:
            names = step.node if call is None else _names(call)
            found.append(Step(names, step.first, step.last, step.problem, step.is_skipped))
        latest = call
    return found
