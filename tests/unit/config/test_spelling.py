"""Fields of requests in the words of the running tool."""

import pytest

from edgewright.config.spelling import advise_cut, has_option, spell_option, spell_options

FLAGS = {"symbols": "--define_symbol", "batch": "--batch", "outputs": "--out_node"}


def test_fields_are_keywords_in_python() -> None:
    assert spell_option("symbols") == "symbols=..."
    assert spell_option("batch", "2") == "batch=2"
    assert spell_option("symbols", {"a": "N", "b": "2"}) == "symbols={'a': N, 'b': 2}"
    assert spell_option("input_shapes", {"x": ("1", "N")}) == "input_shapes={'x': [1, N]}"
    assert has_option("symbols")


def test_fields_are_flags_in_a_tool() -> None:
    with spell_options(FLAGS):
        assert spell_option("symbols") == "--define_symbol"
        assert spell_option("batch", "2") == "--batch 2"
        assert spell_option("symbols", {"a": "N", "b": "2"}) == "--define_symbol 'a' N --define_symbol 'b' 2"
        assert spell_option("symbols", {"x": ("1", "N")}) == "--define_symbol 'x' 1,N"
        assert advise_cut().startswith("cut the graph before it with --out_node, or replace")


def test_a_field_that_a_tool_lacks_is_spelled_for_python() -> None:
    with spell_options(FLAGS):
        assert not has_option("input_values")
        assert spell_option("input_values", {"x": "1"}) == "input_values={'x': 1} in Python"


def test_the_words_of_a_tool_end_with_its_run() -> None:
    with pytest.raises(ValueError, match="stop"), spell_options(FLAGS):
        raise ValueError("stop")
    with spell_options(FLAGS), spell_options({"batch": "--onnx_batch"}):
        assert spell_option("batch") == "--onnx_batch"
    assert spell_option("batch") == "batch=..."
