import json
import platform
import sys

import pytest

from edgewright.abi.libraries import find_libraries
from edgewright.tools import native_environment
from edgewright.tools.doctor_command import TOOL
from edgewright.tools.native_environment import check_native_libraries

needs_wheel = pytest.mark.skipif(
    find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed"
)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A wheel of that name whose libraries, tag and files a test chooses."""

    def install(tag="manylinux_2_17_x86_64", library=b"not a library"):
        package = tmp_path / "onnxruntime_qnn"
        package.mkdir()
        (package / "__init__.py").write_text("")
        if library is not None:
            (package / "libQnnHtp.so").write_bytes(library)
        info = tmp_path / "onnxruntime_qnn-9.9.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime-qnn\nVersion: 9.9\n")
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: cp311-cp311-{tag}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    monkeypatch.delitem(sys.modules, "onnxruntime_qnn", raising=False)
    return install


@needs_wheel
def test_an_installed_wheel_says_version_folder_licence_and_glibc():
    state = check_native_libraries()
    text = "\n".join(state.lines)
    assert state.finding.state == "works"
    assert "(tested)" in text
    assert "licence: Qualcomm's own, not Edgewright's: " in text
    assert f"glibc {platform.libc_ver()[1]}" in text
    assert "htp-sim is the simulation" in text


def test_on_another_system_the_message_says_where_they_run(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    state = check_native_libraries()
    assert (state.finding.state, state.finding.is_problem) == ("absent", False)
    where = "they run on Linux with glibc and Windows, on x86_64 and 64-bit Arm, this is Linux riscv64"
    assert where in state.lines[0]


def test_a_missing_wheel_is_no_problem_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(native_environment, "WHEEL", "ew-no-such-wheel")
    state = check_native_libraries()
    assert (state.finding.state, state.finding.is_problem) == ("absent", False)
    assert state.finding.do == "pip install 'edgewright[native]'"


def test_a_glibc_that_is_too_old_is_named(elsewhere):
    elsewhere(tag="manylinux_9_99_x86_64")
    state = check_native_libraries()
    assert state.finding.state == "broken"
    assert state.finding.trouble.endswith("found, 9.99 expected")


def test_a_library_that_does_not_open_is_broken_and_the_doctor_lives_on(elsewhere):
    elsewhere()
    state = check_native_libraries()
    assert (state.finding.state, state.finding.is_problem) == ("broken", True)
    assert "libQnnHtp.so does not open" in state.finding.trouble


def test_the_doctor_shows_it_as_text_and_json(capsys):
    TOOL.main([])
    assert "The genuine QNN libraries:\n  " in capsys.readouterr().out
    TOOL.main(["--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["qnn_libraries"]
    assert any(finding["name"] == "QNN libraries" for finding in found["findings"])
