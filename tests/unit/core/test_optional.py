import sys

import pytest

from edgewright.core.errors import EnvironmentProblem
from edgewright.core.optional import PACKAGES, install_command, require


def test_a_present_package_is_returned():
    assert require("json.decoder", to="read JSON") is sys.modules["json.decoder"]


def test_a_missing_package_names_its_purpose_and_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EnvironmentProblem) as caught:
        require("torch", to="read .pt2 models")
    assert str(caught.value) == (
        "error[environment]: package 'torch' is not installed; it is needed to read .pt2 models\n"
        "  do:    pip install 'edgewright[pytorch]'"
    )


def test_a_part_of_a_missing_package_names_the_package():
    with pytest.raises(EnvironmentProblem, match="package 'no_such_package' is not installed"):
        require("no_such_package.part", to="test")


def test_a_package_that_is_installed_but_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_broken.py").write_text("import a_dependency_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_dependency_that_is_not_there"):
        require("half_broken", to="test")


def test_a_missing_part_of_a_present_package_is_not_called_missing():
    with pytest.raises(ModuleNotFoundError, match=r"json\.nothing"):
        require("json.nothing", to="test")


def test_unknown_and_base_packages_install_by_their_own_name():
    assert install_command("yaml") == "pip install PyYAML"
    assert install_command("something") == "pip install something"


def test_no_package_is_listed_twice():
    assert len({package.module for package in PACKAGES}) == len(PACKAGES)
