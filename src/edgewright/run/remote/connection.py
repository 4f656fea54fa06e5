"""What a device can do, whichever way it is reached."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from edgewright.core.errors import UsageError
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.programs import Finished

Step = Callable[[], None]


class Connection(Protocol):
    """A way to a device; a device that cannot be reached is an EnvironmentProblem."""

    @property
    def folder(self) -> str:
        """Where the folders of runs are made, as words of the device's shell."""

    def run(self, script: str, limit: float, step: Step = lambda: None) -> Finished:
        """Runs a script in the device's shell; it is ended when the connection breaks."""

    def send(self, archive: Path, folder: str, limit: float, step: Step = lambda: None) -> Finished:
        """Extracts a tar archive of this machine in a folder of the device."""

    def fetch(self, folder: str, name: str, archive: Path, step: Step = lambda: None) -> Finished:
        """Packs a folder of the device into a tar archive on this machine."""


def open_connection(address: DeviceAddress) -> Connection:
    """The connection of an address; nothing is sent yet."""
    if address.scheme == "ssh":
        from edgewright.run.remote.ssh import SshConnection

        return SshConnection(address)
    if address.scheme == "adb":
        from edgewright.run.remote.adb import AdbConnection

        return AdbConnection(address)
    raise UsageError(f"'{address}' is no address of a device")
