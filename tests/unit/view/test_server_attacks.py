"""Requests that no browser sends: each is answered or dropped, and the server goes on."""

import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import edgewright as ew
from tests.hostile import bomb_cases, onnx_cases
from tests.unit.view.sample_models import save_convolution

NAMED = "POST {token}/api/files?name={name} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
SIZED = NAMED + "Content-Length: {size}\r\n\r\n"
# What is sent as it is, with {token} and {host} filled in; nothing of it is answered with content.
REQUESTS = {
    "nothing": "\r\n\r\n",
    "garbage": "\x00\x01\x02\xff\r\n\r\n",
    "no version": "GET {token}/\r\n\r\n",
    "version 9": "GET {token}/ HTTP/9.9\r\nHost: {host}\r\n\r\n",
    "a method of nobody": "EVIL {token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a method of 100 kB": "G" * 100_000 + " / HTTP/1.1\r\n\r\n",
    "a path of 100 kB": "GET {token}/" + "a" * 100_000 + " HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a header of 100 kB": "GET {token}/ HTTP/1.1\r\nHost: {host}\r\nX: " + "a" * 100_000 + "\r\n\r\n",
    "1,000 headers": "GET {token}/ HTTP/1.1\r\nHost: {host}\r\n" + "X: 1\r\n" * 1000 + "\r\n",
    "two hosts": "GET {token}/x HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
    "a whole address": "GET http://evil.example{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a path up": "GET {token}/../../../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "an encoded path up": "GET {token}/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a model of 10^30": "GET {token}/api/models/" + "9" * 30 + " HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a model of -1": "GET {token}/api/models/-1 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a model of other digits": "GET {token}/api/models/\u00b2 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a histogram of nobody": "GET {token}/api/models/0/histograms/0/99999 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a new line in a header": "GET {token}/a%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "no length": NAMED.replace("{name}", "m.onnx") + "\r\n",
    "chunks": NAMED.replace("{name}", "m.onnx") + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "a length below 0": SIZED.replace("{name}", "m.onnx").replace("{size}", "-5"),
    "a length of 10^30": SIZED.replace("{name}", "m.onnx").replace("{size}", "9" * 30),
    "a length of 2^40": SIZED.replace("{name}", "m.onnx").replace("{size}", str(1 << 40)),
    "a name of nothing": SIZED.replace("{name}", "").replace("{size}", "5") + "hello",
    "a name of dots": SIZED.replace("{name}", "..").replace("{size}", "5") + "hello",
    "a name with ../": SIZED.replace("{name}", "../../up.onnx").replace("{size}", "5") + "hello",
    "a name of NUL": SIZED.replace("{name}", "%00%00.onnx").replace("{size}", "5") + "hello",
    "a name of 10 kB": SIZED.replace("{name}", "x" * 10_000 + ".onnx").replace("{size}", "5") + "hello",
    "a library": SIZED.replace("{name}", "m.so").replace("{size}", "5") + "hello",
    "a program": SIZED.replace("{name}", "m.py").replace("{size}", "5") + "hello",
    "a pickle": SIZED.replace("{name}", "m.pt").replace("{size}", "27") + "cos\nsystem\n(Vtouch up\ntR..",
}
NESTED = next(case for case in onnx_cases.CASES if case.name == "If inside If, 36 levels")
MODELS = {
    "a constant that doubles": bomb_cases.double_constant(60, axis=0).SerializeToString(),
    "If inside If": NESTED.files["in/m.onnx"],
    "half a model": onnx_cases.SOUND.SerializeToString()[:40],
    "an op of nobody": onnx_cases.one("Evil", ["x"]).SerializeToString(),
}


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    save_convolution(folder / "small.onnx")
    with ew.view(folder / "small.onnx", open_browser=False) as shown:
        yield shown


def send(viewer, content: bytes) -> bytes:
    """What comes back until the server closes, or has nothing more to say."""
    host, port = viewer.url.split("/")[2].split(":")
    answer = b""
    # The server may close while it is still being told.
    with (
        suppress(OSError),
        socket.create_connection((host, int(port)), timeout=20) as connection,
    ):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            answer += part
    return answer


def fill(viewer, text: str) -> bytes:
    parts = viewer.url.split("/")
    return text.replace("{token}", f"/{parts[3]}").replace("{host}", parts[2]).encode("latin1")


def is_alive(viewer) -> bool:
    page = "GET {token}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return b" 200 OK" in send(viewer, fill(viewer, page))


@pytest.mark.parametrize("name", REQUESTS)
def test_an_odd_request_is_refused_and_the_server_goes_on(name, viewer, capfd):
    before = sorted(Path(tempfile.gettempdir()).glob("up*"))
    answer = send(viewer, fill(viewer, REQUESTS[name]))
    assert b"root:" not in answer
    assert b"Set-Cookie" not in answer.partition(b"\r\n\r\n")[0]
    assert not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200"))
    assert b"mistake of the viewer" not in answer
    assert "Traceback" not in capfd.readouterr().err
    assert sorted(Path(tempfile.gettempdir()).glob("up*")) == before
    assert is_alive(viewer)


@pytest.mark.parametrize("name", MODELS)
def test_a_hostile_model_that_is_dropped_on_the_page_is_an_answer(name, viewer, capfd):
    data = MODELS[name]
    head = SIZED.replace("{name}", "m.onnx").replace("{size}", str(len(data)))
    answer = send(viewer, fill(viewer, head) + data)
    assert answer.startswith((b"HTTP/1.1 422", b"HTTP/1.1 200"))
    assert b"mistake of the viewer" not in answer
    assert "Traceback" not in capfd.readouterr().err
    assert is_alive(viewer)


def test_connections_that_say_nothing_do_not_keep_others_out(viewer):
    host, port = viewer.url.split("/")[2].split(":")
    silent = [socket.create_connection((host, int(port)), timeout=20) for _ in range(50)]
    try:
        assert is_alive(viewer)
    finally:
        for connection in silent:
            connection.close()
