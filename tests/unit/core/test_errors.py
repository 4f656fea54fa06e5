import copy

import pytest

from edgewright.core import errors
from edgewright.core.errors import BadInput, EdgewrightError, Problems, UnsupportedOp, Where, shown

CODES = {
    "UsageError": ("usage", 2),
    "BadInput": ("bad-input", 3),
    "ShapeMismatch": ("shape-mismatch", 3),
    "TypeMismatch": ("type-mismatch", 3),
    "LimitExceeded": ("limit-exceeded", 3),
    "UnsupportedOp": ("unsupported-op", 4),
    "UnsupportedFeature": ("unsupported-feature", 4),
    "NotBuiltYet": ("not-built-yet", 4),
    "AccuracyGate": ("accuracy-gate", 5),
    "EnvironmentProblem": ("environment", 6),
    "BackendCrash": ("backend-crash", 7),
}


def test_the_text_is_what_where_do():
    error = UnsupportedOp(
        "ONNX op 'NonZero' has no QNN equivalent",
        Where(file="model.onnx", op="NonZero", node="post/NonZero_12"),
        do="cut the graph before it with --out_node post/Greater_11",
    )
    assert str(error) == (
        "error[unsupported-op]: ONNX op 'NonZero' has no QNN equivalent\n"
        "  where: model.onnx, op 'NonZero', node 'post/NonZero_12'\n"
        "  do:    cut the graph before it with --out_node post/Greater_11"
    )


def test_lines_without_content_are_left_out():
    assert str(BadInput("the file is empty", Where())) == "error[bad-input]: the file is empty"


def test_where_names_everything_it_knows():
    where = Where("model.onnx", op="Conv", node="n1", tensor="t", detail="byte 12")
    assert str(where) == "model.onnx, op 'Conv', node 'n1', tensor 't', byte 12"


@pytest.mark.parametrize("name", CODES)
def test_every_error_has_its_code_exit_code_and_paragraph(name):
    kind = getattr(errors, name)
    assert (kind.code, kind.exit_code) == CODES[name]
    assert len(kind.__doc__.split("\n\n")) >= 2


def test_no_error_class_is_missing_from_the_table():
    assert {kind.__name__ for kind in EdgewrightError.__subclasses__()} == {*CODES, "Problems"}


def test_control_characters_of_a_model_cannot_steer_the_terminal():
    error = BadInput("bad name 'a\x1b[2Jb'", Where(node="x\ny\u202e\ud800"), do="rename '\r'")
    assert str(error) == (
        "error[bad-input]: bad name 'a\\x1b[2Jb'\n  where: node 'x\\ny\\u202e\\ud800'\n  do:    rename '\\r'"
    )


def test_long_values_keep_their_ends_and_lose_their_middle():
    text = shown("start" + "x" * 10_000_000 + "end", 60)
    assert len(text) <= 60
    assert text.startswith("startx")
    assert text.endswith("xend")
    assert "..." in text


def test_escapes_count_towards_the_length():
    assert len(shown("\x00" * 500, 100)) <= 100


def test_letters_of_other_languages_stay_readable():
    assert shown("größe/層_1") == "größe/層_1"


def test_several_problems_are_listed_with_shared_advice_once():
    problems = Problems(
        [UnsupportedOp(f"op '{name}' is unsupported", Where(node=name), do="remove them") for name in "ab"]
    )
    assert str(problems) == (
        "error[unsupported-op]: 2 problems\n"
        "  - op 'a' is unsupported\n"
        "    where: node 'a'\n"
        "  - op 'b' is unsupported\n"
        "    where: node 'b'\n"
        "  do:    remove them"
    )


def test_problems_keep_advice_that_differs_beside_each():
    problems = Problems([BadInput("one", do="mend one"), BadInput("two", do="mend two")])
    assert str(problems) == (
        "error[bad-input]: 2 problems\n  - one\n    do:    mend one\n  - two\n    do:    mend two"
    )


def test_problems_beyond_twenty_are_counted():
    lines = str(Problems([BadInput(f"number {index}") for index in range(25)])).splitlines()
    assert lines[20:] == ["  - number 19", "  - and 5 more"]


def test_a_single_problem_reads_as_itself():
    only = BadInput("one", do="mend it")
    assert str(Problems([only])) == str(only)


def test_problems_take_code_and_exit_code_of_the_first():
    problems = Problems([UnsupportedOp("a"), BadInput("b")])
    assert (problems.code, problems.exit_code) == ("unsupported-op", 4)
    assert (Problems.code, Problems.exit_code) == ("error", 1)


def test_nested_problems_are_flattened():
    inner = Problems([BadInput("a"), BadInput("b")])
    assert [error.what for error in Problems([inner, BadInput("c")]).errors] == ["a", "b", "c"]


def test_no_problems_is_a_bug_of_the_caller():
    with pytest.raises(ValueError, match="at least one"):
        Problems([])


@pytest.mark.parametrize(
    "error", [BadInput("a", Where(node="n"), do="d"), Problems([UnsupportedOp("a"), BadInput("b")])]
)
def test_errors_survive_the_way_between_processes(error):
    again = copy.copy(error)  # uses what a worker process uses to send an exception back
    assert type(again) is type(error)
    assert (str(again), again.code, again.exit_code) == (str(error), error.code, error.exit_code)
