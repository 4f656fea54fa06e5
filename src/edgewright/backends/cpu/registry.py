"""Which function writes which op for the engine."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from edgewright.core.registry import Registry
from edgewright.ir.graph import Node
from edgewright.ir.op import Op

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

# Gets the op, the engine's names of its inputs ("" where left out) and the node; returns the engine's names
# of its outputs.
Lowering = Callable[["Writer", Any, list[str], Node], str | Sequence[str]]
LOWERINGS: Registry[type[Op], Lowering] = Registry("lowering of the op")
lowers = LOWERINGS.register


class NotOnEngine(Exception):
    """The engine has no equal for this op with these parameters or types: the reference runs it."""


def one_to_one(table: dict[type[Op], str]) -> None:
    """Registers ops that are one ONNX op as they stand."""
    for op, name in table.items():
        lowers(op)(_writing(name))


def _writing(name: str) -> Lowering:
    def write(w: "Writer", op: Op, inputs: list[str], node: Node) -> str:
        del op, node
        return w.node(name, *inputs)

    return write
