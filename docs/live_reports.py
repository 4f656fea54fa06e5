"""Makes the reports that the website shows: python docs/live_reports.py FOLDER, a minute.

Each is what its command writes about a model of examples/; nothing is drawn for the website.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["REPORTS", "make_reports"]

ROOT = Path(__file__).resolve().parents[1]
MODEL, DATA = "examples/models/mnist_cntk.onnx", "examples/data/digits.npz"


@dataclass(frozen=True)
class Report:
    """A page: its file in the folder 'out', what it shows, the words behind 'edgewright'."""

    file: str
    title: str
    words: str


REPORTS = (
    Report(
        "w8a8/report.html",
        "a build: verdict, accuracy, layers, graph, what to do",
        f"build {MODEL} --data {DATA} --target SM8650 --max-drop 3% --precision w8a8 -o out/w8a8",
    ),
    Report(
        "w4a8/report.html",
        "the same with weights of 4 bits",
        f"build {MODEL} --data {DATA} --target SM8650 --max-drop 3% --precision w4a8 -o out/w4a8",
    ),
    Report(
        "compared.html", "the two builds compared", "compare-builds out/w8a8 out/w4a8 -o out/compared.html"
    ),
    Report(
        "debug.html",
        "the accuracy debugger: which layer loses what, and why",
        f"debug {MODEL} --data {DATA} --precision w4a8 -o out/debug.html",
    ),
    Report(
        "estimate.html",
        "how fast it will be on a chip",
        f"estimate {MODEL} --target SM8650 --what-if precision=fp16 -o out/estimate.html",
    ),
    Report("profile.html", "a profile on the CPU", f"profile {MODEL} --backend cpu -o out/profile.html"),
    Report(
        "view.html",
        "the viewer: a source and what was built from it, their differences marked",
        f"view {MODEL} out/w8a8/mnist_cntk.dlc --diff --export out/view.html",
    ),
)


def make_reports(folder: Path) -> None:
    """Runs the commands one after the other, as a reader would type them; the first that fails ends it."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "examples").symlink_to(ROOT / "examples")
        for report in REPORTS:
            command = [str(Path(sys.executable).with_name("edgewright")), *report.words.split()]
            result = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            if result.returncode:
                raise SystemExit(f"edgewright {report.words} ended with {result.returncode}\n{result.stderr}")
        for report in REPORTS:
            (folder / report.file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(place) / "out" / report.file, folder / report.file)
            print(folder / report.file, flush=True)


if __name__ == "__main__":
    make_reports(Path(sys.argv[1]))
