"""The process behind the library: a thread for each of its lines, until the client is gone."""

import contextlib
import mmap
import os
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from edgewright.core.errors import EdgewrightError, Problems, UnsupportedOp, shown
from edgewright.run.backend_library.host import Host
from edgewright.run.backend_library.served_graph import Buffers, ServedGraph

# request, code (of a request: whether nodes are timed), bytes of the body, two numbers
_HEAD = struct.Struct("<IIQQQ")
_LARGEST_BODY = 1 << 32


class Request(IntEnum):
    """What can be asked, by the numbers of library.h."""

    CHANNEL = 1
    MEMORY = 2
    VALIDATE = 3
    FINALIZE = 4
    EXECUTE = 5
    BINARY = 6
    LOAD = 7
    FREE = 8
    OPS = 9
    PACKAGE = 10
    HELLO = 11


# What a refusal is to the client: QNN's codes.
_UNKNOWN_OP = 4005
_CODES = {
    Request.VALIDATE: 3110,
    Request.FINALIZE: 6022,
    Request.EXECUTE: 6031,
    Request.BINARY: 5006,
    Request.LOAD: 5005,
    Request.PACKAGE: 4004,
}


class _Gone(Exception):
    """The client closed the line, or ended."""


@dataclass(frozen=True)
class _Message:
    request: Request
    flag: int
    first: int
    second: int
    body: bytes
    file: int


@dataclass(frozen=True)
class _Answer:
    body: bytes = b""
    first: int = 0
    file: int = -1
    code: int = 0


def main(descriptor: int, kind: str) -> None:
    """Serves the library at the other end of a socket; ends with it."""
    host = Host(kind)
    threading.Thread(target=_load_engine, daemon=True).start()
    with socket.socket(fileno=descriptor) as lifeline:
        while True:
            try:
                message = _receive(lifeline)
            except _Gone:
                # At once, whatever other threads compute: nobody waits for it.
                os._exit(0)
            if message.request == Request.CHANNEL:
                line = socket.socket(fileno=message.file)
                threading.Thread(target=_Channel(line, host).serve, daemon=True).start()
            elif message.request == Request.FREE:
                host.free_context(message.first)


def _load_engine() -> None:
    """While the client describes its graph there is time for it."""
    import edgewright.backends.cpu  # noqa: F401 - loaded ahead of its first use


class _Channel:
    """One line and the memory that belongs to it."""

    def __init__(self, line: socket.socket, host: Host) -> None:
        self._line, self._host = line, host
        self._memory = memoryview(b"")
        self._buffers: dict[tuple[int, int], tuple[ServedGraph, Buffers]] = {}
        self._answers: dict[Request, Callable[[_Message], _Answer]] = {
            Request.HELLO: lambda _: _Answer(),
            Request.VALIDATE: self._validate,
            Request.FINALIZE: self._prepare_graph,
            Request.EXECUTE: self._execute,
            Request.BINARY: lambda message: self._answer_file(self._host.make_binary(message.first)),
            Request.LOAD: self._load,
            Request.OPS: lambda _: _Answer(b"".join(name.encode() + b"\0" for name in self._host.list_ops())),
            Request.PACKAGE: self._register_package,
        }

    def serve(self) -> None:
        """Answers until the line is closed."""
        with self._line, contextlib.suppress(_Gone, ConnectionError):
            while True:
                message = _receive(self._line)
                if message.request == Request.MEMORY:
                    self._change_memory(message)
                else:
                    self._send(message.request, self._answer(message))

    def _answer(self, message: _Message) -> _Answer:
        try:
            return self._answers[message.request](message)
        except EdgewrightError as problem:
            return _refuse(message.request, problem)
        except Exception as problem:
            traceback.print_exc()
            code = _CODES.get(message.request, 1000)
            return _Answer(f"{type(problem).__name__}: {shown(problem)}".encode(), code=code)
        finally:
            if message.file >= 0:
                os.close(message.file)

    def _send(self, request: Request, answer: _Answer) -> None:
        head = _HEAD.pack(request, answer.code, len(answer.body), answer.first, 0)
        if answer.file >= 0:
            socket.send_fds(self._line, [head], [answer.file])
            os.close(answer.file)
            self._line.sendall(answer.body)
        else:
            self._line.sendall(head + answer.body)

    def _change_memory(self, message: _Message) -> None:
        self._memory = memoryview(mmap.mmap(message.file, message.first))
        os.close(message.file)
        self._buffers.clear()

    def _validate(self, message: _Message) -> _Answer:
        self._host.validate(message.body, _map_file(message.file))
        return _Answer()

    def _prepare_graph(self, message: _Message) -> _Answer:
        start = time.perf_counter_ns()
        self._host.prepare_graph(message.first, message.second, message.body, _map_file(message.file))
        return _Answer(first=(time.perf_counter_ns() - start) // 1000)

    def _execute(self, message: _Message) -> _Answer:
        key = message.first, message.second
        graph = self._host.find_graph(*key)
        known = self._buffers.get(key)
        if known is None or known[0] is not graph:
            known = self._buffers[key] = graph, graph.map_buffers(self._memory)
        if message.flag:
            spent, lines = graph.profile(known[1])
            return _Answer(lines.encode(), first=spent)
        return _Answer(first=graph.execute(known[1]))

    def _load(self, message: _Message) -> _Answer:
        return _Answer(self._host.load_binary(message.first, message.file))

    def _answer_file(self, file: int) -> _Answer:
        return _Answer(first=os.fstat(file).st_size, file=file)

    def _register_package(self, message: _Message) -> _Answer:
        path, provider, target = (text.decode() for text in message.body.split(b"\0")[:3])
        self._host.register_package(path, provider, target)
        return _Answer()


def _refuse(request: Request, problem: EdgewrightError) -> _Answer:
    first = problem.errors[0] if isinstance(problem, Problems) else problem
    is_unknown = request == Request.VALIDATE and isinstance(first, UnsupportedOp)
    return _Answer(str(problem).encode(), code=_UNKNOWN_OP if is_unknown else _CODES.get(request, 1000))


def _map_file(file: int) -> memoryview:
    return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))


def _receive(line: socket.socket) -> _Message:
    start, files, _, _ = socket.recv_fds(line, _HEAD.size, 1)
    head = start + _receive_exactly(line, _HEAD.size - len(start)) if start else b""
    if not head:
        raise _Gone
    request, flag, size, first, second = _HEAD.unpack(head)
    if size > _LARGEST_BODY:
        raise _Gone
    body = _receive_exactly(line, size)
    return _Message(Request(request), flag, first, second, body, files[0] if files else -1)


def _receive_exactly(line: socket.socket, size: int) -> bytes:
    body = bytearray(size)
    view, received = memoryview(body), 0
    while received < size:
        count = line.recv_into(view[received:])
        if not count:
            raise _Gone
        received += count
    return bytes(body)
