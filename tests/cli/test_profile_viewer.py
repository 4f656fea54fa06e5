"""qnn-profile-viewer on our logs, on genuine ones, and on files that are neither."""

import base64
import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from edgewright.artifacts.profile_log.reader import read_log
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog, to_chunks
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_profile_viewer import main

HEAD = b'{"format": "edgewright-profile", "version": 1, "level": "a", "backend": "b", "graph": "c"'
GENUINE = Path(__file__).parents[1] / "golden" / "profile" / "genuine_htp.log"


@pytest.fixture(scope="module")
def log(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (np.random.default_rng(1).random((1, 28, 28, 1), np.float32) * 255).tofile(folder / "a.raw")
    (folder / "list.txt").write_text(f"{folder / 'a.raw'}\n" * 5)
    words = ("--model", digits, "--backend", "cpu", "--input_list", folder / "list.txt")
    words = (*words, "--profiling_level", "detailed", "--output_dir", folder / "out")
    assert net_run([str(word) for word in words]) == 0
    return folder / "out" / "qnn-profiling-data_0.log"


def view(call, log, *words):
    return call(main, "--input_log", log, *words)


def written(path, *events, **told):
    path.write_bytes(b"".join(to_chunks(ProfileLog("basic", "cpu", "net", events, **told))))
    return path


def test_the_text_has_what_scripts_look_for(call, log):
    text = view(call, log).out
    assert re.search(r"Init Stats:\n-+\n    NetRun:\s+\d+ us", text)
    for word in ("Average", "Min", "Max"):
        assert re.search(
            rf"Execute Stats \({word}\):\n-+\nTotal Inference Time:\n-+\nGraph 0 \(digits\):", text
        )
    assert re.search(r"NetRun IPS \(includes IO and misc. time\): [\d.]+ inf/sec", text)
    assert re.search(r"      Convolution28:OpId_\d+: \d+ us", text)


def test_averages_are_averages_and_kernels_of_a_node_are_added(call, tmp_path):
    events = [
        ProfileEvent("NODE", 0, time, "conv:OpId_0", "BACKEND", level="SUB-EVENT", run=run, kernel=kernel)
        for run, kernel, time in ((0, "Conv", 10), (0, "Relu", 5), (1, "Conv", 20), (1, "Relu", 5))
    ]
    log = written(tmp_path / "a.log", *events, inferences=2, wall=4000)
    found = json.loads(view(call, log, "--json").out)
    (conv,) = found["execution"]
    assert (conv["average"], conv["least"], conv["most"]) == (20, 15, 25)
    assert conv["kernels"] == ["Conv", "Relu"]
    assert found["per_second"] == 500


def test_the_csv_has_the_columns_of_the_sdk_and_comes_back(call, log, tmp_path):
    assert view(call, log, "--output", tmp_path / "a.csv").code == 0
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert ",".join(rows[0]) == (
        "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier"
    )
    events = read_log(log).events
    assert [int(row[2]) for row in rows[1:]] == [event.time for event in events]
    again = read_log(tmp_path / "a.csv").events
    assert [(e.message, e.time, e.identifier) for e in again] == [
        (e.message, e.time, e.identifier) for e in events
    ]


def test_a_genuine_log_says_what_its_csv_says():
    from_log, from_csv = read_log(GENUINE), read_log(GENUINE.with_suffix(".csv"))
    told = [(e.message, e.time, e.unit, e.level, e.identifier) for e in from_log.events]
    assert told == [(e.message, e.time, e.unit, e.level, e.identifier) for e in from_csv.events]
    assert len(told) == 45
    assert from_log.inferences == 2


def test_a_genuine_log_is_shown(call):
    answer = view(call, GENUINE)
    assert "Backend (Accelerator (execute) time): 46376 us" in answer.out
    assert "      ReLU114#95:OpId_43 (cycles): 228608 cycles" in answer.out


@pytest.mark.parametrize("cut", [3, 40, 100, 905, 2000, 3907])
def test_a_genuine_log_that_is_cut_is_one_error(call, tmp_path, cut):
    (tmp_path / "cut.log").write_bytes(GENUINE.read_bytes()[:cut])
    answer = view(call, tmp_path / "cut.log")
    assert answer.code == 3
    assert "error[bad-input]" in answer.err


def test_bytes_that_were_changed_never_show_a_traceback(call, tmp_path):
    content = GENUINE.read_bytes()
    changes = np.random.default_rng(0).integers(0, len(content), 150)
    for place in changes:
        changed = bytearray(content)
        changed[place] ^= 0xFF
        (tmp_path / "changed.log").write_bytes(changed)
        assert view(call, tmp_path / "changed.log").code in {0, 3}


def test_the_trace_opens_in_perfetto(call, log, tmp_path):
    assert view(call, log, "--output", tmp_path / "a.json").code == 0
    trace = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    spans = [event for event in trace if event["ph"] == "X"]
    assert all({"pid", "tid", "ts", "dur", "name"} <= span.keys() for span in spans)
    runs = [span for span in spans if span["cat"] == "EXECUTE"]
    ops = [span for span in spans if span["cat"] == "NODE"]
    # An op lies within its run; the two clocks may differ by some microseconds.
    for op in ops:
        run = runs[op["args"].get("run", 0)]
        assert run["ts"] - 1000 <= op["ts"] <= run["ts"] + run["dur"] + 1000


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in {"src", "href"}]


