"""Where the tensors of a source model went."""

from edgewright.ir.sources import CONSTANT, UNREAD, WEIGHT, SourceFlow, flow_of

# x -> a -> b -> y, with a weight, a constant that is computed from it, and a branch that leads nowhere.
NODES = [
    (("x", "w"), ("a",)),
    (("w",), ("w2",)),
    (("a", "w2"), ("b",)),
    (("b",), ("y",)),
    (("a",), ("loose",)),
]


def test_a_tensor_that_is_found_is_not_listed():
    flow = flow_of(NODES, ["x"], ["x", "w", "unused"])
    assert set(flow.missing({"x", "a", "b", "y", "w", "w2", "loose"})) == {"unused"}


def test_each_missing_tensor_has_a_reason():
    flow = flow_of(NODES, ["x"], ["x", "w", "unused"])
    assert flow.missing({"x", "y"}) == {
        "a": "part of the op that makes 'y'",
        "b": "part of the op that makes 'y'",
        "loose": UNREAD,
        "unused": UNREAD,
        "w": WEIGHT,
        "w2": CONSTANT,
    }


def test_a_circle_in_a_damaged_source_ends():
    flow = flow_of([(("x", "b"), ("a",)), (("a",), ("b",))], ["x"], ["x"])
    assert flow.missing({"x"}) == {"a": UNREAD, "b": UNREAD}


def test_what_an_artifact_says_stays_unless_it_is_found():
    assert SourceFlow(gone={"a": "why", "b": "why"}).missing({"b"}) == {"a": "why"}
