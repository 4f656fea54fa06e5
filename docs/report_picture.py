"""Draws docs/images/report.png, the picture in the README: python docs/report_picture.py REPORT.html.

It is a real report in a real browser: Chromium, driven by Playwright (pip install 'edgewright[browser]').
"""

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
WIDTH, HEIGHT, GAP = 1080, 1330, 20


def main(report: str) -> None:
    """The top of the page in light, beside its layers and tensors in dark."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        left = _taken(browser, report, "light", "#summary")
        right = _taken(browser, report, "dark", "#layers")
        browser.close()
    both = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), "white")
    both.paste(left, (0, 0))
    both.paste(right, (WIDTH + GAP, 0))
    small = both.resize((both.width * 2 // 3, both.height * 2 // 3), Image.Resampling.LANCZOS)
    # 256 colours: a fraction of the size, and the few that tell lines apart are kept.
    small.quantize(256, method=Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


def _taken(browser: Browser, report: str, scheme: str, place: str) -> Image.Image:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
    page.goto(Path(report).resolve().as_uri())
    page.wait_for_function("document.body.dataset.ready", timeout=60_000)
    page.add_style_tag(content="html { scroll-behavior: auto; scroll-padding-top: 1.5rem; }")
    page.evaluate(f"document.querySelector('{place}').scrollIntoView()")
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot()))


if __name__ == "__main__":
    main(sys.argv[1])
