"""Draws docs/images/view.png, the picture in the guide: python docs/view_picture.py MODEL.

It is the viewer itself in a real browser: Chromium, driven by Playwright (pip install 'edgewright[browser]').
"""

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import edgewright as ew

PICTURE = Path(__file__).resolve().parent / "images" / "view.png"
GAP = 16
PREPARE = """async () => {
    const app = edgewrightView;
    document.getElementById("overlay").value = "1";
    app.chooseOverlay(1);
    app.goToDifference(1);
    app.goToDifference(1);
}"""


def main(model: str) -> None:
    """A wide page in light beside a narrow one in dark, both coloured by MACs."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    shown = ew.view(model, open_browser=False)
    assert isinstance(shown, ew.Viewer)
    with shown, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        left, right = _take(browser, shown.url, 1200, "light"), _take(browser, shown.url, 390, "dark")
        browser.close()
    both = Image.new("RGB", (left.width + GAP + right.width, left.height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + GAP, 0))
    small = both.resize((both.width * 3 // 4, both.height * 3 // 4), Image.Resampling.LANCZOS)
    small.quantize(128, method=Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


def _take(browser: Browser, address: str, width: int, scheme: str) -> Image.Image:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("body[data-ready]", state="attached", timeout=60_000)
    page.evaluate(PREPARE)
    page.wait_for_timeout(500)
    return Image.open(io.BytesIO(page.screenshot()))


if __name__ == "__main__":
    main(sys.argv[1])
