"""The inputs and outputs of a TensorFlow graph: as a signature names them, or as its nodes tell."""

from collections.abc import Collection, Sequence

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import DType
from edgewright.frontends.tensorflow.graphdef import END, Node, find_producer, name_tensor, split_name
from edgewright.frontends.tensorflow.order import count_ports, list_needed
from edgewright.frontends.tensorflow.registry import TRANSLATIONS
from edgewright.frontends.tensorflow.saved_model import Signature, TensorflowFile
from edgewright.frontends.tensorflow.tensors import DTYPES, TensorShape, find_dtype
from edgewright.frontends.tensorflow.variables import ASSIGNMENTS

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
WITH_DEFAULT = "PlaceholderWithDefault"
# Nodes that nobody reads and that are no result.
EFFECTS = ASSIGNMENTS | frozenset(
    {"NoOp", "Assert", "Print", "PrintV2", "SaveV2", "SaveSlices", "Const", "Exit"}
)
# Before this version an empty shape said that nothing is known.
FIRST_WITH_SCALARS = 24
# Attributes that say which type of elements a node makes.
TYPES = ("dtype", "DstT", "out_type", "output_type", "T")


class Ends:
    """Which tensors a graph takes and gives, and the names that users may call them by."""

    def __init__(self, nodes: Sequence[Node], file: TensorflowFile) -> None:
        self._file = file
        self._by_name = {node.name: node for node in nodes}
        found = _choose_usable(file.signature)
        self._signature = found
        self._keys = {} if found is None else {end.tensor: key for key, end in found.inputs.items()}
        self.nodes = list(nodes) if found is None else self._with_signature(nodes, found)
        self.tensors = self._all_tensors()
        self.inputs = list(found.inputs) if found else self._placeholders()
        self.outputs = list(found.outputs) if found else self._unread()

    @property
    def keys(self) -> Collection[str]:
        """The inputs that a signature names: no node makes them."""
        return self._keys.values()

    def full_name(self, name: str) -> str:
        """The model's name for what a user names."""
        full = name if name in self.tensors else name_tensor(name)
        return self._keys.get(full, full)

    def input_type(self, name: str) -> tuple[DType, TensorShape]:
        """What is said of an input."""
        where = Where(file=self._file.name, tensor=name)
        if self._signature is not None and name in self._signature.inputs:
            end = self._signature.inputs[name]
            return find_dtype(end.dtype, where), end.shape
        node = self._by_name[find_producer(name)]
        shape = node.attributes.shape("shape") if node.op in PLACEHOLDERS | {WITH_DEFAULT} else None
        if shape is None or (not shape.dims and self._file.graph.producer < FIRST_WITH_SCALARS):
            shape = TensorShape(None)
        return _read_dtype(node), shape

    def is_kept(self, name: str, reached: Collection[str]) -> bool:
        """Whether an input has a part in the model; a signature's always have."""
        return self._signature is not None or split_name(name)[0] in reached

    def _with_signature(self, nodes: Sequence[Node], signature: Signature) -> list[Node]:
        """The ends under their keys: the tensors behind them become other names for them."""
        inputs = {split_name(end.tensor)[0]: key for key, end in signature.inputs.items()}
        missing = [
            end.tensor
            for end in (*signature.inputs.values(), *signature.outputs.values())
            if split_name(end.tensor)[0] not in self._by_name
        ]
        if missing:
            raise BadInput(
                f"the signature names tensor '{shown(missing[0])}', which the graph does not have",
                Where(file=self._file.name),
                do="save the model again",
            )
        renamed = [
            Node(node.name, "Identity", (inputs[node.name],)) if node.name in inputs else node
            for node in nodes
        ]
        results = [Node(END + key, "Identity", (end.tensor,)) for key, end in signature.outputs.items()]
        # Saving, restoring and other signatures are no part of the model.
        return list_needed([*renamed, *results], list(signature.outputs), set(signature.inputs))

    def _all_tensors(self) -> set[str]:
        counts = count_ports(self.nodes, ())
        made = {node.output(port) for node in self.nodes for port in range(counts.get(node.name, 1))}
        return made | set(self._keys.values())

    def has_default(self, name: str) -> bool:
        """Whether a tensor is that of a placeholder which stands for another tensor unless it is named."""
        node = self._by_name.get(find_producer(name))
        return node is not None and node.op == WITH_DEFAULT

    def _placeholders(self) -> list[str]:
        """A placeholder with a default is the identity of it, unless nothing here can compute the default."""
        return [
            node.output(0)
            for node in self.nodes
            if node.op in PLACEHOLDERS or (node.op == WITH_DEFAULT and self._is_fed_from_outside(node))
        ]

    def _is_fed_from_outside(self, node: Node) -> bool:
        """Whether data comes out of something that is no part of a model: an iterator, a queue, a file."""
        pending, visited = [node], {node.name}
        while pending:
            current = pending.pop()
            if current.op not in TRANSLATIONS and current.op not in PLACEHOLDERS:
                return True
            names = (find_producer(item) for item in current.inputs)
            fresh = [name for name in dict.fromkeys(names) if name in self._by_name and name not in visited]
            visited.update(fresh)
            pending += [self._by_name[name] for name in fresh]
        return False

    def _unread(self) -> list[str]:
        """What depends on an input and is read by nobody."""
        read = {split_name(item)[0] for node in self.nodes for item in node.inputs} | self._file.graph.awaited
        fed = self._fed()
        return [
            node.output(0)
            for node in self.nodes
            if node.name not in read and node.name in fed and node.op not in EFFECTS | PLACEHOLDERS
        ]

    def _fed(self) -> set[str]:
        """The nodes that an input has a part in."""
        readers: dict[str, list[str]] = {}
        for node in self.nodes:
            for item in node.inputs:
                readers.setdefault(split_name(item)[0], []).append(node.name)
        pending = [split_name(name)[0] for name in self._placeholders()]
        found = set(pending)
        while pending:
            fresh = [name for name in readers.get(pending.pop(), ()) if name not in found]
            found.update(fresh)
            pending += fresh
        return found


def _choose_usable(signature: Signature | None) -> Signature | None:
    """A signature whose keys cannot be mistaken for tensors; those that can be stand for their tensors."""
    if signature is None:
        return None
    pairs = (*signature.inputs, *signature.outputs)
    clashing = any(find_producer(key) != END + key for key in pairs)
    doubled = set(signature.inputs) & set(signature.outputs)
    if not clashing and not doubled:
        return signature
    outputs = {f"{key}_out" if key in doubled else key: end for key, end in signature.outputs.items()}
    if not clashing:
        return Signature(signature.key, signature.inputs, outputs)
    safe = str.maketrans(":", "_")
    return Signature(
        signature.key,
        {key.translate(safe): end for key, end in signature.inputs.items()},
        {key.translate(safe): end for key, end in outputs.items()},
    )


def _read_dtype(node: Node) -> DType:
    for name in TYPES:
        code = node.attributes.message(name).whole(6)
        if code in DTYPES:
            return DTYPES[code]
    return DType.FLOAT_32
