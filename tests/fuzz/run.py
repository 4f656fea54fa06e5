"""Fuzzes the readers: `python -m tests.fuzz.run FORMAT --executions 20000`, guided by coverage.

Every execution must end in a result or in one of our errors, within seconds and 2 GB. What does not is kept
in tests/fuzz/found/FORMAT, and belongs into tests/fuzz/corpus once it is mended. A crash of the process, a
hang in native code and too much memory end the run: libFuzzer writes the file.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType

HERE = Path(__file__).parent
SECONDS = 20
MEMORY_MB = 2048
_READERS = [
    "edgewright.frontends",
    "edgewright.artifacts",
    "edgewright.data",
    "edgewright.config",
    "edgewright.core",
]


class Hang(BaseException):
    """An execution took too long."""


def main() -> int:
    """Runs the formats that are named, or all of them, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="stop a format after so many seconds")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return fuzz_format(given.formats[0], given.inside, given.executions, given.seed, given.seconds)
    from tests.fuzz.formats import FORMATS

    return max(_run_apart(name, given) for name in given.formats or FORMATS)


def _run_apart(name: str, given: argparse.Namespace) -> int:
    """One format in a process of its own; says what was counted, as a line of JSON."""
    words = [
        name,
        "--executions",
        str(given.executions),
        "--seed",
        str(given.seed),
        "--seconds",
        str(given.seconds),
    ]
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.run", *words, "--inside", folder]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        file = Path(folder) / "record.json"
        record = json.loads(file.read_text()) if file.exists() else {"format": name, "executions": 0}
    if done.returncode:
        record["ended"] = f"exit code {done.returncode}: {done.stderr[-1500:]}"
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
    return int(bool(done.returncode or record.get("problems")))


def fuzz_format(name: str, folder: Path, executions: int, seed: int, seconds: int) -> int:
    """Fuzzes one format, with files in a folder."""
    import atheris

    # What is imported inside is watched: libFuzzer keeps what reaches new code.
    with atheris.instrument_imports(include=_READERS, enable_loader_override=False):
        from tests.fuzz.formats import FORMATS

        chosen = FORMATS[name]
        _lay_out_seeds(chosen.seeds(), folder / "corpus")
        _warm_up(chosen, folder)
    watch = Watch(name, folder)
    signal.signal(signal.SIGALRM, _ring)

    def execute(data: bytes) -> None:
        watch.execute(chosen, data)

    def change(data: bytes, size: int, number: int) -> bytes:
        return chosen.change(Random(number), data)[:size]

    words = [
        f"-runs={executions}",
        f"-seed={seed}",
        f"-rss_limit_mb={MEMORY_MB}",
        "-timeout=60",
        "-verbosity=0",
    ]
    words += [
        f"-artifact_prefix={watch.found}/",
        "-max_len=65536",
        "-print_final_stats=0",
        *([f"-max_total_time={seconds}"] if seconds else []),
    ]
    watch.found.mkdir(parents=True, exist_ok=True)
    atheris.Setup([sys.argv[0], *words, str(folder / "corpus")], execute, custom_mutator=change)
    atheris.Fuzz()
    return 0


class Watch:
    """Counts executions, and keeps those that did not end as they must."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        self.found = HERE / "found" / name
        self.counts: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self._start = time.monotonic()
        (folder / "file").mkdir()

    def execute(self, chosen: object, data: bytes) -> None:
        """One file, read."""
        from edgewright.core.errors import EdgewrightError

        path = self._folder / "file" / chosen.file  # type: ignore[attr-defined]
        path.write_bytes(data)
        signal.alarm(SECONDS)
        try:
            chosen.read(path)  # type: ignore[attr-defined]
            self.counts["read"] += 1
        except EdgewrightError:
            self.counts["refused"] += 1
        except (Exception, Hang) as problem:
            self._keep(data, problem)
        finally:
            signal.alarm(0)
        # libFuzzer ends the process itself, at any time: the record is always up to date.
        self._record()

    def _record(self) -> None:
        took = time.monotonic() - self._start
        total = sum(self.counts.values()) + sum(self.problems.values())
        record = {
            "format": self.name,
            "executions": total,
            **self.counts,
            "seconds": round(took),
            "problems": dict(self.problems),
        }
        (self._folder / "record.json").write_text(json.dumps(record))

    def _keep(self, data: bytes, problem: BaseException) -> None:
        frames = [f for f in traceback.extract_tb(problem.__traceback__) if "edgewright" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        key = f"{type(problem).__name__} at {place}: {str(problem)[:80]}"
        short = f"{type(problem).__name__}-{place}"
        if key.partition(": ")[0] not in self.problems:
            digest = hashlib.sha256(data).hexdigest()[:12]
            (self.found / f"{short.replace(':', '_')}-{digest}").write_bytes(data)
            key_text = "".join(traceback.format_exception(problem)[-6:])
            (self.found / f"{short.replace(':', '_')}-{digest}.txt").write_text(key_text)
        self.problems[key.partition(": ")[0]] += 1


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise Hang(f"more than {SECONDS} s")


def _lay_out_seeds(seeds: object, folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, content in enumerate(seeds.values()):  # type: ignore[attr-defined]
        (folder / str(number)).write_bytes(content)


def _warm_up(chosen: object, folder: Path) -> None:
    """Reads a sound file once, so that everything is imported, and watched."""
    from edgewright.core.errors import EdgewrightError

    (folder / "warm").mkdir()
    for content in list(chosen.seeds().values())[:3]:  # type: ignore[attr-defined]
        path = folder / "warm" / chosen.file  # type: ignore[attr-defined]
        path.write_bytes(content)
        try:
            chosen.read(path)  # type: ignore[attr-defined]
        except EdgewrightError:
            continue


if __name__ == "__main__":
    sys.exit(main())
