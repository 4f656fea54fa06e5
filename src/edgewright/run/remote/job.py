"""One run of qnn-net-run on a device: in a folder of its own there, which is removed at the end."""

import logging
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import (
    BackendCrash,
    BadInput,
    EdgewrightError,
    EnvironmentProblem,
    UnsupportedFeature,
    UsageError,
    shown,
)
from edgewright.core.events import announce_progress
from edgewright.core.quantities import format_bytes
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.archive import pack_files, unpack_files
from edgewright.run.remote.connection import Connection, open_connection
from edgewright.run.remote.programs import LARGEST_ANSWER, Finished

log = logging.getLogger(__name__)

PROGRAM, OUTPUT = "qnn-net-run", "output"
_OURS = "(edgewright)"
_SHORT_LIMIT = 60.0
# No name that a run could have outside of its own folder.
_FOLDER = re.compile(r"/(?:[^\n]*/)?edgewright\.[A-Za-z0-9]{6,}")
# What the exit codes of our own tool mean; the SDK's has others.
_ERRORS: dict[int, type[EdgewrightError]] = {
    error.exit_code: error for error in (UsageError, BadInput, UnsupportedFeature, EnvironmentProblem)
}
# The program ends with the connection: sshd and adbd close its input, which is read until then. The shell
# itself reads it: a cat would outlive the guard and, for adbd's input is its output too, keep that open.
_GUARDED = """exec 3<&0
{command} </dev/null 3<&- &
child=$!
(while read -r _; do :; done <&3; kill $child) >/dev/null 2>&1 &
guard=$!
wait $child
status=$?
kill $guard 2>/dev/null
exit $status"""


@dataclass(frozen=True)
class DeviceProgram:
    """The qnn-net-run of a device: the SDK's, or that of this package."""

    version: str

    @property
    def is_ours(self) -> bool:
        """Whether it is that of this package, which reads more kinds of models."""
        return _OURS in self.version

    @property
    def title(self) -> str:
        """What it says of itself, in a line."""
        lines = self.version.splitlines()
        return shown(lines[0]) if lines else "a program that does not tell its version"


@dataclass(frozen=True)
class DeviceSession:
    """A device whose qnn-net-run was found, and the folder of a run there."""

    address: DeviceAddress
    connection: Connection
    program: DeviceProgram
    folder: str

    def execute(
        self, files: Mapping[str, Path], arguments: Sequence[str], answer: Path, program: str = PROGRAM
    ) -> Finished:
        """Sends files, runs the program on them, and brings what it wrote to a folder of this machine.

        Args:
            files: by their names in the device's folder.
            arguments: words of the program, whose output folder is ``OUTPUT``.
            answer: the folder for what it wrote; complete, or an error is raised.
            program: a program of the device, beside qnn-net-run.
        """
        with tempfile.TemporaryDirectory(prefix="edgewright-") as place:
            archive = Path(place, "files.tar")
            pack_files(files, archive)
            size = format_bytes(archive.stat().st_size)
            with self._announce(f"sending {size} to {self.address}") as step:
                limit = self.address.limit
                self._require(self.connection.send(archive, self.folder, limit, step), "take its files")
            archive.unlink()
            with self._announce(f"running on {self.address}") as step:
                finished = self.connection.run(self._spell_run(program, arguments), self.address.limit, step)
            if finished.code:
                raise _explain_failure(finished, self, program)
            with self._announce(f"receiving from {self.address}") as step:
                packed = self.connection.fetch(self.folder, OUTPUT, archive, step)
                self._require(packed, "send what it wrote")
            unpack_files(archive, answer, LARGEST_ANSWER)
        return finished

    def _spell_run(self, program: str, arguments: Sequence[str]) -> str:
        folder = shlex.quote(self.folder)
        words = " ".join(map(shlex.quote, [program, *arguments]))
        # What the program keeps on the way stays in the folder, too.
        own = f"mkdir -p tmp {OUTPUT} && export TMPDIR=$PWD/tmp XDG_CACHE_HOME=$PWD/tmp"
        return f"cd {folder} && {own} || exit 1\n{_set_paths(self.address)}{_GUARDED.format(command=words)}"

    def _require(self, finished: Finished, what: str) -> None:
        if finished.code:
            raise EnvironmentProblem(
                f"{self.address} could not {what}: {shown(finished.last_words())}",
                do="see whether it has tar, and space in the folder of runs (folder=FOLDER names another)",
            )

    @contextmanager
    def _announce(self, title: str) -> Iterator[Callable[[], None]]:
        with announce_progress(title, total=None) as step:
            yield lambda: step(0)


