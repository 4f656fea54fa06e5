"""The notebook of the examples: every cell runs, and what it shows is short; UPDATE_GOLDEN=1 stores it."""

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"
LONGEST = 4000


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints and the value of its last expression, as a notebook stores them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    text = printed.getvalue().splitlines(keepends=True)
    outputs = [{"name": "stdout", "output_type": "stream", "text": text}] if text else []
    if value is None:
        return outputs
    # As a notebook does; a page is drawn anew by whoever runs it.
    page = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if page and len(page) < LONGEST:
        data["text/html"] = page.splitlines(keepends=True)
    result = {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
    return [*outputs, result]


@pytest.mark.slow
def test_the_tour_runs_from_the_first_cell_to_the_last(monkeypatch, tmp_path):
    monkeypatch.chdir(NOTEBOOK.parent)  # where a notebook runs
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    is_updated = os.environ.get("UPDATE_GOLDEN") == "1"
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            outputs = run_cell("".join(cell["source"]), names)
            assert len(json.dumps(outputs)) < 2 * LONGEST, f"{cell['id']} shows too much"
            kinds = [[each["output_type"] for each in part] for part in (cell["outputs"], outputs)]
            assert kinds[0] == kinds[1] or is_updated, f"what {cell['id']} shows is not what is stored"
            cell["outputs"] = outputs
    if is_updated:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def test_cells_have_names_of_their_own_and_outputs_that_are_short():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all(len(json.dumps(cell.get("outputs", []))) < 2 * LONGEST for cell in cells)