def test_the_page_stands_alone_and_has_a_timeline_and_tables(call, log, tmp_path):
    assert view(call, log, "--output", tmp_path / "a.html").code == 0
    text = (tmp_path / "a.html").read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert all(source.startswith(("#", "data:")) for source in page.sources)
    assert page.tags.count("rect") >= 5
    assert page.tags.count("table") == 2
    assert "<td>Conv2d</td>" in text
    assert "314 k" in text.replace("\xa0", " ") or "157 k" in text


def test_names_from_a_log_do_not_become_html(call, tmp_path):
    event = ProfileEvent("NODE", 0, 5, "</pre><script>alert(1)</script>", "BACKEND", level="SUB-EVENT", run=0)
    log = written(tmp_path / "a.log", event)
    assert view(call, log, "--output", tmp_path / "a.html").code == 0
    assert "<script>alert" not in (tmp_path / "a.html").read_text("utf-8")


def test_a_model_as_schematic_adds_op_types_and_macs(call, log, digits, tmp_path):
    bare = read_log(log)
    events = [
        ProfileEvent(e.message, e.start, e.time, e.identifier, e.source, e.unit, e.level) for e in bare.events
    ]
    path = written(tmp_path / "bare.log", *events)
    assert all(not item["op"] for item in json.loads(view(call, path, "--json").out)["execution"])
    found = json.loads(view(call, path, "--json", "--schematic", digits).out)["execution"]
    assert any(item["op"] == "Conv2d" and item["macs"] > 100_000 for item in found)


def test_a_schematic_of_the_sdk_is_refused_with_the_way(call, log, tmp_path):
    (tmp_path / "s.bin").write_bytes(b"\0" * 64)
    answer = view(call, log, "--schematic", tmp_path / "s.bin")
    assert answer.code == 3
    assert "give the _net.json or DLC that was run" in answer.err


def test_opaque_objects_become_files(call, tmp_path):
    data = base64.b64encode(b"trace of the backend").decode()
    event = ProfileEvent("EXECUTE", 0, 20, "engine trace", "BACKEND", "OBJECT", data=data)
    log = written(tmp_path / "a.log", event)
    answer = view(call, log, "--extract_opaque_objects")
    (found,) = tmp_path.glob("*.bin")
    assert found.read_bytes() == b"trace of the backend"
    assert f"wrote {found}" in answer.out


def test_options_that_find_nothing_to_do_say_so(call, log):
    answer = view(call, log, "--extract_opaque_objects", "--reader", "csv")
    assert answer.code == 0
    assert "the log holds no opaque objects" in answer.err
    assert "without --output these options have no effect: --reader" in answer.err


