"""Small TFLite models with several subgraphs, and such that keep something from run to run."""

import numpy as np

from edgewright.core.numbers import DType
from tests.unit.frontends.tflite.cases import Case, number, q8, rng, weights, x
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, const, model

I32, BOOL = DType.INT_32, DType.BOOL_8
COUNT = Tensor((), I32)
ROW = Tensor((3,))
HANDLE = Tensor((), None)


def flow_cases() -> list[Case]:
    """Every case; what LiteRT makes of it is recorded."""
    return [
        loop(),
        choice(is_known=True),
        choice(is_known=False),
        total(),
        fixed_total(),
        svdf(),
    ]


def loop(trips: int = 3) -> Case:
    """Doubles x three times."""
    main = Subgraph(
        [x(3), number(0), COUNT, Tensor((3,), name="y")],
        [0],
        [3],
        [Operator("WHILE", [1, 0], [2, 3], {"cond_subgraph_index": 1, "body_subgraph_index": 2})],
    )
    cond = Subgraph(
        [COUNT, ROW, number(trips), Tensor((), BOOL)], [0, 1], [3], [Operator("LESS", [0, 2], [3])], "cond"
    )
    body = Subgraph(
        [COUNT, ROW, number(1), COUNT, ROW],
        [0, 1],
        [3, 4],
        [Operator("ADD", [0, 2], [3]), Operator("ADD", [1, 1], [4])],
        "body",
    )
    return Case("while", model(main, cond, body), row("while"))


def choice(*, is_known: bool) -> Case:
    """Negative or squared."""
    condition = number(value=True, dtype=np.bool_) if is_known else Tensor((), BOOL, name="c")
    inputs = [1] if is_known else [0, 1]
    branches = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main = Subgraph(
        [condition, x(3), Tensor((3,), name="y")], inputs, [2], [Operator("IF", [0, 1], [2], branches)]
    )
    then = Subgraph([ROW, ROW], [0], [1], [Operator("NEG", [0], [1])], "then")
    other = Subgraph([ROW, ROW], [0], [1], [Operator("SQUARE", [0], [1])], "else")
    name = "if-known" if is_known else "if"
    given = row(name) if is_known else {**row(name), "c": np.asarray(False)}
    return Case(name, model(main, then, other), given)


def composite() -> Case:
    """An op of several, given by its decomposition."""
    options = {"name": "odml.twice", "decomposition_subgraph_index": 1}
    operator = Operator("STABLEHLO_COMPOSITE", [0], [1], options)
    main = Subgraph([x(3), Tensor((3,), name="y")], [0], [1], [operator])
    inner = Subgraph([ROW, ROW], [0], [1], [Operator("ADD", [0, 0], [1])], "twice")
    return Case("composite", model(main, inner), row("composite"))


def total() -> Case:
    """A running sum that begins with 5."""
    return Case("variable", _running(x(3), const(np.full(3, 5, np.float32)), ROW), row("variable"), runs=3)


def fixed_total() -> Case:
    """The same in fixed point."""
    start = const(np.full(3, 3, np.int8), scales=(0.02,), zeros=(3,))
    given = {"x": np.asarray([20, -4, 3], np.int8)}
    return Case("variable-int8", _running(q8(3), start, q8(3)), given, tolerance=1, runs=3)


def svdf() -> Case:
    """A memory of four steps."""
    memory = Tensor((2, 6 * 4), is_variable=True, name="memory")
    tensors = [x(2, 5), weights(6, 5), weights(6, 4, seed=1), weights(3, seed=2), memory, Tensor(name="y")]
    main = Subgraph(tensors, [0], [5], [Operator("SVDF", [0, 1, 2, 3, 4], [5], {"rank": 2})])
    given = {"x": rng("svdf").uniform(-1, 1, (2, 5)).astype(np.float32)}
    return Case("svdf", model(main), given, tolerance=1e-5, runs=5)


def row(name: str) -> dict[str, np.ndarray]:
    """A value for x."""
    return {"x": rng(name).uniform(-1, 1, 3).astype(np.float32)}


def _running(given: Tensor, start: Tensor, like: Tensor) -> bytes:
    named = {"shared_name": "sum"}
    main = Subgraph(
        [given, HANDLE, like, Tensor((3,), like.dtype, None, like.scales, like.zeros, name="y")],
        [0],
        [3],
        [
            Operator("CALL_ONCE", [], [], {"init_subgraph_index": 1}),
            Operator("VAR_HANDLE", [], [1], named),
            Operator("READ_VARIABLE", [1], [2]),
            Operator("ADD", [2, 0], [3]),
            Operator("ASSIGN_VARIABLE", [1, 3], []),
        ],
    )
    first = Subgraph(
        [HANDLE, start],
        [],
        [],
        [Operator("VAR_HANDLE", [], [0], named), Operator("ASSIGN_VARIABLE", [0, 1], [])],
        "init",
    )
    return model(main, first)
