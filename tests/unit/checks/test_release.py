"""What the release checklist finds in archives, and the README that a package index gets."""

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from checks.release import SDIST_NEEDS, WHEEL_NEEDS, find_problems_of_sdist, find_problems_of_wheel
from docs.index_readme import LINK, make_index_readme

README = Path(__file__).parents[3] / "README.md"


def write_wheel(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_a_whole_wheel_has_no_problem(tmp_path):
    names = [f"edgewright/{name}" for name in WHEEL_NEEDS] + ["edgewright-1.0.dist-info/METADATA"]
    assert list(find_problems_of_wheel(write_wheel(tmp_path / "a.whl", names))) == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_doubles_gaps_and_strangers_are_named(tmp_path):
    names = [f"edgewright/{name}" for name in WHEEL_NEEDS[1:]]
    wheel = write_wheel(tmp_path / "a.whl", [*names, names[0], "tests/test_a.py"])
    assert list(find_problems_of_wheel(wheel)) == [
        f"'{names[0]}' is there 2 times",
        f"'{WHEEL_NEEDS[0]}' is missing",
        "'tests' does not belong there",
    ]


def test_a_file_that_a_wheel_holds_under_two_names_is_named(tmp_path):
    wheel = write_wheel(tmp_path / "a.whl", [f"edgewright/{name}" for name in WHEEL_NEEDS])
    with zipfile.ZipFile(wheel, "a") as archive:
        for name in ("edgewright/b.sh", "edgewright-1.0.data/scripts/b.sh"):
            archive.writestr(name, "echo\n" * 40)
    expected = "'edgewright-1.0.data/scripts/b.sh' and 'edgewright/b.sh' are one file"
    assert list(find_problems_of_wheel(wheel)) == [expected]


def test_an_sdist_without_what_its_tests_need_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in [*SDIST_NEEDS[1:], "tests/__pycache__/a.pyc"]:
            archive.add(tmp_path / "file", f"edgewright-1.0/{name}")
    assert list(find_problems_of_sdist(tmp_path / "a.tar.gz")) == [
        f"'{SDIST_NEEDS[0]}' is missing",
        "'tests/__pycache__/a.pyc' does not belong there",
    ]


def test_the_readme_of_an_index_has_no_link_that_leads_nowhere():
    text = make_index_readme(README.read_text("utf-8"))
    assert LINK.findall(text) == []
    assert "![" not in text
    assert "<!-- not run" not in text
    assert "edgewright build model.onnx" in text


def test_links_in_parentheses_are_left_out_of_the_readme_of_an_index():
    said = "Python ([a](docs/a.md)), 5 cases ([b](docs/b.md), [c](docs/c.md#d)); see [e](docs/e.md) (f)"
    assert make_index_readme(said) == "Python, 5 cases; see e (f)"


def test_links_and_pictures_lead_to_the_address_once_there_is_one():
    text = make_index_readme("![a](docs/a.png) [b](docs/b.md) [c](https://c.example/)", "https://d.example/")
    expected = "![a](https://d.example/docs/a.png) [b](https://d.example/docs/b.md) [c](https://c.example/)"
    assert text == expected


def test_all_is_everything_for_users_and_nothing_for_developers():
    extras = tomllib.loads((README.parent / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]

    def reach(name: str) -> set[str]:
        inner = [re.match(r"edgewright\[(.+)\]", word) for word in extras[name]]
        return {name}.union(*(reach(part) for match in inner if match for part in match[1].split(",")))

    # AIMET holds other packages to old versions; pytorch is a part of huggingface.
    left_out = {"aimet", "pytorch"}
    developers = {"test", "dev", "site", "release", "mutate", "fuzz", "audit", "servers", "browser"}
    assert reach("all") == set(extras) - developers - left_out
    assert set(extras["pytorch"]) <= set(extras["huggingface"])


def test_pythons_are_claimed_where_all_fast_tests_were_run_on_them():
    project = tomllib.loads((README.parent / "pyproject.toml").read_text("utf-8"))["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    rows = (README.parent / "docs" / "platforms.md").read_text("utf-8")
    tried = re.findall(
        r"^\| Linux x86_64.*Python (3\.\d+)[^|]*\| (?:every change|all fast tests)", rows, re.MULTILINE
    )
    assert claimed == sorted(tried)
