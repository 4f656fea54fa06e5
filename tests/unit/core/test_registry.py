import re

import pytest

from edgewright.core.registry import Registry


def test_the_newest_value_that_is_not_above_a_version_is_found():
    registry = Registry("translation of")
    registry.register("Add", since=1)("first")
    registry.register("Add", since=7)("second")
    assert [registry.find("Add", version) for version in (0, 1, 6, 7, 20)] == [
        None,
        "first",
        "first",
        "second",
        "second",
    ]
    assert registry.find("Sub", 7) is None


def test_as_a_mapping_it_holds_the_newest_of_each_name():
    registry = Registry("translation of")
    registry.add("Add", "new", since=7)
    registry.add("Add", "old", since=1)
    registry.register("Sub", "Mul")("both")
    assert dict(registry) == {"Add": "new", "Sub": "both", "Mul": "both"}
    assert "Div" not in registry
    assert registry.get("Div") is None


def test_a_second_value_for_a_name_is_refused_with_both_places():
    registry = Registry("pass")
    namespace = {"__name__": "first_module", "registry": registry}
    exec("\n\nregistry.add('fold', 1)", namespace)
    exec("registry.add('fold', 2, since=2)", namespace)
    expected = "a second pass fold at second_module:2, the first is at first_module:3"
    with pytest.raises(AssertionError, match=re.escape(expected)):
        exec("\nregistry.register('fold')(3)", {"__name__": "second_module", "registry": registry})
    assert registry["fold"] == 2


def test_a_class_is_called_by_its_name():
    registry = Registry("lowering of")
    registry.add(int, "first")
    with pytest.raises(AssertionError, match="a second lowering of int at"):
        registry.add(int, "second")
