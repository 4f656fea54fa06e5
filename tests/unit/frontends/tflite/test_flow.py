"""Control flow, variables and signatures of TFLite models."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, LimitExceeded, UsageError
from tests.unit.frontends.tflite.cases import BOOL, Case, number, x
from tests.unit.frontends.tflite.flow_cases import COUNT, ROW, composite, flow_cases, loop, total
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, model

CASES = flow_cases()
RECORDED = np.load(Path(__file__).with_name("recorded.npz"))


def saved(folder: Path, data: bytes) -> Path:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_runs_one_after_the_other_are_those_of_litert(case: Case, tmp_path: Path) -> None:
    converted = ew.convert(saved(tmp_path, case.data))
    state = {item.input: item.first for item in converted.states}
    for run in range(case.runs):
        found = converted.run({**case.inputs, **state})
        state = {item.input: found[item.output] for item in converted.states}
        wanted = RECORDED[f"{case.name}:{run}/0"]
        if wanted.dtype == np.int8:
            assert np.abs(found["y"] / 0.02 + 3 - wanted).max() <= case.tolerance + 1e-3
        else:
            np.testing.assert_allclose(found["y"], wanted, rtol=1e-5, atol=1e-6)


def test_a_variable_is_an_input_and_an_output_with_its_first_value(tmp_path: Path) -> None:
    converted = ew.convert(saved(tmp_path, total().data))
    (state,) = converted.states
    assert [item.name for item in converted.inputs] == ["x", "sum"]
    assert [item.name for item in converted.outputs] == ["y", "sum_out"]
    assert (state.input, state.output, state.first.tolist()) == ("sum", "sum_out", [5, 5, 5])


def test_a_loop_leaves_no_loop_behind(tmp_path: Path) -> None:
    converted = ew.convert(saved(tmp_path, loop().data))
    assert converted.graph is not None
    assert [type(node.op).__name__ for node in converted.graph.nodes] == ["ElementWiseAdd"] * 3


@pytest.mark.slow
def test_a_loop_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match="control flow and functions add more than"):
        ew.convert(saved(tmp_path, loop(trips=10**9).data))


def test_a_subgraph_that_calls_itself_is_refused(tmp_path: Path) -> None:
    body = Subgraph([ROW, ROW], [0], [1], [Operator("CALL", [0], [1], {"subgraph": 1})], "again")
    main = Subgraph([x(3), Tensor((3,), name="y")], [0], [1], [Operator("CALL", [0], [1], {"subgraph": 1})])
    with pytest.raises(BadInput, match="calls itself"):
        ew.convert(saved(tmp_path, model(main, body)))


def test_a_call_is_the_subgraph_in_its_place(tmp_path: Path) -> None:
    body = Subgraph([ROW, ROW], [0], [1], [Operator("NEG", [0], [1])], "negative")
    main = Subgraph([x(3), Tensor((3,), name="y")], [0], [1], [Operator("CALL", [0], [1], {"subgraph": 1})])
    found = ew.convert(saved(tmp_path, model(main, body))).run({"x": np.asarray([1, 2, 3], np.float32)})
    assert found["y"].tolist() == [-1, -2, -3]


def test_a_composite_is_its_decomposition(tmp_path: Path) -> None:
    case = composite()
    found = ew.convert(saved(tmp_path, case.data)).run(case.inputs)
    np.testing.assert_array_equal(found["y"], case.inputs["x"] * 2)


def two_signatures() -> bytes:
    add = Subgraph([x(3), Tensor((3,), name="y")], [0], [1], [Operator("ADD", [0, 0], [1])], "add")
    neg = Subgraph([x(3, name="v"), Tensor((3,), name="w")], [0], [1], [Operator("NEG", [0], [1])], "neg")
    return model(
        add,
        neg,
        signatures=[("twice", 0, {"given": 0}, {"made": 1}), ("negative", 1, {"given": 0}, {"made": 1})],
    )


def test_the_first_signature_is_converted_unless_another_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, two_signatures())
    assert ew.convert(path).inputs[0].name == "x"
    assert ew.convert(path, signature="negative").inputs[0].name == "v"


def test_the_names_of_a_signature_name_its_tensors(tmp_path: Path) -> None:
    path = saved(tmp_path, two_signatures())
    converted = ew.convert(path, signature="negative", input_shapes={"given": (5,)}, outputs=["made"])
    assert (converted.inputs[0].shape, converted.outputs[0].name) == ((5,), "w")


def test_an_unknown_signature_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the signature 'negativ' is asked for") as caught:
        ew.convert(saved(tmp_path, two_signatures()), signature="negativ")
    assert "negative" in caught.value.do


def test_a_trip_count_that_is_an_input_binds_it(tmp_path: Path) -> None:
    limit = Tensor((), COUNT.dtype, name="limit")
    main = Subgraph(
        [x(3), limit, Tensor((), COUNT.dtype), Tensor((3,), name="y")],
        [0, 1],
        [3],
        [Operator("WHILE", [1, 0], [2, 3], {"cond_subgraph_index": 1, "body_subgraph_index": 2})],
    )
    more = Subgraph(
        [COUNT, ROW, number(0), Tensor((), BOOL)], [0, 1], [3], [Operator("GREATER", [0, 2], [3])], "cond"
    )
    body = Subgraph(
        [COUNT, ROW, number(1), COUNT, ROW],
        [0, 1],
        [3, 4],
        [Operator("SUB", [0, 2], [3]), Operator("ADD", [1, 1], [4])],
        "body",
    )
    converted = ew.convert(saved(tmp_path, model(main, more, body)))
    assert [item.is_bound for item in converted.inputs] == [False, True]
    given = np.asarray([1, 2, 3], np.float32)
    for trips in (2, 4):
        found = converted.run({"x": given, "limit": np.asarray(trips, np.int32)})
        np.testing.assert_array_equal(found["y"], given * 2**trips)