@pytest.mark.parametrize("reader", ["/no/such/libReader.so", "libNobodysReader.so"])
def test_a_reader_that_is_not_there_is_an_error_even_without_output(call, log, reader):
    answer = view(call, log, "--reader", reader)
    assert (answer.code, f"reader '{reader}' does not exist" in answer.err) == (3, True)


def test_a_log_of_ours_that_is_cut_is_called_so(call, log, tmp_path):
    (tmp_path / "cut.log").write_bytes(Path(log).read_bytes()[:200])
    answer = view(call, tmp_path / "cut.log")
    assert (answer.code, "the log is truncated or damaged" in answer.err) == (3, True)


def test_a_reader_of_ones_own_is_said_to_be_code_and_run(call, log, tmp_path):
    (tmp_path / "mine.py").write_text("def read(log):\n    return f'{log.graph}: {len(log.events)} events'\n")
    answer = view(call, log, "--reader", tmp_path / "mine.py", "--output", tmp_path / "a.txt")
    assert answer.code == 0
    assert "mine.py is code: it is run now" in answer.err
    assert (tmp_path / "a.txt").read_text().startswith("digits: ")


@pytest.mark.parametrize(
    ("reader", "code", "why"),
    [
        ("libMyReader.so", 4, "is a compiled library, whose interface is not public"),
        ("nonsense", 2, "expected csv, trace, html or a Python file"),
        ("broken.py", 3, "the reader failed: ZeroDivisionError"),
        ("odd.py", 3, "returned int, expected bytes or text"),
        ("libQnnChrometraceProfilingReader.so", 0, ""),
        ("gone/libQnnChrometraceProfilingReader.so", 3, "does not exist"),
        ("gone/mine.py", 3, "does not exist"),
    ],
)
def test_other_readers_are_answered_clearly(call, log, tmp_path, reader, code, why):
    (tmp_path / "broken.py").write_text("def read(log):\n    return 1 / 0\n")
    (tmp_path / "odd.py").write_text("def read(log):\n    return 1\n")
    for name in ("libMyReader.so", "nonsense", "libQnnChrometraceProfilingReader.so"):
        (tmp_path / name).touch()
    answer = view(call, log, "--reader", tmp_path / reader, "--output", tmp_path / "a.txt")
    assert (answer.code, why in answer.err) == (code, True)
    assert (tmp_path / "a.txt").exists() == (code == 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"format": "edgewright-profile", "version": 2}',
        HEAD + b"}",
        b"Msg Timestamp,Message\n1,2\n",
        b"\xff" * 300,
        b"[" * 100_000,
        HEAD + b', "events": [{"message": 3}]}',
        HEAD + b', "events": [], "wall": 1' + b"0" * 400 + b"}",
        HEAD
        + b', "events": [{"message": "EXECUTE", "start": 0, "time": 1'
        + b"0" * 400
        + b', "identifier": ""}]}',
    ],
)
def test_what_is_no_log_is_one_error(call, tmp_path, content):
    (tmp_path / "a.log").write_bytes(content)
    answer = view(call, tmp_path / "a.log")
    assert (answer.code, "error[bad-input]" in answer.err) == (3, True)


def test_an_unknown_ending_lists_the_known_ones(call, log, tmp_path):
    answer = view(call, log, "--output", tmp_path / "a.xyz")
    assert answer.code == 2
    assert "expected .csv, .json, .html" in answer.err


def test_the_level_backend_keeps_the_trace_of_the_engine(call, digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.zeros((1, 28, 28, 1), np.float32).tofile("a.raw")
    Path("list.txt").write_text("a.raw\n")
    words = (
        "--model",
        digits,
        "--backend",
        "cpu",
        "--input_list",
        "list.txt",
        "--profiling_level",
        "backend",
    )
    assert call(net_run, *words).code == 0
    answer = view(call, "output/qnn-profiling-data_0.log", "--extract_opaque_objects")
    (found,) = Path("output").glob("*engine_trace*.bin")
    assert f"wrote {found}" in answer.out
    assert any(event.get("cat") == "Node" for event in json.loads(found.read_bytes()))
    assert "engine trace" not in answer.out.replace(str(found), "")