@contextmanager
def open_device(address: DeviceAddress) -> Iterator[DeviceSession]:
    """Finds the program, makes the folder of a run, and removes it whatever happens."""
    connection = open_connection(address)
    program = _find_program(address, connection)
    folder = _make_folder(address, connection)
    try:
        yield DeviceSession(address, connection, program, folder)
    except BaseException:
        # The first error is the one to tell, also where the connection is gone for good.
        try:
            _remove_folder(connection, folder)
        except EdgewrightError:
            log.warning("the folder '%s' stays on %s, which is not reached any more", shown(folder), address)
        raise
    _remove_folder(connection, folder)


def check_device(address: DeviceAddress) -> None:
    """Refuses a device that cannot be reached or has no program, before the work and not after it."""
    _find_program(address, open_connection(address))


def _find_program(address: DeviceAddress, connection: Connection) -> DeviceProgram:
    look = f"command -v {PROGRAM} >/dev/null || exit 127\n{PROGRAM} --version </dev/null"
    finished = connection.run(_set_paths(address) + look, _SHORT_LIMIT)
    if finished.code == 127:
        place = f"in '{shown(address.tools)}'" if address.tools else "on its search path"
        raise EnvironmentProblem(
            f"{address} has no {PROGRAM} {place}",
            do="name its folder with ?tools=FOLDER, copy the SDK's there, or pip install edgewright on it",
        )
    if finished.code:
        raise EnvironmentProblem(f"{PROGRAM} of {address} does not start: {shown(finished.last_words())}")
    return DeviceProgram((finished.output + finished.errors).strip())


def _set_paths(address: DeviceAddress) -> str:
    """Where the device's program and libraries are found: beside each other, or as the SDK has them."""
    if not address.tools:
        return ""
    tools = shlex.quote(address.tools)
    return (
        f"tools={tools}\n"
        'export PATH="$tools:$tools/bin:$PATH"\n'
        'export LD_LIBRARY_PATH="$tools:$tools/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
        'export ADSP_LIBRARY_PATH="$tools;$tools/lib;/system/lib/rfsa/adsp;/dsp"\n'
    )


def _make_folder(address: DeviceAddress, connection: Connection) -> str:
    base = shlex.quote(address.folder) if address.folder else connection.folder
    finished = connection.run(f"umask 077\nmktemp -d {base}/edgewright.XXXXXXXX", _SHORT_LIMIT)
    # What a login shell says comes before it.
    folder = finished.output.strip().rpartition("\n")[2]
    if finished.code or not _FOLDER.fullmatch(folder):
        raise EnvironmentProblem(
            f"{address} could not make a folder for the run: {shown(finished.last_words())}",
            do="name one that exists there with ?folder=FOLDER",
        )
    return folder


def _remove_folder(connection: Connection, folder: str) -> None:
    connection.run(f"rm -rf -- {shlex.quote(folder)}", _SHORT_LIMIT)


def _explain_failure(finished: Finished, session: DeviceSession, program: str) -> EdgewrightError:
    """The error of the device's program as one of ours."""
    lines = (finished.errors.strip() or finished.output.strip()).splitlines()
    sentences = [line for line in lines if line.startswith("error")] or lines[-3:] or ["it said nothing"]
    what = f"{program} failed on {session.address} with exit code {finished.code}: {'; '.join(sentences)}"
    kind = _ERRORS.get(finished.code, BackendCrash) if session.program.is_ours else BackendCrash
    advice = next((line.partition("do:")[2].strip() for line in lines if line.strip().startswith("do:")), "")
    return kind(shown(what, 600), do=shown(advice))
