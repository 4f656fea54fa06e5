"""Loops and branches that TensorFlow wrote as single nodes (Enter, Merge, Switch ...), made whole again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgewright.core.errors import BadInput, shown
from edgewright.frontends.tensorflow.functions import Body
from edgewright.frontends.tensorflow.graphdef import Node, find_producer, split_name

# The ops that stand for a whole loop (its functions are called after it) and for the end of two branches.
LOOP, CHOICE = "Loop", "Choice"
ENTERS, MERGES = frozenset({"Enter", "RefEnter"}), frozenset({"Merge", "RefMerge"})
SWITCHES, EXITS = frozenset({"Switch", "RefSwitch"}), frozenset({"Exit", "RefExit"})
NEXT = frozenset({"NextIteration", "RefNextIteration"})


def rebuild_control_flow(nodes: Sequence[Node]) -> tuple[list[Node], dict[str, Body]]:
    """The nodes with loops and branches as one node each, and the functions of the loops."""
    found, bodies = list(nodes), {}
    while frame := _find_innermost(found):
        found, made = _Frame(frame, found).replaced()
        bodies.update(made)
    return _with_choices(found), bodies


@dataclass(frozen=True)
class _Variable:
    """What a loop carries from turn to turn."""

    enter: Node
    merge: Node
    following: Node
    switch: Node | None


class _Frame:
    """One loop: the nodes that share the name of a frame."""

    def __init__(self, name: str, nodes: Sequence[Node]) -> None:
        self._name = name
        self._nodes = nodes
        self._by_name = {node.name: node for node in nodes}
        entering = [n for n in nodes if n.op in ENTERS and n.attributes.text("frame_name") == name]
        self._variables = self._list_variables({node.output(0): node for node in entering})
        carried = {variable.enter.name for variable in self._variables}
        self._fixed = [node for node in entering if node.name not in carried]

    def replaced(self) -> tuple[list[Node], dict[str, Body]]:
        """All nodes with one in the place of the loop, and the loop's condition and body."""
        label = f"{self._name}_loop"
        places = {v.merge.name: f"turn/{i}:0" for i, v in enumerate(self._variables)}
        fixed = {node.name: f"fixed/{i}:0" for i, node in enumerate(self._fixed)}
        arguments = (*places.values(), *fixed.values())
        names = self._name_inside(places, fixed)
        following = [v.following.inputs[0] for v in self._variables if v.following.inputs]
        body = self._make_function(f"{label}/body", arguments, following, names)
        condition = self._make_function(f"{label}/cond", arguments, [self._condition()], names)
        results = (*body.results, *fixed.values())
        bodies = {
            condition.name: condition,
            body.name: Body(body.name, arguments, results, body.nodes),
        }
        inputs = [
            node.inputs[0] for node in (*(v.enter for v in self._variables), *self._fixed) if node.inputs
        ]
        loop = Node(label, LOOP, tuple(inputs))
        inside = {node.name for node in (*body.nodes, *condition.nodes) if node.op != "Const"}
        return [*self._list_outside(inside, label), loop], bodies

    def _list_variables(self, entering: Mapping[str, Node]) -> list[_Variable]:
        found = []
        for merge in self._nodes:
            ends = [self._by_name.get(find_producer(item)) for item in merge.inputs[:2]]
            if merge.op not in MERGES or len(ends) != 2 or merge.inputs[0] not in entering:
                continue
            enter, following = ends
            if enter is None or following is None or following.op not in NEXT:
                raise BadInput(f"loop '{shown(self._name)}' does not close", merge.where)
            switches = (n for n in self._nodes if n.op in SWITCHES and n.inputs[:1] == (merge.output(0),))
            found.append(_Variable(enter, merge, following, next(switches, None)))
        return found

    def _condition(self) -> str:
        switch = next((v.switch for v in self._variables if v.switch is not None), None)
        node = (
            self._by_name.get(find_producer(switch.inputs[1])) if switch and len(switch.inputs) > 1 else None
        )
        if node is None or node.op != "LoopCond" or not node.inputs:
            raise BadInput(f"loop '{shown(self._name)}' has no condition", do="export the model again")
        return node.inputs[0]

    def _name_inside(self, places: Mapping[str, str], fixed: Mapping[str, str]) -> dict[str, str]:
        """What the tensors at the loop's border are called inside of its functions."""
        names = {f"{node}:0": argument for node, argument in (*places.items(), *fixed.items())}
        for variable in self._variables:
            if variable.switch is not None:
                names[variable.switch.output(1)] = places[variable.merge.name]
        return names

    def _make_function(
        self, name: str, arguments: tuple[str, ...], results: Sequence[str], names: Mapping[str, str]
    ) -> Body:
        """The nodes behind the results, up to the loop's border."""
        pending, inside = list(results), {}
        while pending:
            tensor = pending.pop()
            node = self._by_name.get(find_producer(tensor))
            if tensor in names or node is None or node.name in inside:
                continue
            if node.op in ENTERS | NEXT | MERGES and self._is_loop(node):
                raise BadInput(f"loop '{shown(self._name)}' reads across its border", node.where)
            inside[node.name] = node.renamed(node.name, [names.get(item, item) for item in node.inputs])
            pending += node.inputs
        return Body(name, arguments, tuple(names.get(item, item) for item in results), tuple(inside.values()))

    def _is_loop(self, node: Node) -> bool:
        return node.op not in MERGES or any(
            (before := self._by_name.get(find_producer(item))) is not None and before.op in NEXT
            for item in node.inputs
        )

    def _list_outside(self, inside: set[str], label: str) -> list[Node]:
        """What is left: without the loop's nodes, its results taken from the one that stands for it."""
        gone = set(inside) | {node.name for node in self._fixed}
        exits: dict[str, int] = {}
        for place, variable in enumerate(self._variables):
            gone |= {variable.enter.name, variable.merge.name, variable.following.name}
            if variable.switch is not None:
                gone |= {variable.switch.name, find_producer(variable.switch.inputs[1])}
                exits[variable.switch.output(0)] = place
        return [
            node.renamed(node.name, [f"{label}:{exits[node.inputs[0]]}"])
            if node.op in EXITS and node.inputs and node.inputs[0] in exits
            else node
            for node in self._nodes
            if node.name not in gone
        ]


