"""A phone behind adb, by the program adb of the system or of the Android SDK."""

import os
import re
import shlex
from pathlib import Path

from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.connection import Step
from edgewright.run.remote.programs import Finished, find_program, run_program

_SEND, _ANSWER = "edgewright-send.tar", "edgewright-answer.tar"
_LIST_LIMIT = 30.0
# Phones before Android 7 do not tell exit codes.
_STATUS = "edgewright-exit-code="
_STATUS_LINE = re.compile(rf"{_STATUS}(\d+)\s*$")
_SERVER = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?::(\d{1,5}))?")


class AdbConnection:
    """Every call is one of adb, to the device of the address or to the only one there is."""

    folder = "/data/local/tmp"

    def __init__(self, address: DeviceAddress) -> None:
        self._address = address
        # Guide 5225: ADB_PATH names the program.
        program = find_program(
            os.environ.get("ADB_PATH", "adb"),
            "install adb (Debian: adb; or the platform tools of Android), or name it in ADB_PATH",
        )
        self._words = [program, *_spell_server(address.server)]
        self._serial = address.host or self._find_first()

    def run(self, script: str, limit: float, step: Step = lambda: None) -> Finished:
        """Runs a script in the phone's shell; it is ended when the connection breaks."""
        marked = f"sh -c {shlex.quote(script)}; printf '\\n{_STATUS}%d\\n' $?"
        finished = self._call_adb("the run", limit, "shell", marked, step=step)
        match = _STATUS_LINE.search(finished.output)
        if match is None:
            raise self._make_error(finished)
        output = finished.output[: match.start()].removesuffix("\n")
        return Finished(int(match[1]), output, finished.errors)

    def send(self, archive: Path, folder: str, limit: float, step: Step = lambda: None) -> Finished:
        """Extracts a tar archive of this machine in a folder of the phone."""
        sent = self._call_adb("sending", limit, "push", str(archive), f"{folder}/{_SEND}", step=step)
        if sent.code:
            raise self._make_error(sent)
        script = f"cd {shlex.quote(folder)} && tar xf {_SEND} && rm {_SEND}"
        return self.run(script, limit, step)

    def fetch(self, folder: str, name: str, archive: Path, step: Step = lambda: None) -> Finished:
        """Packs a folder of the phone into a tar archive on this machine."""
        limit = self._address.limit
        packed = self.run(f"cd {shlex.quote(folder)} && tar cf {_ANSWER} {shlex.quote(name)}", limit, step)
        if packed.code:
            return packed
        pulled = self._call_adb("receiving", limit, "pull", f"{folder}/{_ANSWER}", str(archive), step=step)
        if pulled.code:
            raise self._make_error(pulled)
        return pulled

    def _call_adb(self, what: str, limit: float, *words: str, step: Step) -> Finished:
        command = [*self._words, "-s", self._serial, *words]
        return run_program(command, limit, f"{what} on {self._address}", step=step)

    def _find_first(self) -> str:
        """Guide 8179: the first of the list; one that is not ready is none."""
        listed = run_program([*self._words, "devices"], _LIST_LIMIT, "adb devices")
        lines = [line.split("\t") for line in listed.output.splitlines()[1:] if "\t" in line]
        ready = [words[0] for words in lines if words[1].strip() == "device"]
        if listed.code or not ready:
            said = shown(listed.last_words()) if listed.code else "adb devices lists none that is ready"
            raise EnvironmentProblem(
                f"no device is connected: {said}",
                do="connect one and allow its debugging",
            )
        return ready[0]

    def _make_error(self, finished: Finished) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the connection to {self._address} failed: {shown(finished.last_words())}",
            do="adb devices lists what is connected",
        )


def _spell_server(server: str) -> list[str]:
    """Guide 8196: adb runs on another machine."""
    if not server:
        return []
    match = _SERVER.fullmatch(server)
    if match is None:
        raise UsageError(f"'{shown(server)}' is no server of adb", do="write HOST or HOST:PORT")
    return ["-H", match[1], *(["-P", match[2]] if match[2] else [])]
