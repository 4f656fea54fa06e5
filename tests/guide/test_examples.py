"""Every example of the guide and of the course chapter runs, with our models in the place of theirs."""

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.guide.example import Example
from tests.guide.inventory import EXAMPLES
from tests.guide.world import ROOT, World

BLOCKS = json.loads((Path(__file__).parent / "blocks.json").read_text())
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guide's commands are for a POSIX shell")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Artifacts that examples share, each made when the first example needs it."""
    return World(tmp_path_factory.mktemp("guide"))


def params() -> list[object]:
    found = []
    for example in EXAMPLES:
        if example.run:
            marks = [getattr(pytest.mark, example.mark or "slow")]
            found.append(pytest.param(example, id=example.id, marks=marks))
    return found


def run_in_process(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    module, _, name = SCRIPTS[words[0]].partition(":")
    capsys.readouterr()
    code = getattr(importlib.import_module(module), name)(words[1:])
    return code, "".join(capsys.readouterr())


def run_shell(text: str) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "QNN_SDK_ROOT": str(Path("sdk").absolute())}
    # Whatever is connected to this machine is not the guide's phone.
    environment["ADB_PATH"] = "/nowhere/adb"
    ended = subprocess.run(
        ["bash", "-c", f"set -eo pipefail\n{text}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )
    return ended.returncode, ended.stdout + ended.stderr


def split_commands(text: str) -> list[list[str]]:
    """Lines of a shell as words, without comments."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [words for line in joined.splitlines() if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("example", params())
def test_an_example_runs(
    example: Example,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "library" in example.needs and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler: install g++ or clang++")
    world.bring(example.needs, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, content in example.files.items():
        (tmp_path / name).write_text(content)
    said = ""
    if example.shell:
        code, said = run_shell(example.run)
        assert code == example.code, said
    else:
        *before, last = split_commands(example.run)
        for words in before:
            code, said = run_in_process(words, capsys)
            assert code == 0, said
        code, more = run_in_process(last, capsys)
        said += more
        assert code == example.code, said
    assert "Traceback" not in said
    for text in example.says:
        assert text in said
    for pattern in example.leaves:
        assert list(tmp_path.glob(pattern)), (
            f"{pattern} is not there, {sorted(p.name for p in tmp_path.iterdir())}"
        )


def test_every_block_of_the_guide_and_the_course_is_in_the_inventory() -> None:
    for book, blocks in BLOCKS.items():
        lines = [example.lines for example in EXAMPLES if example.book == book]
        missing = [block for block in blocks if not any(a <= block[0] and block[1] <= b for a, b in lines)]
        assert not missing, f"{book}: {missing}"


def test_each_example_runs_in_one_place_or_says_why_not() -> None:
    for example in EXAMPLES:
        assert sum(map(bool, (example.run, example.test, example.why))) == 1, example
        if example.test:
            file, _, name = example.test.partition("::")
            assert (ROOT / file).is_file(), example
            assert not name or f"def {name}(" in (ROOT / file).read_text(), example
