"""Walks through a torch.export program: the graph is read from the archive's JSON, nothing is unpickled."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature, UnsupportedOp, Where, shown
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import DType
from edgewright.core.optional import require
from edgewright.frontends._common.stored import LARGEST_DIM
from edgewright.frontends.pytorch.archive import Archive
from edgewright.frontends.pytorch.program import NUMBERS, Program, ProgramInput
from edgewright.frontends.pytorch.result_names import name_results, read_result_keys
from edgewright.frontends.pytorch.script_ops import branch_values
from edgewright.frontends.pytorch.stored_tensor import Layout, make_tensor
from edgewright.frontends.pytorch.tracer import Stopped, Tracer
from edgewright.frontends.pytorch.values import TORCH_DTYPES, Tensor
from edgewright.ir.dims import Dim, symbol

# The types' numbers in the archive (torch/_export/serde/schema.py).
SCALARS = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
}
# What an exported graph does with sizes.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    **{
        f"_operator.{n}": getattr(operator, n)
        for n in ("add", "sub", "mul", "floordiv", "mod", "neg", "truediv")
    },
    **{
        f"_operator.{n}": getattr(operator, n)
        for n in ("eq", "ne", "lt", "le", "gt", "ge", "pow", "and_", "or_")
    },
    "_operator.getitem": operator.getitem,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_not": operator.not_,
    "math.trunc": int,
    "builtins.max": max,
    "builtins.min": min,
}
# Ops that torch has once a module of it is loaded.
_DEFINED_BY = {"quantized_decomposed": "torch.ao.quantization.fx._decomposed"}
# What reading a tree raises where something else stands in it.
DAMAGE = (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError, RecursionError)
_CONDITION = "torch.ops.higher_order.cond"
_WITH_GRAPHS = frozenset(
    {
        _CONDITION,
        "torch.ops.higher_order.wrap_with_set_grad_enabled",
        "torch.ops.higher_order.wrap_with_autocast",
    }
)
_SYMBOL = re.compile(r"Symbol\('(\w{1,60})'")
_WITHOUT_RESULT = ("torch.ops.aten._assert", "torch.ops.aten.sym_constrain", "torch.ops.aten._check")


@dataclass(frozen=True)
class _Inner:
    """A graph that an op runs."""

    graph: Mapping[str, Any]


class ExportedProgram(Program):
    """A program read from a .pt2 archive."""

    format = "torch.export"

    def __init__(self, torch: Any, archive: Archive) -> None:
        super().__init__(torch, archive.name)
        self._archive = archive
        self._where = Where(file=archive.name)
        self._model = self._json(archive.one("models/", ".json"))
        try:
            module = self._model["graph_module"]
            self._graph = module["graph"]
            self._signature = module["signature"]
            self._values: Mapping[str, Any] = self._graph["tensor_values"]
            self._nodes: Sequence[Mapping[str, Any]] = self._graph["nodes"]
        except (KeyError, TypeError) as problem:
            raise self._damaged(f"the graph has no {problem}") from None

    @property
    def inputs(self) -> Sequence[ProgramInput]:
        """The user's inputs: the others are weights."""
        with self._reading("an input"):
            specs = self._signature["input_specs"]
            given = [item["user_input"]["arg"] for item in specs if "user_input" in item]
            return [found for arg in given for found in self._input(arg)]

    @property
    def output_names(self) -> Sequence[str]:
        """As the module's dictionaries have them, else as the graph has."""
        with self._reading("an output"):
            return [name for name, _ in self._results()]

    def _input(self, arg: Mapping[str, Any]) -> list[ProgramInput]:
        ((kind, value),) = arg.items()
        if kind == "as_tensor":
            meta = self._values[value["name"]]
            shape = tuple(_read_dim(size) for size in meta["sizes"])
            return [ProgramInput(value["name"], "tensor", shape, _find_dtype(meta["dtype"], self._where))]
        for word, number in (("as_sym_int", "int"), ("as_sym_float", "float"), ("as_sym_bool", "bool")):
            if kind == word and "as_name" in value:
                return [ProgramInput(value["as_name"], number, (), NUMBERS[number])]
        # What was given as a constant when the program was exported is part of it.
        return []

    def _walk(self, tracer: Tracer, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
        values: dict[str, Any] = dict(given)
        with self._reading("the graph"):
            self._bind_weights(tracer, values)
            for node in self._nodes:
                self._step(tracer, values, node)
            return [(name, values[value]) for name, value in self._results()]

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Inside, anything that is not as it should be is damage of the file."""
        try:
            yield
        except DAMAGE as problem:
            named = f"{type(problem).__name__} {shown(problem, 80)}"
            raise self._damaged(f"{what} cannot be read ({named})") from problem

    def _results(self) -> list[tuple[str, str]]:
        """The names of the results, and those of their values in the graph."""
        specs = self._signature["output_specs"]
        given = [item["user_output"]["arg"] for item in specs if "user_output" in item]
        values = [arg["as_tensor"]["name"] if "as_tensor" in arg else "" for arg in given]
        names = name_results(values, read_result_keys(self._model["graph_module"]))
        return [(name, value) for name, value in zip(names, values, strict=True) if value]

    def _bind_weights(self, tracer: Tracer, values: dict[str, Any]) -> None:
        stored = [self._entries("data/weights/"), self._entries("data/constants/")]
        entries = {name: (folder, item) for folder, found in stored for name, item in found.items()}
        for spec in self._signature["input_specs"]:
            ((kind, item),) = spec.items()
            key = item.get("parameter_name") or item.get("buffer_name") or item.get("tensor_constant_name")
            if key is None:
                if kind == "custom_obj":
                    raise UnsupportedFeature(
                        "the program holds an object of a custom class",
                        self._where,
                        do="export it without one",
                    )
                continue
            if key not in entries:
                raise self._damaged(f"weight '{shown(key)}' is not stored")
            folder, entry = entries[key]
            values[item["arg"]["name"]] = tracer.known(self._weight(folder, entry, key), key)

    def _entries(self, folder: str) -> tuple[str, dict[str, Any]]:
        name = self._archive.one(folder, "_config.json", is_needed=False)
        return folder, (self._json(name)["config"] if name else {})

    def _weight(self, folder: str, entry: Mapping[str, Any], name: str) -> Any:
        """A stored tensor: bytes with a type, sizes and strides."""
        where = Where(file=self.file, tensor=name)
        if entry.get("use_pickle"):
            raise UnsupportedFeature(
                f"'{shown(name)}' is stored as a pickle, which can run code when it is read",
                where,
                do="export the model with plain tensors as weights",
            )
        meta = entry["tensor_meta"]
        sizes, strides = ([i["as_int"] for i in meta[key]] for key in ("sizes", "strides"))
        layout = Layout(sizes, strides, meta["storage_offset"]["as_int"])
        data = self._archive.map(f"{folder}{entry['path_name']}")
        return make_tensor(self.torch, data, SCALARS.get(meta["dtype"], ""), layout, where)

    def _step(self, tracer: Tracer, values: dict[str, Any], node: Mapping[str, Any]) -> None:
        target = node["target"]
        if target.startswith(_WITHOUT_RESULT):
            return
        label = next(iter(_list_result_names(node["outputs"])), target)

        def read(arg: Mapping[str, Any]) -> Any:
            return self._argument(arg, values)

        try:
            if target in _ARITHMETIC:
                result = _calculate(target, [read(item["arg"]) for item in node["inputs"]])
            elif target in _WITH_GRAPHS:
                result = self._with_graphs(
                    tracer, target, [read(item["arg"]) for item in node["inputs"]], label
                )
            else:
                args, named = _bound(self._op(target, label), node["inputs"], read)
                result = tracer.call(self._op(target, label), args, named, label)
        except UnsupportedOp as problem:
            tracer.problems.append(problem)
            result = self._placeholders(tracer, node["outputs"])
        _store(node["outputs"], result, values)

    def _with_graphs(self, tracer: Tracer, target: str, args: list[Any], label: str) -> Any:
        """Ops that run graphs: under some setting, which means nothing here, or one of two."""
        first = next(i for i, item in enumerate(args) if isinstance(item, _Inner))
        if target != _CONDITION:
            return self._run_inner(tracer, args[first], args[first + 1 :])
        condition, yes, no, operands = args
        if isinstance(condition, Tensor) and condition.data is not None:
            condition = bool(condition.data)
        if not isinstance(condition, Tensor):
            return self._run_inner(tracer, yes if condition else no, operands)
        ways = [self._run_inner(tracer, way, operands) for way in (yes, no)]
        return branch_values(tracer, condition, ways[0], ways[1], label)

    def _run_inner(self, tracer: Tracer, inner: "_Inner", args: Sequence[Any]) -> list[Any]:
        given = [item["as_tensor"]["name"] for item in inner.graph["inputs"] if "as_tensor" in item]
        boxes = [item for item in args if isinstance(item, Tensor)]
        values: dict[str, Any] = dict(zip(given, boxes, strict=True))
        for node in inner.graph["nodes"]:
            self._step(tracer, values, node)
        return [values[item["as_tensor"]["name"]] for item in inner.graph["outputs"]]

    def _placeholders(self, tracer: Tracer, outputs: Sequence[Mapping[str, Any]]) -> Any:
        """Results of an op that is not supported, as the file has them: what follows is looked at too."""
        found = []
        for name in _list_result_names(outputs):
            shape = [_read_dim(size) for size in self._values[name]["sizes"]]
            if not all(isinstance(size, int) for size in shape):
                raise Stopped
            dtype = getattr(self.torch, SCALARS[self._values[name]["dtype"]])
            found.append(tracer.input(name, [int(size) for size in shape], dtype))
        return found

    def _op(self, target: str, label: str) -> Any:
        parts = target.split(".")
        if parts[:2] != ["torch", "ops"] or len(parts) != 5 or parts[2] == "higher_order":
            raise UnsupportedOp(
                f"PyTorch op '{shown(target)}' has no translation",
                Where(self.file, shown(target), label),
                do=advise_cut(),
            )
        _, _, space, name, overload = parts
        if space in _DEFINED_BY:
            require(_DEFINED_BY[space], to="read quantized PyTorch models")
        found = getattr(getattr(getattr(self.torch.ops, space), name, None), overload, None)
        if not isinstance(found, self.torch._ops.OpOverload):
            raise UnsupportedOp(
                f"PyTorch op '{shown(target)}' is not known to this torch",
                Where(self.file, f"{space}::{name}", label),
                do="name the library that defines it with --pytorch_custom_op_lib, or replace the op",
            )
        return found

    def _argument(self, arg: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        ((kind, value),) = arg.items()
        if kind == "as_tensor":
            return values[value["name"]]
        if kind == "as_tensors":
            return [values[item["name"]] for item in value]
        if kind == "as_optional_tensors":
            return [values[i["as_tensor"]["name"]] if "as_tensor" in i else None for i in value]
        if kind.startswith("as_sym_"):
            return (
                [_read_symbolic(i, values) for i in value]
                if isinstance(value, list)
                else _read_symbolic(value, values)
            )
        return self._plain(kind, value)

    def _plain(self, kind: str, value: Any) -> Any:
        if kind == "as_graph":
            return _Inner(value["graph"])
        if kind == "as_scalar_type":
            return getattr(self.torch, SCALARS[value])
        # Where things lie has no meaning here.
        fixed = {"as_device": self.torch.device("cpu"), "as_memory_format": self.torch.contiguous_format}
        if kind in {"as_none", "as_layout", *fixed}:
            return fixed.get(kind)
        if kind in {"as_int", "as_float", "as_bool", "as_string"}:
            return float(value) if kind == "as_float" else value
        if kind in {"as_ints", "as_floats", "as_bools", "as_strings", "as_int_lists"}:
            return list(value)
        raise UnsupportedFeature(
            f"an argument of the kind '{shown(kind)}' is not supported", self._where, do="export without it"
        )

    def _json(self, name: str) -> Any:
        try:
            return parse_json(self._archive.read(name))
        except (ValueError, RecursionError) as problem:
            raise self._damaged(f"'{shown(name)}' is no JSON ({shown(problem, 80)})") from None

    def _damaged(self, what: str) -> EdgewrightError:
        return BadInput(what, self._where, do="export the model again with torch.export.save")


def _calculate(target: str, args: Sequence[Any]) -> Any:
    """Arithmetic of sizes: results that no size can be are refused before they are computed."""
    if target.endswith((".mul", ".pow", ".add")) and not all(isinstance(a, int | float) for a in args):
        raise TypeError(f"'{target}' of something else than numbers")
    if target.endswith(".pow") and (abs(args[1]) > 64 or abs(args[0]) > LARGEST_DIM):
        raise OverflowError(f"{args[0]} to the power of {args[1]}")
    return _ARITHMETIC[target](*args)


def _read_dim(size: Mapping[str, Any]) -> Dim:
    if "as_int" in size:
        if not 0 <= size["as_int"] <= LARGEST_DIM:
            raise ValueError(f"size {size['as_int']}")
        return int(size["as_int"])
    text = str(size["as_expr"]["expr_str"])
    # The name alone: texts of strangers are not computed.
    named = _SYMBOL.search(text)
    return symbol(named.group(1) if named else "".join(c if c.isalnum() else "_" for c in text)[:60])


def _find_dtype(code: int, where: Where) -> DType:
    named = SCALARS.get(code, "")
    if named not in TORCH_DTYPES:
        raise UnsupportedFeature(
            f"an input has the type {named or code}", where, do="use a real or integer type"
        )
    return TORCH_DTYPES[named]


def _read_symbolic(item: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(item, Mapping):
        return item
    ((kind, value),) = item.items()
    return values[value] if kind == "as_name" else value


def _bound(
    op: Any, given: Sequence[Mapping[str, Any]], read: Callable[[Any], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position as far as they go without a gap, the others by name."""
    by_name = {item["name"]: read(item["arg"]) for item in given}
    args: list[Any] = []
    for item in op._schema.arguments:
        if item.kwarg_only:
            break
        args.append(by_name.pop(item.name) if item.name in by_name else item.default_value)
    return args, by_name


def _list_result_names(outputs: Sequence[Mapping[str, Any]]) -> list[str]:
    names: list[str] = []
    for item in outputs:
        ((kind, value),) = item.items()
        if kind == "as_tensor":
            names.append(value["name"])
        elif kind == "as_tensors":
            names += [inner["name"] for inner in value]
    return names


def _store(outputs: Sequence[Mapping[str, Any]], result: Any, values: dict[str, Any]) -> None:
    """Binds results to the names that the graph has for them."""
    many = len(outputs) > 1
    for index, item in enumerate(outputs):
        ((kind, value),) = item.items()
        found = result[index] if many else result
        if kind == "as_tensor":
            values[value["name"]] = found[0] if isinstance(found, tuple | list) else found
        elif kind == "as_tensors":
            values.update(zip([inner["name"] for inner in value], found, strict=False))
        elif kind.startswith("as_sym_") and "as_name" in value:
            values[value["as_name"]] = found
