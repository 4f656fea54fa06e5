"""The content of an op package's XML file."""

import re
from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ops.package import PackageOpDefinition, PackageParam


@dataclass(frozen=True)
class PortDef:
    """An input or an output."""

    name: str
    dtypes: tuple[DType, ...] = ()
    rank: str = "ND"
    layout: str = ""
    is_mandatory: bool = True
    is_repeated: bool = False
    is_static: bool = False

    @property
    def identifier(self) -> str:
        """The name as C++ takes it: in_0 for in[0]."""
        return re.sub(r"\W+", "_", self.name).strip("_")


@dataclass(frozen=True)
class OpDef:
    """An op of the package."""

    name: str
    description: str = ""
    inputs: tuple[PortDef, ...] = ()
    outputs: tuple[PortDef, ...] = ()
    params: tuple[PackageParam, ...] = ()
    backends: tuple[str, ...] = ()
    # Whether the op is QNN's own, implemented by another package.
    is_default_translation: bool = False


@dataclass(frozen=True)
class PackageDef:
    """A package: the ops it has, and the backends that each is for."""

    name: str
    version: str
    domain: str
    ops: tuple[OpDef, ...]

    @property
    def backends(self) -> tuple[str, ...]:
        """All backends that an op is for, in order."""
        return tuple(dict.fromkeys(backend for op in self.ops for backend in op.backends))

    def for_backend(self, backend: str) -> tuple[OpDef, ...]:
        """The ops that a backend gets."""
        return tuple(op for op in self.ops if backend in op.backends)

    def definitions(self) -> list[PackageOpDefinition]:
        """The ops as a converter uses them."""
        return [
            PackageOpDefinition(
                self.name,
                op.name,
                () if any(port.is_repeated for port in op.inputs) else tuple(p.name for p in op.inputs),
                tuple(port.name for port in op.outputs),
                op.params,
            )
            for op in self.ops
            if not op.is_default_translation
        ]
