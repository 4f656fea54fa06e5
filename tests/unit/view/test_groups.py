"""Nodes in groups: names say which belong together, and no group is too large to lay out."""

from edgewright.view.groups import LARGEST_GROUP, SMALLEST_GROUP, Group, group_nodes, split_name


def list_all(root):
    groups = [root]
    for group in groups:
        groups.extend(member for member in group.members if isinstance(member, Group))
    return groups


def test_names_with_slashes_make_groups():
    names = [f"net/layer_{layer}/op_{op}" for layer in range(3) for op in range(SMALLEST_GROUP)]
    root = group_nodes(names)
    assert [group.name for group in list_all(root)] == ["", "layer_0", "layer_1", "layer_2"]


def test_dots_count_only_in_names_without_slashes():
    assert split_name("/features/features.0/conv.1/Conv") == ("features", "features.0", "conv.1")
    assert split_name("encoder.layer.0.weight") == ("encoder", "layer", "0")


def test_of_names_that_were_fused_the_first_counts():
    assert split_name("model/conv/BiasAdd;model/bn/Mul") == ("model", "conv")


def test_a_group_of_few_nodes_is_dissolved():
    root = group_nodes(["a/x", "a/y", "b/x", "c"])
    assert root.members == [0, 1, 2, 3]


def test_a_long_chain_without_groups_is_cut_into_parts():
    root = group_nodes([f"relu_{number}" for number in range(20_000)])
    groups = list_all(root)
    assert max(len(group.members) for group in groups) <= LARGEST_GROUP
    nodes = [member for group in groups for member in group.members if isinstance(member, int)]
    assert sorted(nodes) == list(range(20_000))


def test_names_that_nest_deeply_do_not_end_the_recursion():
    deep = "/".join(f"g{depth}" for depth in range(5000))
    root = group_nodes([f"{deep}/{number}" for number in range(SMALLEST_GROUP)])
    assert root.members == [0, 1, 2, 3]


def test_every_node_is_in_one_group():
    names = [f"{'a/' * (number % 7)}n{number}" for number in range(1000)]
    nodes = [m for group in list_all(group_nodes(names)) for m in group.members if isinstance(m, int)]
    assert sorted(nodes) == list(range(1000))


def test_names_that_sort_by_kind_make_no_groups():
    kinds = ("Conv", "BatchNormalization", "Relu")
    names = [f"p2o.{kind}.{block}" for block in range(40) for kind in kinds]
    root = group_nodes(names)
    assert root.members == list(range(120))
    # Two branches that run in turns are groups all the same.
    pairs = [f"net/{side}/op_{step}_{part}" for step in range(6) for side in "ab" for part in range(2)]
    assert [group.name for group in list_all(group_nodes(pairs))] == ["", "a", "b"]
