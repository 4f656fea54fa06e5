"""What a device's shell is given, and what it answers."""

import socket
import subprocess
from types import SimpleNamespace

import pytest

from edgewright.run.remote import job
from edgewright.run.remote.address import parse_address
from edgewright.run.remote.job import DeviceProgram
from edgewright.run.remote.programs import Finished


@pytest.fixture
def shell():
    """Starts a guarded command as adbd does: one socket is its input and its output."""
    own, given = socket.socketpair()
    own.settimeout(10)
    started = []

    def start(command):
        script = job._GUARDED.format(command=command)
        started.append(subprocess.Popen(["sh", "-c", script], stdin=given, stdout=given))
        given.close()
        return own, started[0]

    yield start
    own.close()
    started[0].wait(10)


def test_a_program_that_ends_closes_its_output(shell):
    connection, process = shell("echo said")
    assert connection.recv(100) == b"said\n"
    assert connection.recv(100) == b""
    assert process.wait(10) == 0


def test_a_connection_that_closes_ends_the_program(shell):
    connection, process = shell("sleep 100")
    connection.shutdown(socket.SHUT_WR)
    assert process.wait(10) == 128 + 15


def test_a_folder_is_the_last_line():
    said = Finished(0, "Welcome!\n/tmp/edgewright.abcdefgh\n", "")
    connection = SimpleNamespace(folder="/tmp", run=lambda *_: said)
    assert job._make_folder(parse_address("ssh://board"), connection) == "/tmp/edgewright.abcdefgh"


def test_a_program_has_a_title():
    assert DeviceProgram("QNN SDK v2\x1b[31m\nmore").title.startswith("QNN SDK v2")
    assert "\x1b" not in DeviceProgram("QNN SDK v2\x1b[31m").title
    assert "does not tell" in DeviceProgram("").title
