"""Ops that op packages define: their descriptions, their meanings, and the op class of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.errors import BackendCrash, EdgewrightError, UnsupportedOp, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op, Param, Port, structural
from edgewright.ir.types import TensorType

# Gets the inputs (None where one is left out), the parameters and the outputs' types; gives all outputs.
Meaning = Callable[[Sequence[Array | None], Mapping[str, Param], Sequence[TensorType]], Sequence[Array]]
# Gets the inputs' types and the parameters by name; gives the outputs' types.
ShapeRule = Callable[[Sequence[TensorType | None], Mapping[str, Any]], Sequence[TensorType]]


@dataclass(frozen=True)
class PackageParam:
    """A parameter as the package describes it."""

    name: str
    dtype: DType
    is_tensor: bool = False
    is_mandatory: bool = True
    default: Any = None
    # Words that a source may use for 0, 1, 2 ...
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class PackageOpDefinition:
    """An op of a package as its description has it; the name is that of the source's op."""

    package: str
    type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    params: tuple[PackageParam, ...] = ()
    # Whether attributes that the description does not name become parameters as well.
    is_open: bool = False
    # The types of the outputs where the model does not tell them, and before what it tells.
    shapes: ShapeRule | None = field(default=None, compare=False)


_MEANINGS: dict[tuple[str, str], Meaning] = {}
_ALWAYS: dict[str, PackageOpDefinition] = {}
_SCOPES: list[tuple[Mapping[str, PackageOpDefinition], set[str]]] = []


@dataclass(frozen=True, kw_only=True)
class PackageOp(Op):
    """An op of a package; there is a class for each, made by ``package_op``."""

    inputs = (Port("in[0..m]", is_required=False, is_repeated=True),)
    outputs = (Port("out[0..m]", is_repeated=True),)
    # What a package computes is its own business: it may count its calls.
    is_pure = False
    package: ClassVar[str] = ""

    # Name, type, value, and whether it is a tensor: plain values, which the text form can spell.
    values: tuple[tuple[str, DType, Any, bool], ...] = structural(())
    results: tuple[TensorType, ...] = structural(())

    @classmethod
    def of(cls, params: Sequence[Param], results: Sequence[TensorType]) -> Self:
        """The op with these parameters and these types of its outputs."""
        values = tuple((param.name, param.dtype, param.value, param.is_tensor) for param in params)
        return cls(values=values, results=tuple(results))

    def params(self) -> list[Param]:
        """As the source or the stored model gave them."""
        return [Param(*value) for value in self.values]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As the model or the package said."""
        del inputs
        return self.results

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """By the function or the library that is registered for the op."""
        meaning = _MEANINGS.get((self.package, self.qnn_name()))
        where = Where(op=self.qnn_name())
        if meaning is None:
            raise UnsupportedOp(
                f"op '{self.qnn_name()}' of package '{self.package}' has no meaning here",
                where,
                do="give its library or a Python file (--op_packages, --op_package_lib), or register a "
                "function with @edgewright.op_package",
            )
        try:
            found = meaning(inputs, {param.name: param for param in self.params()}, self.results)
        except EdgewrightError:
            raise
        except Exception as problem:
            raise BackendCrash(
                f"package '{self.package}' failed: {type(problem).__name__}: {shown(problem)}",
                where,
                do="check the package's function with these inputs",
            ) from problem
        return self._checked(found)

    def _checked(self, found: Sequence[Array]) -> tuple[Array, ...]:
        """Results in the types that the graph says; others would be read wrongly further down."""
        if len(found) != len(self.results):
            raise self._unfit(f"made {len(found)} outputs, expected {len(self.results)}")
        arrays = []
        for index, (array, wanted) in enumerate(zip(found, self.results, strict=True)):
            made = np.asarray(array)
            if wanted.is_static and made.shape != wanted.static_shape():
                raise self._unfit(f"made {list(made.shape)} for output {index}, expected {wanted}")
            # Real numbers behind fixed point are float32.
            dtype = np.dtype(np.float32) if wanted.dtype.is_fixed_point else wanted.dtype.numpy
            arrays.append(made.astype(dtype, copy=False))
        return tuple(arrays)

    def _unfit(self, what: str) -> BackendCrash:
        return BackendCrash(
            f"package '{self.package}' {what}",
            Where(op=self.qnn_name()),
            do="correct the package's function, or the shapes that it was converted with",
        )


@cache
def package_op(package: str, name: str) -> type[PackageOp]:
    """The class of an op; its name is the op's."""
    return type(name, (PackageOp,), {"package": package, "__module__": __name__})


def register_meaning(
    package: str, name: str, meaning: Meaning, definition: PackageOpDefinition | None = None
) -> None:
    """Lets the reference and the backends run an op; with a definition sources may use it at once."""
    _MEANINGS[package, name] = meaning
    if definition is not None:
        _ALWAYS[name] = definition


def has_meaning(package: str, name: str) -> bool:
    """Whether an op can be run."""
    return (package, name) in _MEANINGS


@contextmanager
def using_definitions(definitions: Sequence[PackageOpDefinition]) -> Iterator[set[str]]:
    """Lets sources use these ops inside the block; yields the names of those that were asked for."""
    asked: set[str] = set()
    _SCOPES.append(({definition.type: definition for definition in definitions}, asked))
    try:
        yield asked
    finally:
        _SCOPES.pop()


def definition_of(name: str) -> PackageOpDefinition | None:
    """The description of a source's op; the innermost block's before that of a registered function."""
    for scope, asked in reversed(_SCOPES):
        if name in scope:
            asked.add(name)
            return scope[name]
    return _ALWAYS.get(name)
