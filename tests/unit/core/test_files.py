import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgewright.core.errors import BadInput, EnvironmentProblem, LimitExceeded, UsageError
from edgewright.core.files import (
    keep_sources,
    measure_file,
    read_limited,
    resolve_inside,
    write_all,
    write_folder,
    write_whole,
)


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failing(*chunks, error):
    yield from chunks
    raise error


def test_chunks_arrive_in_order_and_nothing_else_remains(tmp_path):
    write_whole(tmp_path / "a.bin", [b"one", memoryview(b"two"), b""])
    assert (tmp_path / "a.bin").read_bytes() == b"onetwo"
    assert everything_in(tmp_path) == ["a.bin"]


def test_missing_folders_are_made(tmp_path):
    write_whole(tmp_path / "x" / "y" / "a.bin", [b"1"])
    assert everything_in(tmp_path) == ["x", "x/y", "x/y/a.bin"]


def test_a_new_file_has_the_rights_the_umask_gives(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "a.bin", [b"1"])
    assert (tmp_path / "a.bin").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [ValueError("stop"), KeyboardInterrupt(), OSError("source vanished")])
def test_a_failure_between_chunks_leaves_nothing_and_is_passed_on(tmp_path, error):
    with pytest.raises(type(error)) as caught:
        write_whole(tmp_path / "new" / "a.bin", failing(b"half", error=error))
    assert caught.value is error
    assert everything_in(tmp_path) == []


def test_a_failure_keeps_the_old_file(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"old")
    with pytest.raises(ValueError, match="stop"):
        write_whole(tmp_path / "a.bin", failing(b"new", error=ValueError("stop")))
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert everything_in(tmp_path) == ["a.bin"]


def test_several_files_appear_together_or_not_at_all(tmp_path):
    files = {tmp_path / "a": [b"1"], tmp_path / "sub" / "b": failing(b"2", error=ValueError("stop"))}
    with pytest.raises(ValueError, match="stop"):
        write_all(files)
    assert everything_in(tmp_path) == []
    write_all({tmp_path / "a": [b"1"], tmp_path / "sub" / "b": [b"2"]})
    assert everything_in(tmp_path) == ["a", "sub", "sub/b"]


