from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks import dead_code, hygiene, lazy_start, public_api

MODULE = """
__all__ = ["Model", "convert", "exported_for_nobody"]
class Model(Base):
    name: str = "m"
    _hidden: int = 0
    def run(self, x: int) -> int: ...
    def _inner(self) -> None: ...
def convert(path: str, *, shapes: dict[str, int] | None = None) -> Model: ...
def exported_for_nobody() -> None: ...
"""


STUB = """
from edgewright.model.convert import Model as Model
from edgewright.model.convert import convert as convert
"""


def test_the_promise_is_what_the_stub_names_with_signatures_and_members(tmp_path: Path):
    write_package(tmp_path)
    assert public_api.list_promise(tmp_path) == [
        "edgewright.Model(Base)",
        "edgewright.Model.name: str = ...",
        "edgewright.Model.run(self, x: int) -> int",
        "edgewright.convert(path: str, *, shapes: dict[str, int] | None=None) -> Model",
    ]


def test_a_public_name_that_its_home_does_not_define_is_an_error(tmp_path: Path):
    write_package(tmp_path, MODULE.replace("class Model", "class Network"))
    with pytest.raises(SystemExit, match=r"edgewright.Model is not defined in .*convert\.py"):
        public_api.list_promise(tmp_path)


def test_a_changed_signature_fails_until_it_is_recorded(tmp_path: Path, capsys):
    source, recorded = tmp_path / "src", tmp_path / "tests/api/public_api.txt"
    arguments = [str(source), "--check", str(recorded)]
    write_package(source)
    assert public_api.main([str(source), "--write", str(recorded)]) == 0
    assert public_api.main(arguments) == 0
    write_package(source, MODULE.replace("path: str", "path: Path"))
    assert public_api.main(arguments) == 1
    assert "+edgewright.convert(path: Path" in capsys.readouterr().out


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
    write_package(tmp_path / "src")
    problems = "\n".join(dead_code.find_dead_code(tmp_path))
    assert re.findall(r"(?:function|method|class) '(\w+)'", problems) == [
        "_inner",
        "exported_for_nobody",
        "forgotten",
    ]
    assert not re.search(r"'(start|field|run|convert|Model)'", problems)


def test_a_vulture_that_cannot_read_a_file_is_a_problem(tmp_path: Path):
    write(tmp_path / "pyproject.toml", "")
    write_package(tmp_path / "src")
    write(tmp_path / "tests/a.py", "def broken(:")
    (problem,) = dead_code.find_dead_code(tmp_path)
    assert problem.startswith("vulture could not read every file")


def write_package(source: Path, module: str = MODULE) -> None:
    write(source / "edgewright/__init__.pyi", STUB)
    write(source / "edgewright/model/convert.py", module)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
