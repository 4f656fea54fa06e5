"""The key of a task is the hash of its function, version and inputs, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.core.errors import EnvironmentProblem, UsageError
from edgewright.tasks.outcome import Outcome, TaskError, read_outcome
from edgewright.tasks.task import Task, find_function, make_task
from tests.unit.tasks.small_tasks import square_number

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_the_order_of_inputs_does_not_matter(inputs):
    backwards = dict(reversed(inputs.items()))
    assert Task("m:f", 1, inputs).key == Task("m:f", 1, backwards).key


def test_function_version_and_inputs_matter():
    tasks = [
        Task("m:f", 1, {"x": 1}),
        Task("m:g", 1, {"x": 1}),
        Task("m:f", 2, {"x": 1}),
        Task("m:f", 1, {"x": 2}),
        Task("m:f", 1, {"x": "1"}),
    ]
    assert len({task.key for task in tasks}) == len(tasks)


def test_a_key_is_the_same_in_every_process_and_release():
    key = "c21e67e620022829b812083c55ca1efa1263acaafa3437286f9f94934cf61c87"
    assert Task("m:f", 1, {"x": [1, 2.5, "ä", None]}).key == key


def test_inputs_that_json_has_no_word_for_are_refused():
    for value in (float("nan"), object(), b"bytes"):
        with pytest.raises((ValueError, TypeError)):
            make_task(square_number, number=value).key  # noqa: B018 - made when it is asked for


def test_a_function_must_be_registered_and_of_the_version_that_is_asked_for():
    with pytest.raises(UsageError, match="is not a function for tasks"):
        make_task(lambda job: job.inputs)
    task = make_task(square_number, number=1)
    assert find_function(task) is square_number
    with pytest.raises(EnvironmentProblem, match="has version 1 of 'square_number', version 2 was asked for"):
        find_function(Task(task.function, 2, {}))
    with pytest.raises(EnvironmentProblem, match="a worker cannot import 'no_such_module'"):
        find_function(Task("no_such_module:f", 1, {}))


@given(VALUES, st.floats(0, 1e6))
def test_an_outcome_is_read_as_it_was_written(value, seconds):
    outcome = Outcome("k" * 64, value, seconds=seconds)
    assert read_outcome(outcome.to_json(), outcome.key) == outcome
    failed = Outcome("k" * 64, error=TaskError("bad-input", 3, "what", "where", "do"))
    assert read_outcome(failed.to_json(), failed.key) == failed


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"x"', b"{}", b'{"form":1,"key":"other","error":null}']
)
def test_what_is_no_outcome_of_the_task_is_none(content):
    assert read_outcome(content, "k") is None
