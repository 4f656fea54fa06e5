"""A loaded op package: its interface, and calls of its ops. It is code: load it only in a worker."""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import CFUNCTYPE, POINTER, addressof, byref, c_char_p, c_uint64, c_void_p, cast
from typing import Any

import numpy as np

from edgewright.abi.op_package_structs import (
    INTERFACE,
    CpuNode,
    CpuOpImpl,
    CpuParam,
    CpuTensor,
    InferredOutput,
    PackageInfo,
    PackageInterface,
)
from edgewright.core.errors import BackendCrash, EnvironmentProblem, Where, shown
from edgewright.core.numbers import Array, DType

INFER = "ConverterOpPackage_inferOutputs"
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "init": (c_void_p,),
    "getInfo": (POINTER(POINTER(PackageInfo)),),
    "createOpImpl": (c_void_p, c_void_p, POINTER(c_void_p)),
    "freeOpImpl": (c_void_p,),
}
# An output of a call: shape and data type.
Result = tuple[tuple[int, ...], int]


class PackageLibrary:
    """The ops of a package, run through its interface."""

    def __init__(self, path: str, provider: str) -> None:
        self._path = path
        library = _open_library(path)
        self._interface = PackageInterface()
        self._check(_find_function(library, path, provider, c_void_p)(byref(self._interface)), provider)
        if self._interface.version.major != 1:
            found = f"{self._interface.version.major}.{self._interface.version.minor}"
            raise EnvironmentProblem(
                f"the op package has interface {found}, expected 1.x", Where(file=path), do="build it again"
            )
        self._check(self._call("init", None), "init")

    def operations(self) -> tuple[str, list[str]]:
        """The package's name and its ops."""
        found = POINTER(PackageInfo)()
        self._check(self._call("getInfo", byref(found)), "getInfo")
        names = [found.contents.operations[index] for index in range(found.contents.operations_count)]
        return _read_text(found.contents.name), [_read_text(name) for name in names]

    def run(
        self, op: str, inputs: Sequence[Array | None], params: Mapping[str, Any], results: Sequence[Result]
    ) -> list[Array]:
        """The outputs of an op."""
        kept: list[Any] = []
        made = [np.zeros(shape, DType(code).numpy) for shape, code in results]
        node = _make_node(op, inputs, params, made, kept)
        created = c_void_p()
        self._check(self._call("createOpImpl", None, addressof(node), byref(created)), "createOpImpl", op)
        impl = cast(created, POINTER(CpuOpImpl)).contents
        code = CFUNCTYPE(c_uint64, c_void_p)(impl.function)(impl.user_data)
        self._call("freeOpImpl", created)
        self._check(code, "the op's function", op)
        return made

    def _call(self, name: str, *arguments: Any) -> int:
        address = self._interface.functions[INTERFACE.index(name)]
        if not address:
            raise BackendCrash(f"the op package has no function '{name}'", Where(file=self._path))
        return int(CFUNCTYPE(c_uint64, *_ARGUMENTS[name])(address)(*arguments))

    def _check(self, code: int, what: str, op: str | None = None) -> None:
        if code:
            raise BackendCrash(
                f"{what} of the op package returned {code}, expected 0",
                Where(file=self._path, op=op),
                do="see what the package prints, or correct its source",
            )


class ConverterLibrary:
    """A library that infers the shapes and data types of outputs."""

    def __init__(self, path: str) -> None:
        self._path = path
        kinds = (POINTER(CpuNode), POINTER(InferredOutput), ctypes.c_uint32)
        self._infer = _find_function(_open_library(path), path, INFER, *kinds)

    def outputs(
        self, op: str, inputs: Sequence[Result | None], params: Mapping[str, Any], count: int
    ) -> list[Result]:
        """Shapes and data types of an op's outputs."""
        kept: list[Any] = []
        node = _make_node(op, [None] * len(inputs), params, [], kept)
        for index, given in enumerate(inputs):
            if given is not None:
                _describe(node.inputs[index], given[0], given[1], kept)
        found = (InferredOutput * count)()
        code = int(self._infer(byref(node), found, count))
        if code:
            raise BackendCrash(
                f"{INFER} returned {code}, expected 0",
                Where(file=self._path, op=op),
                do="correct the library's source for these inputs",
            )
        return [(tuple(item.dims[: min(item.rank, len(item.dims))]), item.data_type) for item in found]


def _make_node(
    op: str, inputs: Sequence[Array | None], params: Mapping[str, Any], made: Sequence[Array], kept: list[Any]
) -> CpuNode:
    node = CpuNode(name=op.encode(), package=b"", type_name=op.encode())
    node.params_count, node.params = len(params), _keep_alive((CpuParam * len(params))(), kept)
    for index, (name, value) in enumerate(params.items()):
        _fill_param(node.params[index], name, value, kept)
    node.inputs_count, node.inputs = len(inputs), _keep_alive((CpuTensor * len(inputs))(), kept)
    for index, array in enumerate(inputs):
        if array is not None:
            _fill(node.inputs[index], array, kept)
    node.outputs_count, node.outputs = len(made), _keep_alive((CpuTensor * len(made))(), kept)
    for index, array in enumerate(made):
        _fill(node.outputs[index], array, kept)
    return node


def _fill_param(param: CpuParam, name: str, value: Any, kept: list[Any]) -> None:
    param.name = _keep_alive(name.encode(), kept)
    if isinstance(value, str):
        param.text = _keep_alive(value.encode(), kept)
    elif isinstance(value, np.ndarray):
        param.type = 1
        _fill(param.tensor, value, kept)
    else:
        param.scalar = float(value)


def _fill(tensor: CpuTensor, array: Array, kept: list[Any]) -> None:
    dense = _keep_alive(np.ascontiguousarray(array), kept)
    _describe(tensor, dense.shape, int(DType.of(dense.dtype)), kept)
    tensor.data = dense.ctypes.data


def _describe(tensor: CpuTensor, shape: Sequence[int], code: int, kept: list[Any]) -> None:
    tensor.data_type, tensor.rank = code, len(shape)
    tensor.dims = _keep_alive((ctypes.c_uint32 * len(shape))(*shape), kept)


def _keep_alive(item: Any, kept: list[Any]) -> Any:
    kept.append(item)
    return item


def _open_library(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as problem:
        raise EnvironmentProblem(
            f"the library cannot be loaded: {shown(problem, 400)}", Where(file=path), do="build it again"
        ) from None


def _find_function(library: ctypes.CDLL, path: str, name: str, *arguments: Any) -> Any:
    try:
        return CFUNCTYPE(c_uint64, *arguments)((name, library))
    except AttributeError:
        raise EnvironmentProblem(
            f"the library has no function '{shown(name)}'",
            Where(file=path),
            do="name its provider: path.so:PROVIDER, such as MyPackageInterfaceProvider",
        ) from None


def _read_text(value: bytes | c_char_p | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
