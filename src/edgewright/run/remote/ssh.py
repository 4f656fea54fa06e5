"""A board behind ssh, by the system's own ssh: its keys, its configuration, its known hosts."""

import shlex
from pathlib import Path

from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.connection import Step
from edgewright.run.remote.programs import Finished, find_program, run_program

# Nobody is there to answer questions, and a host whose key is not known could be another one.
_OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": "15",
    "ServerAliveInterval": "10",
    "ServerAliveCountMax": "3",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "PermitLocalCommand": "no",
}
# What ssh itself exits with where the connection fails.
_BROKEN = 255


class SshConnection:
    """Every call is one connection of ssh."""

    folder = '"${TMPDIR:-/tmp}"'

    def __init__(self, address: DeviceAddress) -> None:
        self._address = address
        self._program = find_program("ssh", "install an OpenSSH client (Debian: openssh-client)")

    def run(self, script: str, limit: float, step: Step = lambda: None) -> Finished:
        """Runs a script in the board's shell; it is ended when the connection breaks."""
        return self._check(run_program(self._spell(script), limit, self._name("the run"), step=step))

    def send(self, archive: Path, folder: str, limit: float, step: Step = lambda: None) -> Finished:
        """Extracts a tar archive of this machine in a folder of the board."""
        command = self._spell(f"cd {shlex.quote(folder)} && tar xf -")
        return self._check(run_program(command, limit, self._name("sending"), source=archive, step=step))

    def fetch(self, folder: str, name: str, archive: Path, step: Step = lambda: None) -> Finished:
        """Packs a folder of the board into a tar archive on this machine."""
        command = self._spell(f"cd {shlex.quote(folder)} && tar cf - {shlex.quote(name)}")
        limit = self._address.limit
        return self._check(run_program(command, limit, self._name("receiving"), target=archive, step=step))

    def _name(self, what: str) -> str:
        return f"{what} on {self._address}"

    def _spell(self, script: str) -> list[str]:
        address = self._address
        words = [self._program, "-T"]
        words += ["-F", address.config] if address.config else []
        for name, value in _OPTIONS.items():
            words += ["-o", f"{name}={value}"]
        words += ["-p", str(address.port)] if address.port is not None else []
        host = f"{address.user}@{address.host}" if address.user else address.host
        # The login shell may be any; sh is everywhere.
        return [*words, "--", host, f"exec sh -c {shlex.quote(script)}"]

    def _check(self, finished: Finished) -> Finished:
        if finished.code != _BROKEN:
            return finished
        said = finished.last_words()
        raise EnvironmentProblem(
            f"the connection to {self._address} failed: {shown(said)}", do=self._advise(finished.errors)
        )

    def _advise(self, errors: str) -> str:
        host = f"{self._address.user}@{self._address.host}".lstrip("@")
        if "Host key verification failed" in errors:
            return f"run ssh {shown(host)} once and compare the fingerprint of its key; it is not known here"
        if "Permission denied" in errors:
            return f"let ssh {shown(host)} work without a password: ssh-copy-id {shown(host)}"
        return f"try ssh {shown(host)}"
