"""A stand-in for a phone's adbd, which Debian does not have: what adb calls of it, over TCP.

Written from the public description of the protocol. Commands run in the shell of this machine, and files
are its files. It has the shell with exit codes (shell_v2), push and pull.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

CNXN, OPEN, OKAY, WRTE, CLSE = (
    int.from_bytes(word, "little") for word in (b"CNXN", b"OPEN", b"OKAY", b"WRTE", b"CLSE")
)
VERSION, MOST = 0x01000001, 64 << 10
BANNER = b"device::ro.product.name=stand_in;ro.product.model=stand_in;features=shell_v2,cmd"
STDOUT, STDERR, EXIT, END_OF_INPUT = 1, 2, 3, 4


class Link:
    """The connection of one adb server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._streams: dict[int, Stream] = {}

    def send(self, command: int, first: int, second: int, data: bytes = b"") -> None:
        head = struct.pack("<6I", command, first, second, len(data), sum(data), command ^ 0xFFFFFFFF)
        with self._lock:
            self._connection.sendall(head + data)

    def serve(self) -> None:
        while True:
            command, first, second, size, _, _ = struct.unpack("<6I", self._read(24))
            data = self._read(size)
            if command == CNXN:
                self.send(CNXN, VERSION, MOST, BANNER)
            elif command == OPEN:
                number = max(self._streams, default=0) + 1
                self._streams[number] = Stream(self, number, first)
                self.send(OKAY, number, first)
                self._streams[number].start(data.rstrip(b"\0").decode())
            elif second in self._streams:
                self._streams[second].take(command, data)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._connection.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data


class Stream:
    """One service that adb opened."""

    def __init__(self, link: Link, number: int, peer: int) -> None:
        self._link, self._number, self._peer = link, number, peer
        self._input: queue.Queue[bytes] = queue.Queue()
        self._ready = threading.Semaphore(1)
        self._rest = b""

    def start(self, service: str) -> None:
        serve: Callable[[], None]
        if service.startswith("shell"):
            serve = lambda: run_shell(self, service.partition(":")[2])  # noqa: E731
        elif service.startswith("sync"):
            serve = lambda: serve_sync(self)  # noqa: E731
        else:
            self._link.send(CLSE, 0, self._peer)
            return
        threading.Thread(target=self._run, args=(serve,), daemon=True).start()

    def _run(self, serve: Callable[[], None]) -> None:
        with contextlib.suppress(EOFError, OSError):
            serve()
        self._link.send(CLSE, self._number, self._peer)

    def take(self, command: int, data: bytes) -> None:
        if command == WRTE:
            self._link.send(OKAY, self._number, self._peer)
            self._input.put(data)
        elif command == OKAY:
            self._ready.release()
        elif command == CLSE:
            self._input.put(b"")

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), MOST):
            self._ready.acquire()
            self._link.send(WRTE, self._number, self._peer, data[start : start + MOST])

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            part = self._input.get()
            if not part:
                raise EOFError
            self._rest += part
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def run_shell(stream: Stream, command: str) -> None:
    """A command; its streams and its exit code in packets; input and output are one socket, as in adbd."""
    own, given = socket.socketpair()
    process = subprocess.Popen(["sh", "-c", command], stdin=given, stdout=given, stderr=subprocess.PIPE)
    given.close()
    lock = threading.Lock()

    def send(kind: int, data: bytes) -> None:
        with lock:
            stream.write(struct.pack("<BI", kind, len(data)) + data)

    def copy(kind: int, descriptor: int) -> None:
        while data := os.read(descriptor, 16 << 10):
            send(kind, data)

    def feed() -> None:
        try:
            while True:
                kind, size = struct.unpack("<BI", stream.read(5))
                data = stream.read(size)
                if kind == END_OF_INPUT:
                    break
                own.sendall(data)
        except (EOFError, OSError):
            pass
        with contextlib.suppress(OSError):
            own.shutdown(socket.SHUT_WR)

    threading.Thread(target=feed, daemon=True).start()
    assert process.stderr is not None
    pipes = ((STDOUT, own.fileno()), (STDERR, process.stderr.fileno()))
    copies = [threading.Thread(target=copy, args=(kind, number)) for kind, number in pipes]
    for thread in copies:
        thread.start()
    for thread in copies:
        thread.join()
    send(EXIT, bytes([process.wait() & 0xFF]))
    own.close()


def serve_sync(stream: Stream) -> None:
    """Files to the phone and from it."""
    while True:
        word, size = struct.unpack("<4sI", stream.read(8))
        text = stream.read(size).decode()
        if word == b"STAT":
            stream.write(b"STAT" + struct.pack("<3I", *measure(Path(text))))
        elif word == b"SEND":
            receive_file(stream, Path(text.rpartition(",")[0]))
        elif word == b"RECV":
            for start in range(0, len(content := Path(text).read_bytes()), MOST):
                part = content[start : start + MOST]
                stream.write(b"DATA" + struct.pack("<I", len(part)) + part)
            stream.write(b"DONE" + struct.pack("<I", 0))
        else:
            return


def measure(path: Path) -> tuple[int, int, int]:
    """Mode, size and time; zeros for nothing."""
    if not path.exists():
        return 0, 0, 0
    facts = path.stat()
    mode = (stat.S_IFDIR if path.is_dir() else stat.S_IFREG) | stat.S_IMODE(facts.st_mode)
    return mode, facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)


def receive_file(stream: Stream, path: Path) -> None:
    """What adb pushes."""
    with path.open("wb") as file:
        while True:
            word, size = struct.unpack("<4sI", stream.read(8))
            if word == b"DONE":
                break
            file.write(stream.read(size))
    stream.write(b"OKAY" + struct.pack("<I", 0))


def serve_link(connection: socket.socket) -> None:
    """One adb server, until it goes."""
    try:
        Link(connection).serve()
    except (EOFError, OSError):
        connection.close()


def main(port: int) -> None:
    """Listens for adb."""
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve_link, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
