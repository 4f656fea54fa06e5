"""The website is built from the pages of the repository, and a link that leads nowhere fails it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site import ROOT, point_links

pytest.importorskip("zensical", reason="zensical is not installed: pip install 'edgewright[site]'")
pytestmark = pytest.mark.slow


def test_the_site_is_built_and_can_be_searched(tmp_path):
    report = tmp_path / "reports" / "mnist" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("<h1>a report</h1>")
    command = [
        sys.executable,
        "docs/site.py",
        "--out",
        str(tmp_path / "site"),
        "--reports",
        str(tmp_path / "reports"),
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Two commands" in (tmp_path / "site" / "index.html").read_text("utf-8")
    assert (tmp_path / "site" / "reports" / "mnist-report.html").read_text() == "<h1>a report</h1>"
    search = json.dumps(json.loads((tmp_path / "site" / "search.json").read_text("utf-8")))
    assert "qairt-quantizer" in search
    sources = [page.read_text("utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert not [text for text in sources if "fonts.googleapis" in text or "unpkg.com" in text]


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("README.md", "[a](docs/guide/build.md)", "[a](guide/build.md)"),
        ("docs/guide/build.md", "[a](../../README.md)", "[a](../index.md)"),
        ("docs/guide/build.md", "[a](report.md#what)", "[a](report.md#what)"),
        ("CONTRIBUTING.md", "[a](ARCHITECTURE.md)", "[a](architecture.md)"),
        ("README.md", "[a](https://a.example/b.md)", "[a](https://a.example/b.md)"),
    ],
)
def test_links_lead_from_where_the_website_has_the_page(page, link, expected):
    assert point_links(link, Path(ROOT / page)) == expected
