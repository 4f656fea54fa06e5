"""The genuine libraries on each kind of machine: names and folders, and what HTP is there."""

import importlib.machinery
import platform
import sys
from importlib import util
from pathlib import Path

import pytest

from edgewright.abi import libraries
from edgewright.abi.libraries import find_libraries, has_htp, is_device, spell_library


@pytest.fixture
def pretend(monkeypatch, tmp_path):
    """Another machine, whose wheel has its files where the published ones have them."""

    def be(system: str, machine: str, *files: str) -> Path:
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.setattr(platform, "machine", lambda: machine)
        package = tmp_path / "onnxruntime_qnn"
        for file in files:
            (package / file).parent.mkdir(parents=True, exist_ok=True)
            (package / file).touch()
        spec = importlib.machinery.ModuleSpec("onnxruntime_qnn", None, is_package=True)
        spec.submodule_search_locations = [str(package)]
        monkeypatch.setattr(util, "find_spec", lambda name: spec if name == "onnxruntime_qnn" else None)
        return package

    return be


@pytest.mark.parametrize(
    ("system", "machine", "file", "inner", "is_there"),
    [
        ("linux", "x86_64", "libQnnHtp.so", ".", False),
        ("linux", "aarch64", "libQnnHtp.so", ".", True),
        ("win32", "ARM64", "QnnHtp.dll", ".", True),
        ("win32", "AMD64", "libs/amd64/QnnHtp.dll", "libs/amd64", False),
    ],
)
def test_libraries_are_found_where_each_wheel_has_them(pretend, system, machine, file, inner, is_there):
    package = pretend(system, machine, file)
    found = find_libraries()
    assert found is not None
    assert found.folder == (package / inner).resolve()
    assert (found.folder / spell_library("QnnHtp")).is_file()
    assert is_device() == is_there


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_machines_without_a_wheel_have_none(pretend, system, machine):
    pretend(system, machine, "libQnnHtp.so")
    assert find_libraries() is None


def test_a_machine_of_arm_has_an_htp_where_its_dsp_is_reached(pretend, monkeypatch):
    pretend("linux", "aarch64", "libQnnHtp.so")
    monkeypatch.setattr(libraries, "_DSP_DEVICES", ("no-such-device",))
    assert not has_htp()
    monkeypatch.setattr(libraries, "_DSP_DEVICES", ("null",))
    assert has_htp()
    pretend("linux", "x86_64")
    assert has_htp()
    pretend("win32", "ARM64")
    assert has_htp()


def test_htp_is_the_simulation_on_an_arm_machine_without_one(pretend, monkeypatch):
    from edgewright.backends.htp.provider import htp_backend

    pretend("linux", "aarch64", "libQnnHtp.so")
    monkeypatch.setattr(libraries, "_DSP_DEVICES", ("no-such-device",))
    assert "sim" in htp_backend().name
    monkeypatch.setattr(libraries, "_DSP_DEVICES", ("null",))
    assert htp_backend().name == "htp (native, SoC 57)"
