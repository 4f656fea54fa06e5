"""Fuzzes the readers: `python -m tests.fuzz.run FORMAT --executions 20000`, guided by coverage.

Every execution must end in a result or in one of our errors, within seconds of processor time and 2 GB, and
reading must write, start or load nothing. What does otherwise is kept in tests/fuzz/found/FORMAT, and belongs
into tests/fuzz/corpus once it is mended. A crash of the process, a hang in native code and too much memory
end the run: the file that was read last is kept.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import record

HERE = Path(__file__).parent
FOUND = HERE / "found"
MEMORY_MB = 2048
# Seconds without an execution that ends. They are counted while this process runs, not read off the clock:
# a machine that was suspended, or both processes stopped, is no hang.
LONGEST_SILENCE = 120
_READERS = [
    "edgewright.frontends",
    "edgewright.artifacts",
    "edgewright.data",
    "edgewright.config",
    "edgewright.core",
    "edgewright.llm.load",
    "edgewright.llm.npu.manifest",
    "edgewright.backends.saver",
    "edgewright.build.compare_builds",
    "edgewright.model.stored_graphs",
    "edgewright.ir.text_reader",
    "edgewright.run.backend_library",
]


def main() -> int:
    """Runs the formats that are named, or all of them, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="stop a format after so many seconds")
    parser.add_argument("--record", action="store_true", help="write the counts to docs/security.md")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return fuzz_format(given.formats[0], given.inside, given)
    from tests.fuzz.formats import FORMATS

    return max(_run_apart(name, given) for name in given.formats or FORMATS)


def _run_apart(name: str, given: argparse.Namespace) -> int:
    """One format in a process of its own; says what was counted, as a line of JSON."""
    # On a disk, a file that is written again and again costs more than reading it does.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz", dir=memory) as folder:
        code, said = _watch(name, given, Path(folder))
        file = Path(folder) / "record.json"
        counted = json.loads(file.read_text()) if file.exists() else {"format": name, "executions": 0}
        if code:
            counted["ended"] = f"exit code {code}: {said[-1500:]}"
            _keep_last(name, Path(folder))
    sys.stdout.write(json.dumps(counted) + "\n")
    sys.stdout.flush()
    is_bad = bool(code or counted.get("problems"))
    if given.record and not is_bad:
        record.add(counted, given.seed)
    return int(is_bad)


def _watch(name: str, given: argparse.Namespace, folder: Path) -> tuple[int, str]:
    """Waits for the process of a format; one that no longer ends executions is killed."""
    words = [name, "--executions", str(given.executions), "--seed", str(given.seed)]
    words += ["--seconds", str(given.seconds), "--inside", str(folder)]
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.run", *words]
    file, silence, before = folder / "record.json", 0, ""
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        while process.poll() is None:
            time.sleep(1)
            now = file.read_text() if file.exists() else ""
            # Until the first execution seeds are made and modules are imported, which has no limit.
            silence = 0 if now != before or not now else silence + 1
            before = now
            if silence > LONGEST_SILENCE:
                process.kill()
        said.seek(0)
        return process.returncode, said.read()


def _keep_last(name: str, folder: Path) -> None:
    (FOUND / name).mkdir(parents=True, exist_ok=True)
    for path in (folder / "file").glob("*"):
        if path.is_file():
            shutil.copy(path, FOUND / name / f"last-{path.name}")


def fuzz_format(name: str, folder: Path, given: argparse.Namespace) -> int:
    """Fuzzes one format, with files in a folder."""
    from random import Random

    import atheris

    # What is imported inside is watched: libFuzzer keeps what reaches new code.
    with atheris.instrument_imports(include=_READERS, enable_loader_override=False):
        from tests.fuzz.formats import FORMATS
        from tests.fuzz.watch import Watch

        chosen = FORMATS[name]
        watch = Watch(chosen, folder, FOUND / name)
        seeds = list(chosen.seeds().values())
        sound = [content for content in seeds if watch.try_seed(content)]
    _lay_out(seeds, folder / "corpus")

    def change(data: bytes, size: int, number: int) -> bytes:
        # Half of the damage is done to sound files: changes upon changes end in rubbish.
        random = Random(number)
        return chosen.change(random, random.choice(sound) if random.random() < 0.5 else data)[:size]

    words = [f"-runs={given.executions}", f"-seed={given.seed}", f"-rss_limit_mb={MEMORY_MB}"]
    words += ["-timeout=1000000", "-verbosity=0", "-max_len=65536", "-print_final_stats=0"]
    words += [f"-artifact_prefix={watch.found}/"]
    words += [f"-max_total_time={given.seconds}"] if given.seconds else []
    atheris.Setup([sys.argv[0], *words, str(folder / "corpus")], watch.execute, custom_mutator=change)
    watch.begin()
    atheris.Fuzz()
    return 0


def _lay_out(seeds: list[bytes], folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, content in enumerate(seeds):
        (folder / str(number)).write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
