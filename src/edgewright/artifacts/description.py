"""The metadata that the files of a model hold besides its graph."""

import re
from collections import Counter
from dataclasses import dataclass

from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError, Where, shown
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# With '.raw' appended, a name still fits the 100 bytes of a tar header.
_LONGEST_NAME = 96


@dataclass(frozen=True)
class Description:
    """Names of the files that belong together, and texts that a user may set."""

    cpp_name: str = "model.cpp"
    bin_name: str = "model.bin"
    # The tool and its options as one text: 'qnn-onnx-converter; act_bitwidth=8; ...'
    command: str = "edgewright"
    copyright_text: str = ""
    # The user's version of the model, and how it was quantized; net.json has no place for them.
    model_version: str = ""
    quantizer_command: str = ""
    # Encodings files as texts, kept for a quantizer: those of the source model, and those of its user.
    source_encodings: str = ""
    override_encodings: str = ""
    # Replaces the package of every node if given.
    package: str | None = None
    # First part of the names of the two exported functions.
    prefix: str = "QnnModel"

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.prefix):
            raise UsageError(
                f"model prefix '{shown(self.prefix)}' is not a C identifier",
                do="use letters, digits and '_' only, and no digit first",
            )

        # Names of files need not be UTF-8; what the files of a model hold is.
        for name in ("command", "copyright_text", "model_version", "quantizer_command"):
            text: str = getattr(self, name)
            object.__setattr__(self, name, text.encode("utf-8", "backslashreplace").decode())

    def package_of(self, node: QnnNode) -> str:
        """The package to write for a node."""
        return node.package if self.package is None else self.package


def check_names(graph: QnnGraph) -> None:
    """Refuses names that cannot be identifiers and file names: they end up in C++ source and in a tar."""
    params = [param.name for node in graph.nodes for param in node.tensor_params.values()]
    check_unique("tensor", [*graph.tensors, *params])
    check_unique("node", [node.name for node in graph.nodes])
    for kind, names in (("graph", [graph.name]), ("tensor", graph.tensors), ("parameter", params)):
        for name in names:
            # Parameters are not members of the tar: they may be longer by their node's name.
            _check_name(kind, name, _LONGEST_NAME if kind != "parameter" else 2 * _LONGEST_NAME)
    for node in graph.nodes:
        _check_name("node", node.name, _LONGEST_NAME)


def check_tensor_type(tensor: QnnTensor) -> None:
    """Refuses a tensor of a data type that QNN has no number for."""
    if not tensor.dtype.is_qnn:
        raise UnsupportedFeature(
            f"QNN has no data type for '{tensor.dtype.name}'",
            Where(tensor=tensor.name),
            do="convert the tensor to a type that QNN has, such as FLOAT_32 or INT_32",
        )


def check_scalar_type(name: str, scalar: QnnScalar, where: Where) -> None:
    """Refuses a parameter of a data type that QNN has no number for."""
    if not scalar.dtype.is_qnn:
        what = f"QNN has no data type for '{scalar.dtype.name}' of parameter '{name}'"
        raise UnsupportedFeature(what, where)


def check_unique(kind: str, names: list[str]) -> None:
    """Refuses a name that two things of a kind share."""
    name, count = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if count > 1:
        raise BadInput(
            f"{count} {kind}s are named '{shown(name)}', expected unique names",
            Where(detail=f"{kind} '{shown(name)}'"),
            do=f"rename the {kind} in the source model",
        )


def _check_name(kind: str, name: str, longest: int) -> None:
    if len(name) > longest or not _IDENTIFIER.fullmatch(name):
        raise BadInput(
            f"{kind} name '{shown(name)}' is not a C identifier of at most {longest} characters",
            Where(detail=f"{kind} '{shown(name)}'"),
            do="convert the model again: conversion gives every tensor and node such a name",
        )
