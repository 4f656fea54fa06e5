"""The server: it answers the page that was opened with its token, and nobody else."""

import http.client
import json
from pathlib import Path

import pytest

import edgewright as ew
from edgewright.core.errors import UsageError
from edgewright.view.diff.request import DiffRun, DiffSide
from edgewright.view.page import make_assets
from edgewright.view.viewer import list_folder, start_viewer
from tests.unit.view.sample_models import HOSTILE, save_chain, save_convolution


@pytest.fixture
def viewer(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    (tmp_path / "secret.txt").write_text("secret")
    with ew.view(tmp_path / "small.onnx", open_browser=False) as shown:
        yield shown


def ask(viewer, path, headers=None, method="GET"):
    """Status, headers and body of an answer; the path is sent as it is."""
    host, port = viewer.url.split("/")[2].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
    for name, value in (headers or {}).items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def inside(viewer, path=""):
    return f"/{viewer.url.split('/')[3]}/{path}"


def test_it_listens_on_this_machine_only_and_the_token_is_long(viewer):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert len(viewer.url.split("/")[3]) >= 32


def test_the_page_and_its_parts_are_served_under_a_strict_policy(viewer):
    for name, asset in make_assets().items():
        status, headers, body = ask(viewer, inside(viewer, name))
        assert (status, headers["Content-Type"], body) == (200, asset.type, asset.content)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_models_documents_and_histograms_are_addressed_by_number(viewer):
    models = json.loads(ask(viewer, inside(viewer, "api/models"))[2])["models"]
    assert models == [{"title": "small.onnx"}]
    document = json.loads(ask(viewer, inside(viewer, "api/models/0"))[2])
    place = [tensor["name"] for tensor in document["graphs"][0]["tensors"]].index("weights")
    summary = json.loads(ask(viewer, inside(viewer, f"api/models/0/histograms/0/{place}"))[2])
    assert (summary["count"], summary["min"], summary["max"]) == (216, -1.0, 1.0)


@pytest.mark.parametrize("path", ["/", "/api/models", "/wrong/api/models", "/wrong/", "", "*", "/../x"])
def test_without_the_token_nothing_is_answered(viewer, path):
    status, _, body = ask(viewer, path)
    assert status in {400, 403}
    assert b"small.onnx" not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_origins_hosts_and_sites_are_refused_even_with_the_token(viewer, headers):
    status, _, body = ask(viewer, inside(viewer, "api/models"), headers)
    assert status == 403
    assert b"small.onnx" not in body


@pytest.mark.parametrize(
    "path",
    [
        "secret.txt",
        "../secret.txt",
        "..%2f..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "/etc/passwd",
        "api/../../../etc/passwd",
        "api/models/../../secret.txt",
        "api/models/-1",
        "api/models/1",
        "api/models/%D9%A0",
        "api/models/0/histograms/0/99",
        "api/models/0/histograms/0/0",
        "api/files/secret.txt",
        "_data/index.html",
        "app.js/../../server.py",
    ],
)
def test_no_path_leads_to_a_file(viewer, path):
    status, _, body = ask(viewer, inside(viewer, path))
    assert status == 404
    assert body == b'{"problem":"there is nothing at this address"}'


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent(viewer, method):
    assert ask(viewer, inside(viewer, "api/models"), method=method)[0] == 501


def test_a_closed_viewer_answers_no_more(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    shown = ew.view(tmp_path / "small.onnx", open_browser=False)
    shown.close()
    with pytest.raises(ConnectionRefusedError):
        ask(shown, inside(shown))


def test_an_exported_page_is_one_file_without_addresses_and_the_same_each_time(tmp_path):
    save_chain(tmp_path / "bad.onnx", HOSTILE)
    pages = [ew.view(tmp_path / "bad.onnx", export=tmp_path / f"{n}.html").read_bytes() for n in range(2)]
    assert pages[0] == pages[1]
    text = pages[0].decode()
    assert text.count("<script") == text.count("</script>") == 3
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert " src=" not in text.replace("src=x", "").split("<script")[0]


def test_an_export_needs_the_suffix_of_a_page_and_a_model(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    with pytest.raises(UsageError, match=r"expected \.html"):
        ew.view(tmp_path / "small.onnx", export=tmp_path / "page.txt")
    with pytest.raises(UsageError, match="no model"):
        ew.view()


def send(viewer, path, body, *, origin="own", length=None):
    """Sends a body as a page of the server does; status and answer."""
    host, port = viewer.url.split("/")[2].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.putrequest("POST", inside(viewer, path))
    if origin:
        connection.putheader("Origin", f"http://{host}:{port}" if origin == "own" else origin)
    connection.putheader("Content-Length", str(len(body) if length is None else length))
    connection.endheaders()
    connection.send(body)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


def test_a_file_that_is_sent_is_shown_and_gone_with_the_server(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    save_chain(tmp_path / "other.onnx", ["relu"])
    with ew.view(tmp_path / "small.onnx", open_browser=False) as viewer:
        status, answer = send(
            viewer, "api/files?name=..%2Fother.onnx", (tmp_path / "other.onnx").read_bytes()
        )
        assert (status, answer) == (200, {"model": 1})
        document = json.loads(ask(viewer, inside(viewer, "api/models/1"))[2])
        assert document["title"] == "other.onnx"
        copy = Path(dict(document["facts"])["file"])
        assert copy.is_file()
    assert not copy.exists()


@pytest.mark.parametrize(
    ("name", "body", "length", "message"),
    [
        ("model.onnx", b"nothing", None, ""),
        ("model.so", b"\x7fELF", None, "is a program"),
        ("MODEL.DLL", b"MZ", None, "is a program"),
        ("", b"x", None, "expected a name"),
        ("..", b"x", None, "expected a name"),
        ("model.onnx", b"", None, "0 bytes"),
        ("model.onnx", b"", 1 << 40, "a page takes up to"),
        ("model.onnx", b"", "-5", "how long"),
    ],
)
def test_a_file_that_is_not_fit_is_refused(viewer, name, body, length, message):
    status, answer = send(viewer, f"api/files?name={name}", body, length=length)
    assert status == 422
    assert message in answer["problem"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_nothing_is_taken_from_other_origins(viewer, tmp_path, origin):
    body = (tmp_path / "small.onnx").read_bytes()
    assert send(viewer, "api/files?name=a.onnx", body, origin=origin)[0] == 403
    assert len(json.loads(ask(viewer, inside(viewer, "api/models"))[2])["models"]) == 1


def test_without_a_folder_there_are_no_comparisons(viewer):
    assert ask(viewer, inside(viewer, "api/form"))[0] == 404
    assert send(viewer, "api/diff", b"{}")[0] == 404
    assert send(viewer, "api/nothing", b"{}")[0] == 404


def test_a_form_lists_the_files_of_its_folder_and_loads_saved_runs(tmp_path):
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    save_convolution(home / "small.onnx")
    ew.convert(home / "small.onnx").save(home / "inner" / "small.dlc")
    (home / "list.txt").write_text("")
    (tmp_path / "outside.txt").write_text("secret")
    (home / "link.txt").symlink_to(tmp_path / "outside.txt")
    (home / "my_run.json").write_bytes(
        DiffRun(one=DiffSide("inner/small.dlc", input_list="list.txt")).to_json()
    )
    with start_viewer(list_folder(home), open_browser=False, root=home) as viewer:
        form = json.loads(ask(viewer, inside(viewer, "api/form"))[2])
        assert form["models"] == ["my_run.json", "inner/small.dlc"]
        assert form["lists"] == ["list.txt"]
        assert form["verifiers"]["RtolAtol"] == {"rtolmargin": "0.01", "atolmargin": "0.01"}
        status, answer = send(viewer, "api/run", b'{"name": "my_run.json"}')
        assert status == 422
        assert "inference two" in answer["problem"]
        for name in ("../outside.txt", "link.txt", "/etc/passwd"):
            status, answer = send(viewer, "api/run", json.dumps({"name": name}).encode())
            assert status == 422
            assert "secret" not in answer["problem"]
        for body in (b"[]", b"{", b"[" * 100_000):
            assert send(viewer, "api/diff", body)[0] == 422
