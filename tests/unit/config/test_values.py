import pytest

from edgewright.config.values import (
    OneOf,
    dims,
    hex_range,
    key_values,
    names,
    number_from,
    on_off,
    seconds,
    tensors_by_graph,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (dims, "1,3,224,224", (1, 3, 224, 224)),
        (dims, "1, 3", (1, 3)),
        (dims, "", ()),
        (names, "a.so,b.so", ("a.so", "b.so")),
        (on_off, "False", False),
        (on_off, "true", True),
        (hex_range, "-0x80 0x7F", (-128, 127)),
        (hex_range, "-0x8000, 0x7F7F", (-32768, 32639)),
        (key_values, "a:1;b:c:d", (("a", "1"), ("b", "c:d"))),
        (tensors_by_graph, "g0:a,b;g1:c", (("g0", ("a", "b")), ("g1", ("c",)))),
        (tensors_by_graph, "a,b", (("", ("a", "b")),)),
        (seconds, "0.5", 0.5),
        (number_from(-1), "-1", -1),
        (OneOf((8, 16), int), "16", 16),
    ],
)
def test_good_texts_become_values(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (dims, "1,x", "separated by commas"),
        (dims, "0,3", "dimensions of 1 or more"),
        (dims, "1,,3", "separated by commas"),
        (dims, "9" * 30, "separated by commas"),
        (names, "a,,b", "none of them empty"),
        (on_off, "yes", "true or false"),
        (hex_range, "0x7F -0x80", "the smaller one first"),
        (hex_range, "0x7F", "two hexadecimal numbers"),
        (hex_range, "a zz", "two hexadecimal numbers"),
        (key_values, "a", "pairs such as"),
        (key_values, "", "pairs such as"),
        (tensors_by_graph, "g:", "tensor names by graph"),
        (seconds, "-1", "0 or more"),
        (seconds, "nan", "0 or more"),
        (seconds, "inf", "0 or more"),
        (seconds, "soon", "0 or more"),
        (number_from(1), "0", "a whole number from 1 to 2147483647"),
        (number_from(1), "2147483648", "a whole number from 1 to 2147483647"),
        (number_from(1), "1_0", "a whole number"),
        (number_from(1), "\uff11", "a whole number"),
        (number_from(1), "1.0", "a whole number"),
        (OneOf((8, 16), int), "7", "one of: 8, 16"),
        (OneOf((8, 16), int), "eight", "one of: 8, 16"),
    ],
)
def test_bad_texts_say_what_was_expected(parse, text, expected):
    with pytest.raises(ValueError, match=expected):
        parse(text)
