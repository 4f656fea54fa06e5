"""Devices for tests: a real sshd on this machine, and adb with a stand-in for a phone's adbd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

NO_SSHD = "sshd is not installed"
NO_ADB = "adb is not installed"
# Root has it on its search path, others may not.
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
ADB = shutil.which("adb")
TOOLS = Path(sys.executable).parent


@dataclass(frozen=True)
class Device:
    """Where a device is reached, and the folder of its runs."""

    base: str
    settings: str
    folder: Path

    def address(self, tools: Path | str = TOOLS, **more: object) -> str:
        """Its address, with the folder of its programs."""
        settings = {"tools": tools, "folder": self.folder, **more}
        words = [self.settings, *(f"{key}={quote(str(value))}" for key, value in settings.items())]
        return f"{self.base}?{'&'.join(word for word in words if word)}"


def find_free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until a server listens."""
    for _ in range(200):
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"{process.args} does not listen on port {port}")


def start_sshd(folder: Path) -> tuple[subprocess.Popen[bytes], str, Path]:
    """A server with keys of its own; its address and the configuration of its clients."""
    for name in ("host", "user", "stranger"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    port = find_free_port()
    shutil.copyfile(folder / "user.pub", folder / "authorized_keys")
    key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}\n")
    server = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
    }
    config = write_settings(folder / "sshd_config", server)
    client = write_client_config(folder / "ssh_config", folder, "user", "known_hosts")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    assert SSHD is not None
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
    wait_for_port(port, process)
    user = os.environ.get("USER") or subprocess.check_output(["id", "-un"], text=True)
    return process, f"ssh://{user.strip()}@127.0.0.1:{port}", client


def write_client_config(path: Path, folder: Path, identity: str, known: str) -> Path:
    """What a user has in ~/.ssh/config."""
    settings = {
        "IdentityFile": folder / identity,
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": folder / known,
        "GlobalKnownHostsFile": "/dev/null",
    }
    return write_settings(path, settings)


def write_settings(path: Path, settings: dict[str, object]) -> Path:
    """A configuration of OpenSSH."""
    path.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    return path


def start_phone(folder: Path) -> tuple[list[subprocess.Popen[bytes]], str, int]:
    """The real adb and its server, and our stand-in for adbd; the serial number, and the server's port."""
    phone, server = find_free_port(), find_free_port()
    environment = os.environ | {"HOME": str(folder)}
    words = [sys.executable, "-m", "tests.stand_in_adbd", str(phone)]
    daemon = subprocess.Popen(words, cwd=Path(__file__).parents[1])
    wait_for_port(phone, daemon)
    assert ADB is not None
    words = [ADB, "-P", str(server), "server", "nodaemon"]
    adb = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_port(server, adb)
    serial = f"127.0.0.1:{phone}"
    connect = [ADB, "-H", "127.0.0.1", "-P", str(server), "connect", serial]
    answer = subprocess.run(connect, env=environment, capture_output=True, text=True, check=True)
    assert "connected to" in answer.stdout, answer.stdout
    return [daemon, adb], serial, server


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends a server."""
    process.terminate()
    process.wait(30)
