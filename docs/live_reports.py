"""Makes the reports that the website shows: python docs/live_reports.py FOLDER, a minute.

Each is what its command writes about a model of examples/; nothing is drawn for the website.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["REPORTS", "make_reports"]

ROOT = Path(__file__).resolve().parents[1]
MODEL, DATA = "examples/models/mnist_cntk.onnx", "examples/data/digits.npz"


@dataclass(frozen=True)
class Report:
    """A page: its file, what it shows, the words behind 'edgewright'; {} is the folder."""

    file: str
    title: str
    words: str


REPORTS = (
    Report(
        "w8a8/report.html",
        "a build: verdict, accuracy, layers, graph, what to do",
        f"build {MODEL} --data {DATA} --target SM8650 --max-drop 3% --precision w8a8 -o {{}}/w8a8",
    ),
    Report(
        "w4a8/report.html",
        "the same with weights of 4 bits",
        f"build {MODEL} --data {DATA} --target SM8650 --max-drop 3% --precision w4a8 -o {{}}/w4a8",
    ),
    Report("compared.html", "the two builds compared", "compare-builds {}/w8a8 {}/w4a8 -o {}/compared.html"),
    Report(
        "debug.html",
        "the accuracy debugger: which layer loses what, and why",
        f"debug {MODEL} --data {DATA} --precision w4a8 -o {{}}/debug.html",
    ),
    Report(
        "estimate.html",
        "how fast it will be on a chip",
        f"estimate {MODEL} --target SM8650 --what-if precision=fp16 -o {{}}/estimate.html",
    ),
    Report("profile.html", "a profile on the CPU", f"profile {MODEL} --backend cpu -o {{}}/profile.html"),
    Report(
        "view.html",
        "the viewer: a source and what was built from it, their differences marked",
        f"view {MODEL} {{}}/w8a8/mnist_cntk.dlc --diff --export {{}}/view.html",
    ),
)


def make_reports(folder: Path) -> None:
    """Runs the commands one after the other; the first that fails ends it with what it said."""
    for report in REPORTS:
        words = [word.replace("{}", str(folder.resolve())) for word in report.words.split()]
        command = [str(Path(sys.executable).with_name("edgewright")), *words]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"edgewright {' '.join(words)} ended with {result.returncode}\n{result.stderr}")
        print(folder / report.file, flush=True)


if __name__ == "__main__":
    make_reports(Path(sys.argv[1]))
