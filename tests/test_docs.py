"""Every shell and Python block of README, the guide and the tutorials runs, one after another, as printed."""

import html
import linecache
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.tools.umbrella import COMMANDS
from tests.optional import page_params
from tests.unit.llm.checkpoints import write_checkpoint

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
# Its commands need a device: tests/cli/test_devices.py runs them on one.
PAGES = [page for page in PAGES if page.stem != "remote"]
TUTORIALS = sorted((ROOT / "docs" / "guide" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^(?:<!-- not run: ([^\n]+) -->\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Blocks that only show something.
SHOWN = frozenset({"", "json", "yaml", "text"})
COMMAND = re.compile(r"^(edgewright|qnn-\S+|qairt-\S+|envcheck|make|pip|git) ", re.MULTILINE)
MOST_NOT_RUN = 7
# Pages whose examples build, sweep or evaluate for longer than the rest: 'make test-rest' runs them.
LONG = frozenset({"build", "check", "coming-from", "evaluate", "mixed-precision", "sweep"})


@dataclass(frozen=True)
class Block:
    """A block of code: its language, and why it cannot run in a test."""

    language: str
    code: str
    not_run: str


def read_blocks(page: Path) -> Iterator[Block]:
    for reason, language, code in BLOCK.findall(page.read_text("utf-8")):
        yield Block(language, code, reason)


class Reader:
    """Someone who types the blocks of a page into one Python session and one shell session."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._names = folder, {"__name__": "page"}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "HOME": str(folder)}

    def run(self, block: Block, title: str) -> None:
        if block.language == "python":
            # The source of a class can be looked up then, as torch.jit.script does.
            linecache.cache[title] = (len(block.code), None, block.code.splitlines(keepends=True), title)
            exec(compile(block.code, title, "exec"), self._names)
        elif block.language == "sh":
            self._run_shell(block.code)

    def _run_shell(self, code: str) -> None:
        stored = self._folder / ".environment"
        ended = subprocess.run(
            ["bash", "-c", f"set -eo pipefail\n{code}\nenv -0 > '{stored}'"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == 0, f"{code}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
        pairs = (item.partition("=") for item in stored.read_text().split("\0") if item)
        self._environment = {name: value for name, _, value in pairs}


@pytest.fixture(scope="session")
def readers_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages take a reader to have: models, samples and lists of them."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", folder / "examples")
    models = {
        "model.onnx": "mnist_cntk.onnx",
        "model.tflite": "mnist_dscnn_int8.tflite",
        "model.pb": "mnist_cnn_fakequant_frozen.pb",
    }
    for name, example in models.items():
        shutil.copy(ROOT / "examples" / "models" / example, folder / name)
    with zipfile.ZipFile(ROOT / "tests/unit/frontends/tensorflow/models.zip") as stored:
        members = [name for name in stored.namelist() if name.startswith("saved/")]
        stored.extractall(folder, members)
    (folder / "saved").rename(folder / "saved_model")
    digits = np.load(ROOT / "examples/data/digits.npz")["images"][::10, None, None].astype(np.float32)
    (folder / "samples").mkdir()
    names = [f"samples/{number:02}.raw" for number in range(len(digits))]
    for name, digit in zip(names, digits, strict=True):
        digit.tofile(folder / name)
    (folder / "inputs.txt").write_text("".join(f"{name}\n" for name in names[:5]))
    ew.quantize(folder / "model.onnx", digits[:10], act_quantizer="tf").save(folder / "model.dlc")
    write_checkpoint(folder / "phi")
    np.save(folder / "book.npy", np.random.default_rng(0).integers(0, 96, 2000))
    np.save(folder / "judge.npy", np.random.default_rng(1).integers(0, 96, 2000))
    return folder


def run_page(page: Path, folder: Path) -> None:
    blocks = [block for block in read_blocks(page) if not block.not_run]
    commands = "".join(block.code for block in blocks if block.language == "sh")
    if "qnn-model-lib-generator" in commands and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler: install g++ or clang++")
    if re.search("edgewright check|import onnxruntime_qnn", commands) and find_libraries() is None:
        pytest.skip("the wheel onnxruntime-qnn is not installed")
    reader = Reader(folder)
    for number, block in enumerate(blocks, 1):
        reader.run(block, f"{page.name}, block {number}")


@pytest.mark.skipif(sys.platform != "linux", reason="the pages are for a POSIX shell")
@pytest.mark.parametrize("page", page_params(PAGES, slow=LONG))
def test_the_blocks_of_a_page_run(
    page: Path, readers_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(readers_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the tutorials are for a POSIX shell")
@pytest.mark.parametrize("page", page_params(TUTORIALS))
def test_a_tutorial_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)


def test_every_block_runs_or_says_why_not() -> None:
    blocks = [block for page in [*PAGES, *TUTORIALS] for block in read_blocks(page)]
    for block in blocks:
        assert block.language in {"python", "sh", *SHOWN}, (
            f"{block.language} blocks do not run:\n{block.code}"
        )
        assert block.language == "sh" or not COMMAND.search(block.code), f"sh is missing:\n{block.code}"
    assert len([block for block in blocks if block.not_run]) <= MOST_NOT_RUN


def test_readme_lists_every_command() -> None:
    (listed,) = re.findall(r"`edgewright ([^`]*\|[^`]*)`", (ROOT / "README.md").read_text("utf-8"))
    assert set(listed.split(" | ")) == set(COMMANDS)


def test_readme_gives_the_figures_of_the_reference() -> None:
    readme = (ROOT / "README.md").read_text("utf-8").replace(",", "")
    for page, count in (("onnx-node-suite.md", 3), ("ops.md", 3)):
        text = (ROOT / "docs/reference" / page).read_text("utf-8").partition("\n# ")[2]
        figures = re.findall(r"\d+", text)[:count]
        (row,) = re.findall(rf"^\|.*reference/{page}.*$", readme, re.MULTILINE)
        assert re.findall(r"\d+", row)[:count] == figures, f"README has other figures than {page}"


@pytest.mark.parametrize(
    ("row", "page", "line"),
    [
        ("CPU backend over", "benchmarks", r"^As converted: geometric mean (\S+) "),
        ("CPU backend over", "benchmarks", r"^Loaded from net.json: geometric mean (\S+) "),
        ("architectures of timm", "architectures", r"^Of (\d+) architectures (\d+) compile and run, (\d+) "),
        (
            "networks of all kinds",
            "conformance",
            r"^(\d+) networks, (\d+) entries: (\d+) right, (\d+) refused",
        ),
        ("verdicts against", "builds", r"^(\d+) of (\d+) builds took"),
        ("simulation against", "benchmarks", r"^(\d+) of (\d+) have the emulator's integers"),
        ("latency estimates", "latency", r"^\| fp16 \| \d+ \| (\d+)% "),
        ("latency estimates", "latency", r"^\| w8a8 \| \d+ \| (\d+)% "),
    ],
)
def test_readme_gives_the_figures_of_the_pages_that_measure(row: str, page: str, line: str) -> None:
    (said,) = re.findall(rf"^\| {row}.*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    measured = re.search(line, (ROOT / "docs" / f"{page}.md").read_text("utf-8"), re.MULTILINE)
    assert measured
    assert [figure for figure in measured.groups() if figure not in said] == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *TUTORIALS, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_first_page_of_the_guide_leads_to_every_other() -> None:
    guide = ROOT / "docs" / "guide"
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", (guide / "index.md").read_text("utf-8")))
    pages = {str(page.relative_to(guide)) for page in guide.rglob("*.md")}
    assert pages - {"index.md"} == listed


def test_every_example_is_listed_with_where_it_comes_from() -> None:
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    files = [file for folder in ("models", "data") for file in (ROOT / "examples" / folder).iterdir()]
    assert [file.name for file in files if f"| `{file.parent.name}/{file.name}` |" not in listed] == []


def test_the_moving_picture_shows_the_tour_as_it_is() -> None:
    """A command that was changed on the page and not drawn again is noticed."""
    picture = html.unescape((ROOT / "docs/images/tour.svg").read_text("utf-8"))
    blocks = list(read_blocks(ROOT / "docs/guide/tutorials/tour.md"))
    typed = [line.strip() for block in blocks for line in block.code.splitlines()]
    missing = [line for line in typed if line not in picture]
    assert blocks
    assert not missing, f"run python docs/tour_picture.py: {missing}"
