"""Variables of a TensorFlow model: which tensor of the checkpoint each one is restored from."""

from collections.abc import Iterable, Mapping

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array
from edgewright.frontends.tensorflow.checkpoint import Checkpoint
from edgewright.frontends.tensorflow.graphdef import Node, split_name

# Ops that give a variable its value.
ASSIGNMENTS = frozenset({"AssignVariableOp", "Assign"})
PASSED_ON = frozenset({"Identity", "IdentityN", "ReadVariableOp"})
RESTORES = frozenset({"RestoreV2", "Restore"})
LONGEST_CHAIN = 100


class Variables:
    """The values of variables by the nodes that are their handles."""

    def __init__(self, nodes: Iterable[Node], checkpoint: Checkpoint | None) -> None:
        self._checkpoint = checkpoint
        self._nodes = {node.name: node for node in nodes} if checkpoint is not None else {}
        self._keys = self._list_restored() if checkpoint is not None else {}
        self._handles: dict[str, Node] = {}

    def handle(self, node: Node) -> str:
        """The handle of a variable: a name that the graph does not know."""
        name = f"variable {node.name}"
        self._handles[name] = node
        return name

    def name(self, handle: str) -> str:
        """What the model calls a variable."""
        node = self._find(handle)
        return node.attributes.text("shared_name") or node.name

    def value(self, handle: str) -> Array:
        """What the checkpoint holds for a variable."""
        node = self._find(handle)
        if self._checkpoint is None:
            raise BadInput(
                f"variable '{shown(self.name(handle))}' has no value: no checkpoint lies beside the model",
                node.where,
                do="put the variables beside the model, or freeze it",
            )
        named = (self._keys.get(node.name, ""), self.name(handle), node.name)
        for key in filter(None, named):
            if key in self._checkpoint:
                return self._checkpoint.array(key)
        raise BadInput(
            f"variable '{shown(self.name(handle))}' is not in the checkpoint",
            node.where,
            do="save the model again",
        )

    def _find(self, handle: str) -> Node:
        if handle not in self._handles:
            raise UnsupportedFeature(
                f"'{shown(handle)}' is read as a variable, expected a handle of one",
                Where(tensor=handle),
                do="export the model for inference, without tables",
            )
        return self._handles[handle]

    def _list_restored(self) -> Mapping[str, str]:
        """The checkpoint's name for each variable, as the model's own restoring assigns it."""
        found: dict[str, str] = {}
        keys: dict[str, list[str]] = {}
        for node in self._nodes.values():
            if node.op not in ASSIGNMENTS or len(node.inputs) < 2:
                continue
            (target, _), (origin, port) = (self._find_origin(item) for item in node.inputs[:2])
            if target is None or origin is None or origin.op not in RESTORES:
                continue
            if origin.name not in keys:
                keys[origin.name] = self._list_names(origin)
            if port < len(keys[origin.name]):
                found[target.name] = keys[origin.name][port]
        return found

    def _find_origin(self, tensor: str) -> tuple[Node | None, int]:
        """The node that made a tensor, seen through those that only pass it on."""
        for _ in range(LONGEST_CHAIN):
            name, port = split_name(tensor)
            node = self._nodes.get(name)
            if node is None or node.op not in PASSED_ON or port >= len(node.inputs):
                return node, port
            tensor = node.inputs[port]
        return None, 0

    def _list_names(self, restore: Node) -> list[str]:
        node, _ = self._find_origin(restore.inputs[1]) if len(restore.inputs) > 1 else (None, 0)
        if node is None or node.op != "Const":
            return []
        names = node.attributes.array("value", node.where).reshape(-1)
        return [bytes(name).decode("utf-8", "replace") for name in names if isinstance(name, bytes)]
