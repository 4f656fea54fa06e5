"""Where a device is: ssh://user@board or adb://SERIAL, and what is to be known about it."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote

from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean

SCHEMES = ("ssh", "adb")
RUN_LIMIT = 600.0
# A leading dash would be an option of the program that is started.
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]")
_PORT = re.compile(r"[0-9]{1,5}")
_PASSWORD = re.compile(r"(://[^:@]*):.*@", re.DOTALL)
_SERIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_KEYS = {"ssh": ("tools", "folder", "limit", "config"), "adb": ("tools", "folder", "limit", "server")}
_FORMS = "ssh://USER@HOST[:PORT] or adb://SERIAL, with ?tools=FOLDER&folder=FOLDER&limit=SECONDS"


@dataclass(frozen=True)
class DeviceAddress:
    """A device, and how it is used."""

    scheme: str
    # Of ssh: the host; of adb: the serial number, or nothing for the only device.
    host: str
    user: str = ""
    port: int | None = None
    # Where qnn-net-run and its libraries are on the device; otherwise on its search path.
    tools: str = ""
    # Where the folder of a run is made; otherwise the place for temporary files.
    folder: str = ""
    limit: float = RUN_LIMIT
    # Of ssh: the configuration file; of adb: host and port of its server.
    config: str = ""
    server: str = ""
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Without the settings."""
        return shown(self.text.partition("?")[0])


def parse_address(text: str) -> DeviceAddress:
    """The device that a text names; one that names none is an error with the forms there are."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in SCHEMES:
        hidden = _PASSWORD.sub(r"\1:***@", text)
        raise UsageError(f"'{shown(hidden)}' is no address of a device", do=f"write {_FORMS}")
    place, _, query = rest.partition("?")
    # Before all else: other messages show the address.
    if ":" in place.rpartition("@")[0]:
        raise UsageError("the address has a password, which is not used", do=f"use a key, and write {_FORMS}")
    settings = _parse_settings(scheme, query, text)
    if scheme == "adb":
        if place and not _SERIAL.fullmatch(place):
            raise UsageError(f"'{shown(place)}' is no serial number of adb", do="adb devices lists them")
        return DeviceAddress("adb", place, text=text, **settings)  # type: ignore[arg-type]
    return _parse_ssh(place.removesuffix("/"), text, settings)


def name_adb_device(serial: str | None, server: str | None = None, folder: str | None = None) -> str:
    """The address of what the SDK's tools name by --deviceId and --remoteHost; an address stays itself."""
    if serial is not None and "://" in serial:
        return serial
    # Values may come from files: one that holds an & must not become a setting of its own.
    settings = [
        f"{key}={quote(str(value), safe='/:', errors='replace')}"
        for key, value in (("server", server), ("folder", folder))
        if value
    ]
    return f"adb://{serial or ''}{'?' if settings else ''}{'&'.join(settings)}"


def choose_device(architecture: str, device: str | None) -> str | None:
    """The device of the SDK's tools that name an architecture; None for this machine, x86_64-linux-clang."""
    if architecture.startswith("x86_64"):
        return device if device is not None and "://" in device else None
    return name_adb_device(device)


def _parse_ssh(place: str, text: str, settings: dict[str, str | float]) -> DeviceAddress:
    user, at, rest = place.rpartition("@")
    host, colon, port = (rest, "", "") if rest.endswith("]") else rest.rpartition(":")
    host = host if colon else rest
    if at and not _USER.fullmatch(user):
        raise UsageError(f"'{shown(user)}' is no name of a user", do=f"write {_FORMS}")
    if not _HOST.fullmatch(host):
        raise UsageError(f"'{shown(host)}' is no name of a host", do=f"write {_FORMS}")
    if colon and not (_PORT.fullmatch(port) and 0 < int(port) < 1 << 16):
        raise UsageError(f"'{shown(port)}' is no port, expected a number from 1 to 65535")
    number = int(port) if colon else None
    return DeviceAddress("ssh", host.strip("[]"), user, number, text=text, **settings)  # type: ignore[arg-type]


def _parse_settings(scheme: str, query: str, text: str) -> dict[str, str | float]:
    known = _KEYS[scheme]
    settings: dict[str, str | float] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in known:
            raise UsageError(
                f"'{shown(key)}' in '{shown(text)}' is unknown",
                do=did_you_mean(key, known),
            )
        if not value or "\0" in value or "\n" in value:
            raise UsageError(f"'{key}' in '{shown(text)}' has no value", do=f"write {key}=VALUE")
        settings[key] = _parse_limit(value) if key == "limit" else value
    for key in ("tools", "folder"):
        if key in settings and not str(settings[key]).startswith("/"):
            raise UsageError(
                f"'{key}' is '{shown(settings[key])}', expected an absolute path of the device",
                do="begin it with /",
            )
    return settings


def _parse_limit(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise UsageError(f"limit is '{shown(text)}', expected seconds", do="write limit=600")
    return seconds
