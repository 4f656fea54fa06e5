"""TorchScript as a program: read from its archive as data and text, followed by our own walk."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UnsupportedFeature, UnsupportedOp, Where, shown
from edgewright.frontends.pytorch.archive import Archive
from edgewright.frontends.pytorch.detection import declare_torchvision
from edgewright.frontends.pytorch.program import NUMBERS, REQUIRED, Program, ProgramInput
from edgewright.frontends.pytorch.script_code import Argument, Code, Function
from edgewright.frontends.pytorch.script_expressions import WRONG, Raised
from edgewright.frontends.pytorch.script_pickle import ScriptPickle, StoredObject
from edgewright.frontends.pytorch.script_walk import Walk
from edgewright.frontends.pytorch.tracer import Tracer

MOST_CANDIDATES = 16
_NUMBER_WORDS = {"int": "int", "float": "float", "bool": "bool", "number": "float"}


class ScriptProgram(Program):
    """A TorchScript module: torch's own loader, which runs code of the file, has no part in it."""

    format = "TorchScript"

    def __init__(self, torch: Any, archive: Archive) -> None:
        super().__init__(torch, archive.name)
        self._where = Where(file=archive.name)
        self._version = _read_version(archive, self._where)
        self._code = Code(archive)
        if self._code.has_text("ops.torchvision."):
            declare_torchvision(torch)
        self._module = self._read_module(ScriptPickle(torch, archive, "data.pkl", "data").read())
        has_constants = archive.has("constants.pkl")
        self._constants = (
            ScriptPickle(torch, archive, "constants.pkl", "constants").read() if has_constants else ()
        )
        self._forward = self._find_forward()
        self._states: list[str] = []
        self._inputs = [
            declared
            for item in self._forward.arguments[1:]
            for declared in _declare_argument(item, self.file)
        ]

    @property
    def inputs(self) -> Sequence[ProgramInput]:
        """The arguments of forward; a tuple of tensors counts as so many inputs."""
        return self._inputs

    def candidates(self, name: str) -> Sequence[Any]:
        """Both truth values, or the integers that the program compares numbers with."""
        kind = next(item.kind for item in self.inputs if item.name == name)
        if kind == "bool":
            return (False, True)
        return sorted(set(_list_compared(self._code)))[:MOST_CANDIDATES] if kind == "int" else ()

    def notes(self) -> tuple[str, ...]:
        """What is kept between calls."""
        kept = ", ".join(f"'{shown(name)}'" for name in self._states)
        state = f"the model keeps {kept} between calls; converted, each run starts from the stored state"
        return (state,) if kept else ()

    def _read_module(self, value: Any) -> StoredObject:
        if not isinstance(value, StoredObject):
            raise BadInput("the archive holds no module", self._where, do="save the model again")
        return value

    def _find_forward(self) -> Function:
        module_class = self._code.find_class(self._module.class_name)
        if module_class is None or "forward" not in module_class.methods:
            raise BadInput(
                "the module has no method 'forward'", self._where, do="script a module that can be called"
            )
        return module_class.methods["forward"]

    def _walk(self, tracer: Tracer, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
        walk = Walk(tracer, self._code, self._constants, self._version)
        try:
            module = walk.objects.make_boxes(self._module)
            named = _gather_arguments(self._forward.arguments[1:], given)
            walk.objects.changed.clear()
            result = walk.call_function(self._forward, [module], named, module)
        except Raised as problem:
            raise BadInput(
                f"the model refuses these inputs: {shown(problem, 300)}",
                self._where,
                do=f"give the shapes that the model expects with {spell_option('input_shapes')}",
            ) from None
        except WRONG as problem:
            raise BadInput(
                f"the program cannot be followed ({type(problem).__name__} {shown(problem, 80)})",
                self._where,
                do="save the model again",
            ) from problem
        self._states = walk.objects.changed
        return _name_results(result)


def _read_version(archive: Archive, where: Where) -> int:
    """The version of the format; what torch writes on machines of another byte order is refused."""
    text = archive.read("version").strip() if archive.has("version") else b"3"
    order = archive.read("byteorder").strip() if archive.has("byteorder") else b"little"
    if not text.isdigit() or len(text) > 4 or order != b"little":
        raise UnsupportedFeature(
            f"the archive has the version '{shown(text)}' and the byte order '{shown(order)}', expected a "
            "number and 'little'",
            where,
            do="save the model again on a little-endian machine",
        )
    return int(text)


def _name_results(result: Any) -> list[tuple[str, Any]]:
    """A result; those of a dictionary by their keys."""
    if isinstance(result, dict):
        return [(str(key), value) for key, value in result.items()]
    return [("", result)]


def _declare_argument(item: Argument, file: str) -> list[ProgramInput]:
    default = REQUIRED if item.default is None else _read_default(item.default)
    return _declare_input(item.name, item.annotation, default, file)


def _read_default(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _declare_input(name: str, kind: ast.expr | None, default: Any, file: str) -> list[ProgramInput]:
    word = kind.id if isinstance(kind, ast.Name) else ""
    if kind is None or word == "Tensor":
        return [ProgramInput(name, default=default)]
    if word in _NUMBER_WORDS:
        number = _NUMBER_WORDS[word]
        return [ProgramInput(name, number, (), NUMBERS[number], default)]
    outer, parts = _split_type(kind)
    if outer == "Optional":
        return _declare_input(name, parts[0], None if default is REQUIRED else default, file)
    if outer == "Tuple":
        declared = [_declare_input(f"{name}.{i}", part, default, file) for i, part in enumerate(parts)]
        return [item for items in declared for item in items]
    if default is not REQUIRED:
        return []
    raise UnsupportedOp(
        f"input '{shown(name)}' is {shown(ast.unparse(kind))}, expected tensors, tuples of tensors or "
        "numbers",
        Where(file=file),
        do="wrap the model in a module whose forward takes tensors, and script that",
    )


def _split_type(kind: ast.expr) -> tuple[str, Sequence[ast.expr]]:
    """``Tuple[A, B]`` as its name and its parts."""
    if not isinstance(kind, ast.Subscript) or not isinstance(kind.value, ast.Name):
        return "", ()
    return kind.value.id, kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]


def _gather_arguments(arguments: Sequence[Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from the inputs that they were declared as; those without a value get their defaults."""
    values: dict[str, Any] = {}
    for item in arguments:
        value = _gather_argument(item.name, item.annotation, given)
        if value is not REQUIRED:
            values[item.name] = value
        elif item.default is None:
            values[item.name] = None
    return values


def _gather_argument(name: str, kind: ast.expr | None, given: Mapping[str, Any]) -> Any:
    outer, parts = _split_type(kind) if kind is not None else ("", ())
    if outer != "Tuple":
        return given.get(name, REQUIRED)
    items = [_gather_argument(f"{name}.{i}", part, given) for i, part in enumerate(parts)]
    return REQUIRED if REQUIRED in items else tuple(items)


def _list_compared(code: Code) -> Iterator[int]:
    """Constants that something is compared with."""
    nodes = (node for tree in code.list_trees() for node in ast.walk(tree))
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"eq", "ne"}
        ):
            values = [item.value for item in node.args if isinstance(item, ast.Constant)]
            yield from (value for value in values if type(value) is int)
