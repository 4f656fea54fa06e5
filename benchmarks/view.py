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


def main() -> None:
    """Prints both figures."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        save_network(Path(folder) / "thousand.onnx", 1000)
        save_network(Path(folder) / "two_thousand.onnx", 2000)
        first = [measure_first_drawing(browser, Path(folder) / "thousand.onnx") for _ in range(ROUNDS)]
        print(f"first drawing of 1,000 nodes: median {statistics.median(first):.2f} s of {len(first)}")
        for whole in (False, True):
            steps = measure_panning(browser, Path(folder), is_whole=whole)
            p95 = statistics.quantiles(steps, n=20)[-1]
            view = "all 2,000 nodes in view" if whole else "readable size"
            middle = statistics.median(steps)
            print(f"a step of panning, {view}: median {middle:.1f} ms, p95 {p95:.1f} ms of {len(steps)}")
        browser.close()


def measure_first_drawing(browser: Browser, path: Path) -> float:
    """Seconds from the request of the page until the picture is there."""
    with _show(path) as shown:
        page = _open_page(browser, shown.url)
        milliseconds = page.evaluate("() => performance.getEntriesByName('first-drawing')[0].startTime")
        page.close()
    return float(milliseconds) / 1000


def measure_panning(browser: Browser, folder: Path, *, is_whole: bool) -> list[float]:
    """Milliseconds of script and paint for each step."""
    with _show(folder / "two_thousand.onnx") as shown:
        page = _open_page(browser, shown.url)
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


def sum_frames(events: Sequence[dict[str, Any]]) -> list[float]:
    """The processor time of each frame, which begins with its first animation callback.

    Processor time, not the clock's: what other programs take on a busy machine is not the page's.
    """
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
    return [sum(event.get("tdur", event["dur"]) for event in frame) / 1000 for frame in frames]


def _show(path: Path) -> ew.Viewer:
    shown = ew.view(path, open_browser=False)
    assert isinstance(shown, ew.Viewer)
    return shown


def _open_page(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(address)
    page.wait_for_selector("body[data-ready]", state="attached", timeout=60_000)
    page.wait_for_timeout(200)
    return page


if __name__ == "__main__":
    main()
