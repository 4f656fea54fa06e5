"""The demo: `edgewright build` on a small real network, then its files in use.

Everything is done with the command line tools, as a user would.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parent
MODEL = EXAMPLES / "models" / "mnist_cntk.onnx"
DIGITS = EXAMPLES / "data" / "digits.npz"
INPUT, CHIP, SHOWN = "Input3", "SM8650", 5


def main(folder: Path) -> int:
    """Runs all steps in a folder; a step that fails ends the demo with its exit code."""
    began = time.monotonic()
    built = folder / "mnist"
    inspect()
    build(built)
    use(folder, built)
    list_files(built)
    print(
        f"\nDone in {time.monotonic() - began:.1f} s. Open {(built / 'report.html').absolute()} in a browser."
    )
    return 0


def inspect() -> None:
    """What is in the source model?"""
    say(1, "Look at the model: a digit classifier from the ONNX model zoo")
    tool("edgewright", "inspect", MODEL)


def build(built: Path) -> None:
    """All of it in one command."""
    say(2, f"Build it for {CHIP}: the cheapest precision that loses at most three points of 100")
    tool(
        *("edgewright", "build", MODEL, "--data", DIGITS, "--target", CHIP),
        *("--max-drop", "3%", "-o", built),
    )


def use(folder: Path, built: Path) -> None:
    """The compiled model with the SDK's own tool: raw files in, raw files out."""
    say(3, f"Read {SHOWN} digits with the compiled model")
    with np.load(DIGITS) as stored:
        chosen = slice(0, None, len(stored["images"]) // SHOWN)
        images, labels = stored["images"][chosen].astype(np.float32)[:SHOWN], stored["labels"][chosen][:SHOWN]
    files = [folder / f"digit_{number}.raw" for number in range(len(images))]
    for file, image in zip(files, images, strict=True):
        image.tofile(file)
    listed = folder / "inputs.txt"
    listed.write_text("".join(f"{INPUT}:={file}\n" for file in files), "utf-8")
    binary = built / "context_binaries" / "htp_context.bin"
    results = folder / "results"
    tool(
        *("qnn-net-run", "--retrieve_context", binary, "--backend", "htp"),
        *("--input_list", listed, "--output_dir", results),
    )
    described = json.loads((results / "run.json").read_text("utf-8"))["outputs"][0]
    for number, label in enumerate(labels):
        scores = np.fromfile(results / f"Result_{number}" / described["file"], described["file_dtype"])
        print(f"  Result_{number}: digit {label} is read as {scores.argmax()}")


def list_files(built: Path) -> None:
    """What is left on disk."""
    say(4, "What was written")
    for path in sorted(built.rglob("*")):
        if path.is_file():
            print(f"  {path.stat().st_size:8d} bytes  {path}")


def say(number: int, title: str) -> None:
    """The heading of a step."""
    print(f"\n[{number}] {title}\n")


def tool(name: str, *words: object) -> None:
    """Runs a command line tool of this environment and shows the command."""
    program = Path(sys.executable).with_name(name)
    command = [name, *map(str, words)]
    print(f"  $ {shlex.join(command)}", flush=True)
    done = subprocess.run([str(program), *command[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("output", "demo")))
