"""Runs ONNX's own node cases on Edgewright and says how each one went."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from edgewright.core.errors import EdgewrightError
from edgewright.onnx_backend import EdgewrightBackend


@dataclass(frozen=True)
class Outcome:
    """How one case went: "qnn" (passed with QNN ops only), "source" (passed with source ops), or why not."""

    case: str
    kind: str
    detail: str = ""
    onnx_ops: tuple[str, ...] = ()
    qnn_ops: tuple[str, ...] = ()


def cases(pattern: str = "") -> Iterator[Any]:
    """The node cases whose name holds the pattern."""
    for case in collect_testcases(None):
        if pattern in case.name:
            yield case


def outcome(case: Any) -> Outcome:
    """Runs every data set of a case at the case's own tolerance."""
    source = tuple(dict.fromkeys(node.op_type for node in case.model.graph.node))
    try:
        rep = EdgewrightBackend.prepare(case.model)
        ops: set[str] = set()
        for given, expected in case.data_sets:
            inputs = [onnx.numpy_helper.to_array(i) if isinstance(i, onnx.TensorProto) else i for i in given]
            compare(rep.run(inputs), expected, case.rtol, case.atol)
            ops |= _ops(rep, inputs)
    except EdgewrightError as problem:
        kind = "refused" if problem.code == "unsupported-op" else "error"
        return Outcome(case.name, kind, f"{problem.code}: {problem.what}", source)
    except AssertionError as problem:
        return Outcome(case.name, "wrong", " ".join(str(problem).split())[:300], source)
    except Exception as problem:
        return Outcome(case.name, "crash", f"{type(problem).__name__}: {problem}"[:300], source)
    return Outcome(case.name, "source" if "SourceOp" in ops else "qnn", "", source, tuple(sorted(ops)))


@cache
def node_outcomes() -> list[Outcome]:
    """How every node case goes; what asks again in this process is told the same."""
    return [outcome(case) for case in cases()]


def compare(found: Any, expected: Any, rtol: float, atol: float) -> None:
    """The comparison of ONNX's own runner."""
    assert len(found) == len(expected), f"{len(found)} outputs, expected {len(expected)}"
    for ours, stored in zip(found, expected, strict=True):
        theirs = onnx.numpy_helper.to_array(stored) if isinstance(stored, onnx.TensorProto) else stored
        assert isinstance(theirs, np.ndarray | np.generic), "expected output is not a tensor"
        assert ours.dtype == theirs.dtype, f"dtype {ours.dtype}, expected {theirs.dtype}"
        assert ours.shape == theirs.shape, f"shape {ours.shape}, expected {theirs.shape}"
        if ours.dtype.kind in "OUS":
            np.testing.assert_array_equal(ours, theirs)
        elif ours.dtype.kind == "V" or ours.dtype.itemsize == 1:
            np.testing.assert_allclose(
                ours.astype(np.float32), theirs.astype(np.float32), rtol=rtol, atol=atol
            )
        else:
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def _ops(rep: Any, inputs: Any) -> set[str]:
    """Names of the ops in the graph that ran."""
    names = [item.name for item in rep.model.inputs]
    graph = rep.model.graph_for(dict(zip(names, (np.asarray(i) for i in inputs), strict=False)))
    return {node.op.qnn_name() for node in graph.nodes}


def main() -> None:
    """Prints the cases that did not pass, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--kinds", default="wrong,crash,error,refused,source")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    outcomes = [outcome(case) for case in cases(arguments.pattern)]
    lines = [f"{o.kind:8s} {o.case} {o.detail}" for o in outcomes if o.kind in arguments.kinds.split(",")]
    text = "\n".join([*lines, str(dict(Counter(o.kind for o in outcomes)))])
    if arguments.out:
        Path(arguments.out).write_text(text + "\n")
    sys.stdout.write(text.splitlines()[-1] + "\n" if arguments.out else text + "\n")


if __name__ == "__main__":
    main()