def test_when_the_second_rename_fails_the_first_file_is_as_before(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def put_a_folder_in_the_way():
        yield b"2"
        (tmp_path / "c").mkdir()

    files = {tmp_path / "a": [b"1"], tmp_path / "b": [b"1"], tmp_path / "c": put_a_folder_in_the_way()}
    with pytest.raises((EnvironmentProblem, UsageError)):
        write_all(files)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert everything_in(tmp_path) == ["a", "c"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_process_told_to_stop_while_writing_leaves_nothing(tmp_path, how):
    script = (
        "import sys, time\n"
        "from edgewright.core.files import write_whole\n"
        "from edgewright.tools.tool import Tool\n"
        "def chunks():\n"
        "    yield b'half'\n"
        "    print('ready', flush=True)\n"
        # In pieces: a signal just before a sleep waits for its end (Python 3.14: 14 of 25 times).
        "    for _ in range(600): time.sleep(0.1)\n"
        f"sys.exit(Tool('t', 's', (), lambda: write_whole({str(tmp_path / 'a')!r}, chunks())).main([]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    assert len(everything_in(tmp_path)) == 1
    process.send_signal(how)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + how
    assert b"Traceback" not in said
    assert everything_in(tmp_path) == []


def test_a_full_disk_says_so_and_leaves_nothing(tmp_path):
    # A file size limit stands in for the full disk: both fail inside write().
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(EnvironmentProblem, match="file too large"):
            write_whole(tmp_path / "a", (b"x" * 1000 for _ in range(1000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert everything_in(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_the_message_for_no_space_is_the_systems(tmp_path):
    from edgewright.core import files

    with pytest.raises(EnvironmentProblem) as caught, files._explain_write_errors(tmp_path / "a"):
        Path("/dev/full").write_bytes(b"x")
    assert str(caught.value) == (
        f"error[environment]: cannot write '{tmp_path / 'a'}': no space left on device\n"
        "  do:    free some space or write elsewhere"
    )


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(UsageError, match="it is a folder"):
        write_whole(tmp_path, [b"1"])


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="file' is a file, expected a folder"):
        write_whole(tmp_path / "file" / "sub" / "a", [b"1"])


def test_what_is_read_is_not_written_over_by_any_name(tmp_path):
    (tmp_path / "model").write_bytes(b"weights")
    (tmp_path / "link").symlink_to("model")
    with pytest.raises(UsageError, match="link' would be overwritten, it is a file of the model"):
        keep_sources([tmp_path / "model"], [tmp_path / "new", tmp_path / "link"])
    keep_sources([tmp_path / "model"], [tmp_path / "new"])


def test_a_folder_is_no_guess_for_a_file(tmp_path):
    (tmp_path / "nowhere").mkdir()
    with pytest.raises(BadInput) as caught:
        measure_file(tmp_path / "nowhere.dlc")
    assert "did you mean" not in str(caught.value)


def test_a_device_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        write_whole(tmp_path / "pipe", [b"1"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_reported(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(EnvironmentProblem, match="permission denied"):
        write_whole(tmp_path / "a", [b"1"])


def test_a_name_that_is_too_long_is_reported(tmp_path):
    with pytest.raises(EnvironmentProblem, match="file name too long"):
        write_whole(tmp_path / ("x" * 300), [b"1"])
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize("relative", ["w.bin", "data/w.bin", "a..b", "...", "./w.bin"])
def test_paths_inside_the_folder_are_accepted(tmp_path, relative):
    assert resolve_inside(tmp_path, relative) == Path(os.path.realpath(tmp_path / relative))


@pytest.mark.parametrize(
    "relative",
    [
        *("../w.bin", "a/../../w.bin", "..", "..\\w.bin", "a\\..\\..\\b"),
        *("/etc/passwd", "//etc/passwd", "C:\\w.bin", "c:w.bin", "\\\\host\\share"),
        *("", ".", "a\0b"),
    ],
)
def test_paths_that_leave_the_folder_are_refused(tmp_path, relative):
    with pytest.raises(BadInput) as caught:
        resolve_inside(tmp_path, relative, file="model.onnx")
    assert "\n  where: model.onnx\n  do:    keep" in str(caught.value)


def test_links_that_leave_the_folder_are_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(b"")
    (tmp_path / "model" / "w.bin").symlink_to(tmp_path / "secret")
    (tmp_path / "model" / "up").symlink_to(tmp_path)
    for relative in ("w.bin", "up/secret", "up"):
        with pytest.raises(BadInput, match="through a link"):
            resolve_inside(tmp_path / "model", relative)


def test_a_loop_of_links_ends_in_a_path_and_not_in_a_crash(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises((BadInput, EnvironmentProblem)):
        measure_file(resolve_inside(tmp_path, "a"))


def test_a_neighbour_with_the_same_beginning_is_outside(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model-secret").write_bytes(b"")
    (tmp_path / "model" / "w").symlink_to(tmp_path / "model-secret")
    with pytest.raises(BadInput):
        resolve_inside(tmp_path / "model", "w")


def test_a_file_within_the_limit_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    assert read_limited(tmp_path / "a", 3) == b"123"


def test_a_file_over_the_limit_says_both_sizes(tmp_path):
    (tmp_path / "a").write_bytes(b"1234")
    with pytest.raises(LimitExceeded, match="the file has 4 bytes, at most 3 are read"):
        read_limited(tmp_path / "a", 3)


def test_a_missing_file_suggests_its_neighbour(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(BadInput) as caught:
        measure_file(tmp_path / "modle.onnx")
    assert str(caught.value) == (
        f"error[bad-input]: file '{tmp_path / 'modle.onnx'}' does not exist\n"
        "  do:    did you mean 'model.onnx'?"
    )


def test_a_missing_folder_is_said_to_be_missing(tmp_path):
    with pytest.raises(BadInput, match="does not exist either"):
        measure_file(tmp_path / "none" / "model.onnx")


def test_folders_pipes_and_impossible_names_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "not a regular"),
        ("a\0b", "not a file name"),
    ):
        began = time.monotonic()
        with pytest.raises(BadInput, match=why):
            read_limited(path, 10)
        assert time.monotonic() - began < 5


def test_every_piece_of_advice_belongs_to_a_real_error_number():
    from edgewright.core import files

    assert {errno.errorcode[number] for number in files._WRITING_ADVICE} >= {"ENOSPC", "EACCES", "EROFS"}


def test_a_folder_replaces_an_older_one_whole(tmp_path):
    (tmp_path / "Result_0").mkdir()
    (tmp_path / "Result_0" / "stale.raw").write_bytes(b"old")
    write_folder(tmp_path / "Result_0", {"a.raw": [b"1", b"2"], "b.raw": [b""]})
    assert {p.name: p.read_bytes() for p in (tmp_path / "Result_0").iterdir()} == {
        "a.raw": b"12",
        "b.raw": b"",
    }
    assert [p.name for p in tmp_path.iterdir()] == ["Result_0"]


def test_a_folder_that_is_stopped_half_way_leaves_the_old_one_and_nothing_else(tmp_path):
    def stops():
        yield b"1"
        raise KeyboardInterrupt

    write_folder(tmp_path / "Result_0", {"a.raw": [b"old"]})
    for name in ("Result_0", "deep/Result_1"):
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / name, {"a.raw": [b"new"], "b.raw": stops()})
    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*"))] == [
        "Result_0",
        "Result_0/a.raw",
    ]
    assert (tmp_path / "Result_0" / "a.raw").read_bytes() == b"old"


def test_a_folder_that_holds_folders_is_not_taken_away(tmp_path):
    (tmp_path / "Result_0" / "inner").mkdir(parents=True)
    with pytest.raises(UsageError, match="it holds the folder 'inner'"):
        write_folder(tmp_path / "Result_0", {"a.raw": [b"1"]})
    assert (tmp_path / "Result_0" / "inner").is_dir()


def test_a_file_in_place_of_the_folder_stays(tmp_path):
    (tmp_path / "Result_0").write_bytes(b"mine")
    with pytest.raises(UsageError, match="it is a file, expected a folder"):
        write_folder(tmp_path / "Result_0", {"a.raw": [b"1"]})
    assert (tmp_path / "Result_0").read_bytes() == b"mine"
