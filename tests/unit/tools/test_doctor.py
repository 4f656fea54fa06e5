import json

import pytest

from edgewright.core.optional import Package
from edgewright.tools.doctor_command import TOOL, as_json, as_text
from edgewright.tools.environment import Finding, check_packages, find_compiler

ABSENT = Finding("torch", "PyTorch models", "absent", is_needed=False, do="pip install 'edgewright[pytorch]'")
BROKEN = Finding("onnx", "ONNX models", "broken", "1.23", trouble="ImportError: x", do="pip install onnx")
WORKS = Finding("numpy", "arrays", "works", "2.4")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts a module where the doctor's process finds it, with the metadata of an installed package."""

    def install(name, source, version="1.0"):
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return Package(name, name, "a test")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return install


def test_a_package_that_can_be_imported_works(installed):
    (found,) = check_packages([installed("ew_fine", "print('trying to be loud')\n", "3.1")])
    assert (found.state, found.version, found.do, found.is_problem) == ("works", "3.1", "", False)


def test_a_package_that_is_not_there_is_absent_and_says_how_to_get_it():
    (found,) = check_packages([Package("ew_none", "ew-none", "a test")])
    assert (found.state, found.do, found.is_problem) == ("absent", "pip install ew_none", True)


def test_a_broken_package_says_why(installed):
    (found,) = check_packages([installed("ew_broken", "raise ImportError('no libfoo.so\\nanywhere')\n")])
    assert (found.state, found.trouble) == ("broken", "ImportError: no libfoo.so anywhere")
    assert found.do == "pip install --force-reinstall ew_broken"


def test_a_package_that_kills_the_process_is_found_and_the_others_are_still_tried(installed):
    wanted = [
        installed("ew_first", ""),
        installed("ew_deadly", "import os\nos.abort()\n"),
        installed("ew_after", ""),
        installed("ew_also_broken", "1 // 0\n"),
    ]
    found = {finding.name: finding for finding in check_packages(wanted)}
    assert [found[package.distribution].state for package in wanted] == ["works", "broken", "works", "broken"]
    assert "stops the process with code -6" in found["ew_deadly"].trouble


@pytest.mark.parametrize(
    ("version", "state"), [("1.9.5", "too old"), ("1.10", "works"), ("2.0+cpu", "works")]
)
def test_versions_are_compared_as_numbers(installed, version, state):
    package = installed("ew_old", "", version)
    (found,) = check_packages([Package(package.module, package.distribution, "a test", minimum="1.10")])
    assert found.state == state


def test_an_optional_package_is_a_problem_only_when_it_is_broken():
    assert not ABSENT.is_problem
    assert Finding("torch", "x", "broken", is_needed=False).is_problem


def test_the_compiler_is_never_needed():
    assert not find_compiler().is_needed


def test_the_text_names_problems_and_what_to_do():
    text = as_text([WORKS, BROKEN, ABSENT])
    assert text.splitlines()[1:] == [
        *("", "Needed:", "  numpy  2.4   works    arrays", "  onnx   1.23  broken   ONNX models"),
        *("", "Optional:", "  torch  -  absent   PyTorch models"),
        *("", "1 problem:", "  onnx: ImportError: x", "    do: pip install onnx"),
        *("", "To install what is absent:", "  pip install 'edgewright[pytorch]'"),
    ]


def test_the_text_of_a_healthy_machine_says_so():
    assert "Everything that is required works." in as_text([WORKS, ABSENT])


def test_the_json_says_the_same():
    found = json.loads(as_json([WORKS, BROKEN]))
    assert (found["is_healthy"], [finding["state"] for finding in found["findings"]]) == (
        False,
        ["works", "broken"],
    )


def test_this_machine_is_healthy_enough_to_run_the_tests(capsys):
    code = TOOL.main(["--json"])
    found = json.loads(capsys.readouterr().out)
    needed = {finding["name"]: finding["state"] for finding in found["findings"] if finding["is_needed"]}
    assert needed["numpy"] == needed["onnx"] == needed["onnxruntime"] == "works"
    assert code == (0 if found["is_healthy"] else 6)
