"""Names of any length and script: fit for every consumer, distinct, the same each time, and found again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgewright.lower.names import LONGEST, NameTable, sanitize_name

# Surrogates too: names come out of files.
NAMES = st.text(st.characters(), max_size=200) | st.text("aB9_/:.", max_size=200)
HASH = 13


@given(name=NAMES, longest=st.integers(1, 120))
@example(name="", longest=1)
@example(name="9" * 80, longest=80)
def test_a_form_is_an_identifier_of_bounded_length(name: str, longest: int) -> None:
    form = sanitize_name(name, longest)
    assert form.isascii()
    assert form.isidentifier()
    assert len(form) <= longest + HASH


@given(name=st.text("aZ_", min_size=1, max_size=LONGEST))
def test_a_name_that_fits_stays_as_it_is(name: str) -> None:
    assert sanitize_name(name) == name


@given(start=st.text("ab/", min_size=LONGEST + 1, max_size=LONGEST + 40), ends=st.tuples(NAMES, NAMES))
def test_long_names_that_differ_only_behind_the_limit_have_forms_of_their_own(
    start: str, ends: tuple[str, str]
) -> None:
    first, second = (sanitize_name(start + end) for end in ends)
    assert (first == second) == (ends[0] == ends[1])


def test_forms_are_the_same_in_every_process_and_version() -> None:
    # Stored artifacts are compared by name: a changed form is a broken promise.
    assert sanitize_name("layer/" * 30) == "layer_" * 13 + "la_" + "7d6bb2c65c75"


@given(names=st.lists(NAMES, unique=True, max_size=30), kept=st.integers(0, 5), is_counted=st.booleans())
def test_a_table_gives_every_name_one_form_and_finds_it_again(
    names: list[str], kept: int, *, is_counted: bool
) -> None:
    table = NameTable(names[:kept], is_counted=is_counted)
    reserved = table.reserve("tensor_3")
    forms = [table(name) for name in names]
    assert len({*forms, reserved}) == len(names) + 1
    assert [table(name) for name in names] == forms
    back = table.source_names()
    assert [back.get(form, form) for form in forms] == names
    again = NameTable(names[:kept], is_counted=is_counted)
    assert (again.reserve("tensor_3"), [again(name) for name in names]) == (reserved, forms)


@pytest.mark.parametrize("is_counted", [False, True])
def test_names_that_look_like_the_forms_of_others_do_not_get_theirs(*, is_counted: bool) -> None:
    names = ["a/b", "a:b", "a_b", "a_b_2", "tensor_2", "tensor_3"]
    table = NameTable(["a/b"], is_counted=is_counted)
    assert len({table(name) for name in names}) == len(names)
