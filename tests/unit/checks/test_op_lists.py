from __future__ import annotations

from pathlib import Path

import pytest

from checks import op_lists

NAMES = frozenset({"Relu", "Sigmoid", "Tanh", "Conv2d"})


@pytest.mark.parametrize(
    "code",
    [
        "FLAT = (Relu, Sigmoid, Tanh)",
        "FLAT = frozenset({'Relu', 'Sigmoid', 'Tanh'})",
        "FLAT = [activation.Relu, activation.Sigmoid, Tanh]",
        "FLAT = {Relu: 1, Sigmoid: 2, Tanh: 3}",
        "isinstance(op, Relu | Sigmoid | Tanh)",
    ],
)
def test_three_ops_in_a_list_want_a_trait(tmp_path: Path, code: str) -> None:
    (tmp_path / "a.py").write_text(code)
    (problem, *_) = op_lists.find_op_lists(tmp_path / "a.py", NAMES)
    assert problem.endswith("a.py:1: lists Relu, Sigmoid, Tanh; give them a trait and ask the op")


def test_two_ops_are_a_pattern_and_other_names_are_no_ops(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("PAIR = (Relu, Sigmoid)\nOTHERS = (Graph, Node, Relu)")
    assert list(op_lists.find_op_lists(tmp_path / "a.py", NAMES)) == []


def test_class_checks_are_counted_once_a_call(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "isinstance(op, Relu | Tanh) or isinstance(op, (Conv2d,)) or isinstance(x, int)"
    )
    assert op_lists.count_class_checks(tmp_path / "a.py", NAMES) == 2


def test_families_of_ops_are_ops_too() -> None:
    assert {"Relu", "Convolution", "Norm", "HardSigmoid"} <= op_lists.op_classes()
    assert "Geometry" not in op_lists.op_classes()


def test_the_project_has_no_list_of_ops(capsys) -> None:
    assert op_lists.main([]) == 0, capsys.readouterr().out
