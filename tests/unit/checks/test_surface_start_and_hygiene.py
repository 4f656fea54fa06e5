from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks import dead_code, hygiene, lazy_start, public_api

MODULE = """
__all__ = ["Model", "convert", "LIMIT"]
LIMIT: int = 3
class Model(Base):
    name: str = "m"
    _hidden: int = 0
    def run(self, x: int) -> int: ...
    def _inner(self) -> None: ...
def convert(path: str, *, shapes: dict[str, int] | None = None) -> Model: ...
def not_exported() -> None: ...
"""


def test_the_surface_holds_what_is_exported_with_its_signature(tmp_path: Path):
    write(tmp_path / "edgewright/api/convert.py", MODULE)
    assert public_api.surface(tmp_path) == [
        "edgewright.api.convert.LIMIT: int",
        "edgewright.api.convert.Model(Base)",
        "edgewright.api.convert.Model.name: str = ...",
        "edgewright.api.convert.Model.run(self, x: int) -> int",
        "edgewright.api.convert.convert(path: str, *, shapes: dict[str, int] | None=None) -> Model",
    ]


def test_a_name_of_the_root_is_public_even_when_it_is_loaded_lazily(tmp_path: Path):
    write(tmp_path / "edgewright/__init__.py", '__all__ = ["convert"]\ndef __getattr__(name): ...')
    assert public_api.surface(tmp_path) == ["edgewright.convert"]


@pytest.mark.parametrize("path", ["passes/fold.py", "api/_private.py", "_data/api.py"])
def test_other_modules_are_not_in_the_surface(tmp_path: Path, path: str):
    write(tmp_path / "edgewright" / path, MODULE)
    assert public_api.surface(tmp_path) == []


def test_a_changed_signature_fails_until_it_is_recorded(tmp_path: Path, capsys):
    source, recorded = tmp_path / "src", tmp_path / "tests/api/public_api.txt"
    arguments = [str(source), "--check", str(recorded)]
    write(source / "edgewright/api/convert.py", MODULE)
    assert public_api.main([str(source), "--write", str(recorded)]) == 0
    assert public_api.main(arguments) == 0
    write(source / "edgewright/api/convert.py", MODULE.replace("path: str", "path: Path"))
    assert public_api.main(arguments) == 1
    assert "+edgewright.api.convert.convert(path: Path" in capsys.readouterr().out


def test_a_tool_that_loads_a_heavy_package_is_named(tmp_path: Path):
    write(tmp_path / "edgewright/__init__.py", "")
    write(tmp_path / "edgewright/tools/light.py", "import json")
    write(tmp_path / "edgewright/tools/slow.py", "import yaml")
    assert lazy_start.check(tmp_path) == ["edgewright.tools.slow loads yaml; import it inside run()"]


def test_a_heavy_package_loaded_through_another_module_is_seen(tmp_path: Path):
    write(tmp_path / "edgewright/__init__.py", "import edgewright.inner")
    write(tmp_path / "edgewright/inner.py", "import jinja2")
    write(tmp_path / "edgewright/tools/a.py", "")
    assert "loads jinja2" in lazy_start.check(tmp_path)[0]


def test_a_tool_that_cannot_be_imported_is_named(tmp_path: Path):
    write(tmp_path / "edgewright/__init__.py", "")
    write(tmp_path / "edgewright/tools/a.py", "import edgewright.missing")
    (problem,) = lazy_start.check(tmp_path)
    assert problem.startswith("edgewright.tools.a cannot be imported: ModuleNotFoundError")


def test_a_project_without_tools_starts_lazily(tmp_path: Path):
    assert lazy_start.check(tmp_path) == []


# Written in pieces, so that this file passes the check itself.
@pytest.mark.parametrize(
    "word",
    [
        "see /" + "work/main/x",
        "open('/" + "home/ann/m')",
        "../" + "shared",
        "shared" + "/facts/ops.json",
        "https://" + "pypi" + ".org/simple",
        "https://files." + "pythonhosted" + ".org/x",
    ],
)
def test_a_place_of_one_machine_is_named_with_its_line(tmp_path: Path, word: str, capsys):
    write(tmp_path / "docs/a.md", f"fine\n{word}\n")
    assert hygiene.main([str(tmp_path)]) == 1
    assert "a.md:2: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "word", ["a/network/b", "shared/weights", "https://github.com/onnx/onnx", "frame" + "work/"]
)
def test_ordinary_words_pass(tmp_path: Path, word: str):
    write(tmp_path / "a.md", word)
    assert hygiene.main([str(tmp_path)]) == 0


def test_binary_files_and_environments_are_not_read(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"\0/" + b"work/")
    write(tmp_path / ".venv/a.py", "/" + "work/x")
    assert hygiene.main([str(tmp_path)]) == 0


def test_an_unused_function_is_found_but_a_field_a_script_and_a_public_name_are_not(tmp_path: Path):
    scripts = '[project.scripts]\nx = "edgewright.tools.x:start"\n[tool.vulture]\nmin_confidence = 60\n'
    write(tmp_path / "pyproject.toml", scripts)
    write(
        tmp_path / "src/edgewright/tools/x.py",
        "start = 1\ndef forgotten(): ...\nclass A:\n    field: int\nA()",
    )
    write(tmp_path / "src/edgewright/api/convert.py", MODULE)
    problems = "\n".join(dead_code.find_dead_code(tmp_path))
    assert re.findall(r"(?:function|method|class) '(\w+)'", problems) == [
        "_inner",
        "not_exported",
        "forgotten",
    ]
    assert not re.search(r"'(start|field|run|convert|Model)'", problems)


def test_a_vulture_that_cannot_read_a_file_is_a_problem(tmp_path: Path):
    write(tmp_path / "pyproject.toml", "")
    write(tmp_path / "tests/a.py", "def broken(:")
    (problem,) = dead_code.find_dead_code(tmp_path)
    assert problem.startswith("vulture stopped with")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
