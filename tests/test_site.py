"""The website is built from the pages of the repository, and a link that leads nowhere fails it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.live_reports import REPORTS, make_reports
from docs.site import OUTSIDE, ROOT, point_links

pytest.importorskip("zensical", reason="zensical is not installed: pip install 'edgewright[site]'")
pytestmark = pytest.mark.slow


def test_the_site_is_built_and_can_be_searched(tmp_path):
    for report in REPORTS:
        place = tmp_path / "reports" / report.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"<h1>{report.title}</h1>")
    command = [
        sys.executable,
        "-m",
        "docs.site",
        "--out",
        str(tmp_path / "site"),
        "--reports",
        str(tmp_path / "reports"),
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Two commands" in (tmp_path / "site" / "index.html").read_text("utf-8")
    for report in REPORTS:
        shown = tmp_path / "site" / "reports" / report.file.replace("/", "-")
        assert shown.read_text() == f"<h1>{report.title}</h1>"
    search = json.dumps(json.loads((tmp_path / "site" / "search.json").read_text("utf-8")))
    assert "qairt-quantizer" in search
    sources = [page.read_text("utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert not [text for text in sources if "fonts.googleapis" in text or "unpkg.com" in text]


def test_the_reports_of_the_site_are_made_by_the_commands_that_it_shows(tmp_path):
    make_reports(tmp_path)
    assert all("<html" in (tmp_path / report.file).read_text("utf-8") for report in REPORTS)
    assert 'What changed from <span class="name">out/w8a8<' in (tmp_path / "compared.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("README.md", "[a](docs/guide/build.md)", "[a](guide/build.md)"),
        ("docs/guide/build.md", "[a](../../README.md)", "[a](../index.md)"),
        ("docs/guide/build.md", "[a](report.md#what)", "[a](report.md#what)"),
        ("CONTRIBUTING.md", "[a](ARCHITECTURE.md)", "[a](architecture.md)"),
        ("examples/README.md", "[a](../docs/guide/bench.md)", "[a](../guide/bench.md)"),
        ("README.md", "[a](docs/guide)", "[a](guide/index.md)"),
        ("README.md", "[a](docs/guide/tutorials)", "[a](guide/tutorials/tour.md)"),
        ("README.md", "[a](https://a.example/b.md)", "[a](https://a.example/b.md)"),
    ],
)
def test_links_lead_from_where_the_website_has_the_page(page, link, expected):
    assert point_links(link, Path(ROOT / page)) == expected


def test_no_page_from_outside_of_docs_hides_one_of_docs():
    assert not [target for target in OUTSIDE.values() if (ROOT / "docs" / target).exists()]
