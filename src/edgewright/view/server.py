"""A web server for one person on one machine: it shows the models that were opened and nothing else.

It listens on 127.0.0.1 only. Every address starts with a token that only the person who started it knows; a
page of another origin is refused, and so is a name that only points to this machine (DNS rebinding). Models
are addressed by number: there is no way to spell a path.
"""

import hmac
import logging
import re
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from edgewright.core.errors import BadInput, EdgewrightError
from edgewright.core.json_text import parse_json
from edgewright.core.version import VERSION
from edgewright.view.diff.request import LARGEST_RUN
from edgewright.view.document import Document, make_document
from edgewright.view.histograms import summarise
from edgewright.view.page import Asset, dump_document, make_assets, summarise_all, write_page
from edgewright.view.records import ViewModel
from edgewright.view.uploads import Uploads

if TYPE_CHECKING:
    from edgewright.view.diff.jobs import DiffJobs

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_PAGE = re.compile(r"api/models/(\d+)/page")
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
        self,
        openers: Mapping[str, Callable[[], ViewModel]],
        comparison: Document | None = None,
        root: Path | None = None,
    ) -> None:
        self._comparison = comparison
        self._titles = list(openers)
        self._openers = list(openers.values())
        self._models: dict[int, tuple[ViewModel, Document]] = {}
        self._lock = threading.Lock()
        self._jobs = None if root is None else _open_jobs(root, self.add)
        self._uploads = Uploads()

    def add(self, model: ViewModel) -> int:
        """Shows another model and tells its number."""
        document = make_document(model)
        with self._lock:
            number = len(self._titles)
            self._titles.append(model.title)
            self._openers.append(lambda: model)
            self._models[number] = (model, document)
        return number

    def answer(self, path: str) -> Any:
        """The JSON behind an address below 'api/'."""
        parts = path.split("/")
        if parts == ["models"]:
            return {
                "models": [{"title": title} for title in self._titles],
                "comparison": self._comparison,
                "hasForm": self._jobs is not None,
            }
        if parts == ["form"] and self._jobs is not None:
            return self._jobs.describe_form()
        if len(parts) == 2 and parts[0] == "jobs" and self._jobs is not None:
            return self._jobs.find(_pick(range(len(self._jobs)), parts[1])).to_document()
        if len(parts) == 2 and parts[0] == "models":
            return self._open(parts[1])[1]
        if len(parts) == 5 and parts[0] == "models" and parts[2] == "histograms":
            graph = _pick(self._open(parts[1])[0].graphs, parts[3])
            tensor = _pick(list(graph.tensors.values()), parts[4])
            if tensor.load is not None or tensor.values is not None:
                return summarise(tensor)
        raise NotThere

    def write_page(self, number: str) -> bytes:
        """One model as a page that needs no server."""
        model, document = self._open(number)
        return write_page([document], histograms=summarise_all([model]))

    def take(self, path: str, name: str, body: BufferedIOBase, size: int) -> Any:
        """Does what a page sends: opens a file, starts a comparison, reads a saved one."""
        if path == "files":
            return {"model": self.add(self._uploads.open(name, body, size))}
        if self._jobs is None or path not in {"diff", "run"}:
            raise NotThere
        content = _read_object(body, size)
        if path == "run":
            return self._jobs.load(str(content.get("name", "")))
        return {"job": self._jobs.start(content.get("run"), str(content.get("save", "")))}

    def close(self) -> None:
        """Removes what was sent."""
        self._uploads.close()

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
        self._server.shown.close()


class _Server(ThreadingHTTPServer):
    """With what its handlers show, and the token that they ask for."""

    shown: Shown
    token: str
    assets: dict[str, Asset]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server
    server_version = f"edgewright/{VERSION}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._respond(self._find_content)

    def do_POST(self) -> None:
        self._respond(self._take_content)
        # What was not read of a refused body must not be taken for the next request.
        self.close_connection = True

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
        except Exception as error:
            # Without an answer the page would say only that there is none.
            log.exception("%s cannot be answered", self.path.partition("?")[0].split("/", 2)[-1])
            text = f"this is a mistake of the viewer: {error!r:.300}"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, Asset(_JSON, dump_document({"problem": text})))
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
        if self.command == "POST" and origin is None:
            return "the request does not say where it comes from"
        given = self.path.split("/", 2)[1] if self.path.startswith("/") else ""
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            return "the token is missing or wrong: open the address that was printed"
        return ""

    def _find_content(self) -> Asset:
        path = self.path.partition("?")[0].split("/", 2)
        inside = path[2] if len(path) > 2 else None
        match = _PAGE.fullmatch(inside or "")
        if match is not None:
            return Asset("text/html; charset=utf-8", self.server.shown.write_page(match[1]))
        if inside in self.server.assets:
            return self.server.assets[inside]
        if inside is None or not inside.startswith("api/"):
            raise NotThere
        return Asset(_JSON, dump_document(self.server.shown.answer(inside.removeprefix("api/"))))

    def _take_content(self) -> Asset:
        address, _, question = self.path.partition("?")
        parts = address.split("/", 3)
        if len(parts) != 4 or parts[2] != "api":
            raise NotThere
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 15:
            raise BadInput("the request does not say how long it is")
        name = parse_qs(question).get("name", [""])[0]
        return Asset(_JSON, dump_document(self.server.shown.take(parts[3], name, self.rfile, int(length))))

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


def _open_jobs(root: Path, add: Callable[[ViewModel], int]) -> "DiffJobs":
    # Only where it is asked for: converters and engines take a second to import.
    from edgewright.view.diff.jobs import DiffJobs

    return DiffJobs(root, add)


def _read_object(body: BufferedIOBase, size: int) -> dict[str, Any]:
    if size > LARGEST_RUN:
        raise BadInput(f"the request has {size} bytes, expected {LARGEST_RUN} at most")
    try:
        content = parse_json(body.read(size))
    except (ValueError, RecursionError):
        raise BadInput("the request is not JSON") from None
    if not isinstance(content, dict):
        raise BadInput("the request is no JSON object, expected one")
    return content


def _pick(items: Sequence[Any], number: str) -> Any:
    if not number.isascii() or not number.isdigit() or len(number) > 9 or int(number) >= len(items):
        raise NotThere
    return items[int(number)]
