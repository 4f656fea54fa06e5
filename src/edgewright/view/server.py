"""A web server for one person on one machine: it shows the models that were opened and nothing else.

It listens on 127.0.0.1 only. Every address starts with a token that only the person who started it knows; a
page of another origin is refused, and so is a name that only points to this machine (DNS rebinding). Models
are addressed by number: there is no way to spell a path.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from edgewright.core.errors import EdgewrightError
from edgewright.core.version import VERSION
from edgewright.view.document import Document, make_document
from edgewright.view.histograms import summarise
from edgewright.view.page import Asset, dump_document, make_assets
from edgewright.view.records import ViewModel

HOST = "127.0.0.1"
_JSON = "application/json; charset=utf-8"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class NotThere(Exception):
    """Nothing has this address."""


class Shown:
    """What a server shows: models by number, each opened when somebody first looks at it."""

    def __init__(
        self, openers: Mapping[str, Callable[[], ViewModel]], comparison: Document | None = None
    ) -> None:
        self._comparison = comparison
        self._titles = list(openers)
        self._openers = list(openers.values())
        self._models: dict[int, tuple[ViewModel, Document]] = {}
        self._lock = threading.Lock()

    def answer(self, path: str) -> Any:
        """The JSON behind an address below 'api/'."""
        parts = path.split("/")
        if parts == ["models"]:
            return {
                "models": [{"title": title} for title in self._titles],
                "comparison": self._comparison,
            }
        if len(parts) == 2 and parts[0] == "models":
            return self._open(parts[1])[1]
        if len(parts) == 5 and parts[0] == "models" and parts[2] == "histograms":
            graph = _pick(self._open(parts[1])[0].graphs, parts[3])
            tensor = _pick(list(graph.tensors.values()), parts[4])
            if tensor.load is not None:
                return summarise(tensor)
        raise NotThere

    def _open(self, number: str) -> tuple[ViewModel, Document]:
        place = _pick(range(len(self._openers)), number)
        with self._lock:
            if place not in self._models:
                model = self._openers[place]()
                self._models[place] = (model, make_document(model))
            return self._models[place]


class ViewServer:
    """The running server; ``url`` is what a browser opens."""

    def __init__(self, shown: Shown, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self._server = _Server((HOST, port), _Handler)
        self._server.shown, self._server.token, self._server.assets = shown, self.token, make_assets()
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The address of the page, token included."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def wait(self) -> None:
        """Blocks until the server is closed; a signal ends it."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """With what its handlers show, and the token that they ask for."""

    shown: Shown
    token: str
    assets: dict[str, Asset]


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server
    server_version = f"edgewright/{VERSION}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._respond(self._find_content)

    def do_HEAD(self) -> None:
        self._respond(self._find_content)

    def _respond(self, find: Callable[[], Asset]) -> None:
        problem = self._find_refusal()
        if problem:
            self._send(HTTPStatus.FORBIDDEN, Asset(_JSON, dump_document({"problem": problem})))
            return
        try:
            content = find()
        except NotThere:
            content = Asset(_JSON, dump_document({"problem": "there is nothing at this address"}))
            self._send(HTTPStatus.NOT_FOUND, content)
        except EdgewrightError as error:
            text = f"{error.what}; {error.do}" if error.do else error.what
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, Asset(_JSON, dump_document({"problem": text})))
        else:
            self._send(HTTPStatus.OK, content)

    def _find_refusal(self) -> str:
        """Why a request is not answered; empty where it is."""
        port = self.server.server_port
        names = {f"{HOST}:{port}", f"localhost:{port}"}
        if self.headers.get("Host") not in names:
            return "the request is for another host"
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in names}:
            return "the request comes from another origin"
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return "the request comes from another site"
        given = self.path.split("/", 2)[1] if self.path.startswith("/") else ""
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            return "the token is missing or wrong: open the address that was printed"
        return ""

    def _find_content(self) -> Asset:
        path = self.path.partition("?")[0].split("/", 2)
        inside = path[2] if len(path) > 2 else None
        if inside in self.server.assets:
            return self.server.assets[inside]
        if inside is None or not inside.startswith("api/"):
            raise NotThere
        return Asset(_JSON, dump_document(self.server.shown.answer(inside.removeprefix("api/"))))

    def _send(self, status: HTTPStatus, content: Asset) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content.type)
        self.send_header("Content-Length", str(len(content.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content.content)

    def log_message(self, *_: Any) -> None:
        """Nothing: a terminal is not for requests."""


def _pick(items: Sequence[Any], number: str) -> Any:
    if not number.isascii() or not number.isdigit() or len(number) > 9 or int(number) >= len(items):
        raise NotThere
    return items[int(number)]
