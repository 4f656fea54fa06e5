import pytest

from edgewright.config.values import (
    OneOf,
    make_number_parser,
    parse_dims,
    parse_hex_range,
    parse_key_values,
    parse_names,
    parse_on_off,
    parse_seconds,
    parse_tensors_by_graph,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_dims, "1,3,224,224", (1, 3, 224, 224)),
        (parse_dims, "1, 3", (1, 3)),
        (parse_dims, "", ()),
        (parse_names, "a.so,b.so", ("a.so", "b.so")),
        (parse_on_off, "False", False),
        (parse_on_off, "true", True),
        (parse_hex_range, "-0x80 0x7F", (-128, 127)),
        (parse_hex_range, "-0x8000, 0x7F7F", (-32768, 32639)),
        (parse_key_values, "a:1;b:c:d", (("a", "1"), ("b", "c:d"))),
        (parse_tensors_by_graph, "g0:a,b;g1:c", (("g0", ("a", "b")), ("g1", ("c",)))),
        (parse_tensors_by_graph, "a,b", (("", ("a", "b")),)),
        (parse_seconds, "0.5", 0.5),
        (make_number_parser(-1), "-1", -1),
        (OneOf((8, 16), int), "16", 16),
    ],
)
def test_good_texts_become_values(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_dims, "1,x", "separated by commas"),
        (parse_dims, "0,3", "dimensions of 1 or more"),
        (parse_dims, "1,,3", "separated by commas"),
        (parse_dims, "9" * 30, "separated by commas"),
        (parse_names, "a,,b", "none of them empty"),
        (parse_on_off, "yes", "true or false"),
        (parse_hex_range, "0x7F -0x80", "the smaller one first"),
        (parse_hex_range, "0x7F", "two hexadecimal numbers"),
        (parse_hex_range, "a zz", "two hexadecimal numbers"),
        (parse_key_values, "a", "pairs such as"),
        (parse_key_values, "", "pairs such as"),
        (parse_tensors_by_graph, "g:", "tensor names by graph"),
        (parse_seconds, "-1", "0 or more"),
        (parse_seconds, "nan", "0 or more"),
        (parse_seconds, "inf", "0 or more"),
        (parse_seconds, "soon", "0 or more"),
        (make_number_parser(1), "0", "a whole number from 1 to 2147483647"),
        (make_number_parser(1), "2147483648", "a whole number from 1 to 2147483647"),
        (make_number_parser(1), "1_0", "a whole number"),
        (make_number_parser(1), "\uff11", "a whole number"),
        (make_number_parser(1), "1.0", "a whole number"),
        (OneOf((8, 16), int), "7", "one of: 8, 16"),
        (OneOf((8, 16), int), "eight", "one of: 8, 16"),
    ],
)
def test_bad_texts_say_what_was_expected(parse, text, expected):
    with pytest.raises(ValueError, match=expected):
        parse(text)
