"""Folds the nodes of a graph into groups, so that no picture has to lay out more than a few hundred boxes.

Names say which nodes belong together ('encoder/layer_0/attention/...'); what they leave too long is cut into
parts by the order of the nodes.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# Boxes that one layout may have: laying out twice as many takes about four times as long.
LARGEST_GROUP = 150
# A frame around fewer nodes is more to look at than the nodes.
SMALLEST_GROUP = 4
# A group of which more than this share stands alone is none.
SCATTERED = 0.6
_DEEPEST = 24
_DOTS = re.compile(r"(?<=[A-Za-z_\d])\.(?=[A-Za-z_\d])|::")


@dataclass
class Group:
    """Groups and nodes (by number) in the order of their first node."""

    name: str
    members: list["Group | int"] = field(default_factory=list)


def group_nodes(names: Sequence[str]) -> Group:
    """The tree of groups over nodes with these names, in their order."""
    root = _group_by_names([split_name(name) for name in names])
    _drop_scattered_groups(root)
    _drop_small_groups(root)
    _cut_into_parts(root)
    return root


def split_name(name: str) -> tuple[str, ...]:
    """The names of the groups around a node, outermost first."""
    # TFLite joins the names of all that was fused; the first is that of the op itself.
    first = name.split(";", 1)[0]
    parts = [part for part in (first.split("/") if "/" in first else _DOTS.split(first)) if part]
    return tuple(parts[:-1][:_DEEPEST])


def _group_by_names(paths: Sequence[tuple[str, ...]]) -> Group:
    root = Group("")
    places: dict[tuple[str, ...], Group] = {(): root}
    for number, path in enumerate(paths):
        group = root
        for depth in range(1, len(path) + 1):
            key = path[:depth]
            if key not in places:
                places[key] = Group(path[depth - 1])
                group.members.append(places[key])
            group = places[key]
        group.members.append(number)
    return root


def _drop_scattered_groups(root: Group) -> None:
    """Drops groups whose nodes stand all over the graph: 'net.Conv.12' sorts by kind, not by place."""
    numbers: dict[int, list[int]] = {}
    for group in reversed(_list_groups(root)):
        kept: list[Group | int] = []
        for member in group.members:
            if isinstance(member, Group) and _is_scattered(numbers[id(member)]):
                kept.extend(member.members)
            else:
                kept.append(member)
        firsts = [member if isinstance(member, int) else numbers[id(member)][0] for member in kept]
        order = sorted(range(len(kept)), key=firsts.__getitem__)
        group.members = [kept[place] for place in order]
        inside = [[member] if isinstance(member, int) else numbers[id(member)] for member in group.members]
        numbers[id(group)] = sorted(number for part in inside for number in part)


def _is_scattered(numbers: Sequence[int]) -> bool:
    """Whether most nodes, in the order in which they run, do not follow another one of the group."""
    pieces = 1 + sum(after - before > 1 for before, after in itertools.pairwise(numbers))
    return len(numbers) >= SMALLEST_GROUP and pieces > SCATTERED * len(numbers)


def _drop_small_groups(root: Group) -> None:
    """Drops groups of a few nodes, whose members take their place, and joins one group inside another."""
    for group in reversed(_list_groups(root)):
        members: list[Group | int] = []
        for member in group.members:
            if isinstance(member, int) or len(member.members) >= SMALLEST_GROUP:
                members.append(member)
            elif len(member.members) == 1 and isinstance(member.members[0], Group):
                member.members[0].name = f"{member.name}/{member.members[0].name}"
                members.append(member.members[0])
            elif any(isinstance(inner, Group) for inner in member.members):
                members.append(member)
            else:
                members.extend(member.members)
        group.members = members
    # A root with a single group shows nothing that the group does not show.
    while len(root.members) == 1 and isinstance(root.members[0], Group):
        root.members = root.members[0].members


def _cut_into_parts(root: Group) -> None:
    for group in _list_groups(root):
        while len(group.members) > LARGEST_GROUP:
            size = min(LARGEST_GROUP, round(len(group.members) ** 0.5))
            pieces = [group.members[start : start + size] for start in range(0, len(group.members), size)]
            group.members = [
                piece[0] if len(piece) == 1 else Group(f"part {number}", piece)
                for number, piece in enumerate(pieces, 1)
            ]


def _list_groups(root: Group) -> list[Group]:
    """All groups, each before those inside it; without recursion, names may nest as they like."""
    groups = [root]
    for group in groups:
        groups.extend(member for member in group.members if isinstance(member, Group))
    return groups