def _find_innermost(nodes: Sequence[Node]) -> str:
    """The name of a loop that has no other loop inside; "" where there is none."""
    frames = {n.name: n.attributes.text("frame_name") for n in nodes if n.op in ENTERS}
    if not frames:
        return ""
    # What enters a loop from inside of another one comes from that one's border.
    readers = _map_readers(nodes)
    outer: dict[str, set[str]] = {}
    for name, frame in frames.items():
        outer.setdefault(frame, set())
        for other in _find_entered_frames(name, nodes, readers, frames):
            if other != frame:
                outer[frame].add(other)
    inner = [frame for frame, others in outer.items() if not others]
    return min(inner) if inner else min(outer)


def _map_readers(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        for item in node.inputs:
            found.setdefault(split_name(item)[0], []).append(node)
    return found


def _find_entered_frames(
    name: str, nodes: Sequence[Node], readers: Mapping[str, list[Node]], frames: Mapping[str, str]
) -> set[str]:
    """The frames that are entered from inside of the frame that a node enters."""
    pending, seen, found = [name], {name}, set()
    while pending:
        for node in readers.get(pending.pop(), ()):
            if node.name in seen or node.op in EXITS:
                continue
            seen.add(node.name)
            if node.name in frames:
                found.add(frames[node.name])
            else:
                pending.append(node.name)
    return found


def _with_choices(nodes: Sequence[Node]) -> list[Node]:
    """Ends of two branches get the condition that they depend on."""
    by_name = {node.name: node for node in nodes}
    return [_replace_merge(node, by_name) if node.op in MERGES else node for node in nodes]


def _replace_merge(merge: Node, by_name: Mapping[str, Node]) -> Node:
    if len(merge.inputs) != 2:
        return merge
    taken = [_find_conditions(item, by_name) for item in merge.inputs]
    for condition in (*taken[0], *taken[1]):
        sides = [found.get(condition, set()) for found in taken]
        if sides in ([{0}, {1}], [{0}, set()], [set(), {1}]):
            return Node(merge.name, CHOICE, (condition, merge.inputs[1], merge.inputs[0]))
        if sides in ([{1}, {0}], [{1}, set()], [set(), {0}]):
            return Node(merge.name, CHOICE, (condition, merge.inputs[0], merge.inputs[1]))
    return merge


def _find_conditions(tensor: str, by_name: Mapping[str, Node]) -> dict[str, set[int]]:
    """The conditions of the switches behind a tensor, and the sides that it comes from."""
    pending, seen = [tensor], {tensor}
    found: dict[str, set[int]] = {}
    while pending:
        name, port = split_name(pending.pop())
        node = by_name.get(name)
        if node is None:
            continue
        if node.op in SWITCHES and len(node.inputs) > 1:
            found.setdefault(node.inputs[1], set()).add(port)
        fresh = [item for item in node.inputs if item not in seen]
        seen.update(fresh)
        pending += fresh
    return found
