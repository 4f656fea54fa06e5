"""How fast the viewer is in a real browser: python -m benchmarks.view.

The first drawing of a network of 1,000 nodes, from the request of the page to the picture; and the script and
paint of one step of panning 2,000 open nodes, from Chromium's own trace. It needs Playwright and a Chromium.
"""

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import helper
from playwright.sync_api import Browser, Page, sync_playwright

import edgewright as ew

FLAGS = ("--no-sandbox", "--disable-gpu")
ROUNDS, STEPS = 5, 120
# What the main thread does for one frame: the script, then what brings the canvas to the screen.
WORK = frozenset({"FireAnimationFrame", "PrePaint", "Paint", "Layerize", "Commit", "UpdateLayerTree"})


def save_network(path: Path, nodes: int) -> None:
    """Blocks of ten ops with a branch in each, as residual networks have them."""
    made, last = [], "image"
    for block in range(nodes // 10):
        start = last
        for place in range(9):
            name = f"stage_{block // 20}/block_{block % 20}/op_{place}"
            made.append(helper.make_node("Relu", [last], [f"{name}_out"], name=name))
            last = f"{name}_out"
        name = f"stage_{block // 20}/block_{block % 20}/add"
        made.append(helper.make_node("Add", [start, last], [f"{name}_out"], name=name))
        last = f"{name}_out"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(made, "network", [value("image", 1, [1, 64])], [value(last, 1, [1, 64])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


@dataclass(frozen=True)
class Span:
    """Milliseconds by the clock, and of the processor: what other programs take is only in the first."""

    wall: float
    processor: float


def main() -> None:
    """Prints both figures."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        save_network(Path(folder) / "thousand.onnx", 1000)
        save_network(Path(folder) / "two_thousand.onnx", 2000)
        first = [measure_first_drawing(browser, Path(folder)) for _ in range(ROUNDS)]
        _tell("first drawing of 1,000 nodes", first)
        for whole in (False, True):
            steps = measure_panning(browser, Path(folder), is_whole=whole)
            view = "all 2,000 nodes in view" if whole else "readable size"
            _tell(f"a step of panning, {view}", steps)
        browser.close()


def _tell(what: str, spans: Sequence[Span]) -> None:
    texts = []
    for name, times in (("processor", [s.processor for s in spans]), ("clock", [s.wall for s in spans])):
        p95 = statistics.quantiles(times, n=20)[-1] if len(times) >= 20 else max(times)
        texts.append(f"{name} median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")
    print(f"{what}: {'; '.join(texts)}; of {len(spans)}")


def measure_first_drawing(browser: Browser, folder: Path) -> Span:
    """From the request of the page until the picture is there; all threads of the page together."""
    trace = folder / "trace.json"
    with _show(folder / "thousand.onnx") as shown:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        browser.start_tracing(page=page, path=str(trace), categories=["toplevel", "devtools.timeline"])
        _go(page, shown.url)
        wall = page.evaluate("() => performance.getEntriesByName('first-drawing')[0].startTime")
        browser.stop_tracing()
        page.close()
    return Span(float(wall), sum_tasks(json.loads(trace.read_text())["traceEvents"]))


def sum_tasks(events: Sequence[dict[str, Any]]) -> float:
    """The processor time of all tasks of the process that runs the page's script."""
    pages = {event["pid"] for event in events if event.get("name") == "FunctionCall"}
    tasks = [e for e in events if e.get("name", "").endswith("RunTask") and "tdur" in e]
    return sum(float(event["tdur"]) for event in tasks if event["pid"] in pages) / 1000


def measure_panning(browser: Browser, folder: Path, *, is_whole: bool) -> list[Span]:
    """Script and paint for each step."""
    with _show(folder / "two_thousand.onnx") as shown:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        _go(page, shown.url)
        page.evaluate("() => edgewrightView.canvas.expandAll()")
        page.evaluate(f"() => edgewrightView.canvas.{'fitWhole' if is_whole else 'fit'}()")
        page.wait_for_timeout(500)
        trace = folder / "trace.json"
        browser.start_tracing(page=page, path=str(trace), categories=["devtools.timeline", "cc", "blink"])
        page.evaluate(
            """(steps) => new Promise((done) => {
                let left = steps;
                const step = () => {
                    edgewrightView.canvas.pan(left % 40 < 20 ? 9 : -9, -7);
                    left -= 1;
                    if (left) requestAnimationFrame(step); else done();
                };
                requestAnimationFrame(step);
            })""",
            STEPS,
        )
        browser.stop_tracing()
        page.close()
    return sum_frames(json.loads(trace.read_text())["traceEvents"])


def sum_frames(events: Sequence[dict[str, Any]]) -> list[Span]:
    """The time of each frame, which begins with its first animation callback."""
    timed = [event for event in events if event.get("name") in WORK and "dur" in event]
    threads = {event["tid"] for event in timed if event["name"] == "FireAnimationFrame"}
    frames: list[list[dict[str, Any]]] = []
    for event in sorted((e for e in timed if e["tid"] in threads), key=lambda e: e["ts"]):
        is_new = event["name"] == "FireAnimationFrame" and (
            not frames or frames[-1][-1]["name"] != "FireAnimationFrame"
        )
        if is_new or not frames:
            frames.append([])
        frames[-1].append(event)
    return [
        Span(sum(e["dur"] for e in frame) / 1000, sum(e.get("tdur", e["dur"]) for e in frame) / 1000)
        for frame in frames
    ]


def _show(path: Path) -> ew.Viewer:
    shown = ew.view(path, open_browser=False)
    assert isinstance(shown, ew.Viewer)
    return shown


def _go(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready]", state="attached", timeout=60_000)
    page.wait_for_timeout(200)


if __name__ == "__main__":
    main()
