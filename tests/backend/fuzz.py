"""Converts, runs, saves and loads damaged models, each in a child process, and says what must not have been.

python -m tests.backend.fuzz --seed 1 --count 2000 [--corpus FOLDER] [--only OP] [--tools]
"""

import argparse
import contextlib
import io
import json
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import numpy as np

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.contract import dtype_word
from edgewright.model.model import Model
from edgewright.tools.qairt_converter import main as qairt_converter
from edgewright.tools.qnn_onnx_converter import main as onnx_converter
from edgewright.tools.umbrella import main as umbrella
from tests.backend.fuzz_children import Found, in_children
from tests.backend.mutations import damaged

__all__ = ["attempt", "models", "one", "through_python", "through_tools"]

Sources = Sequence[tuple[str, bytes]]

SECONDS = 30.0
# Growth of the process that one model of a few kilobytes may cause, in KiB.
MOST_GROWTH = 1 << 20
LARGEST_SOURCE = 1 << 18
# Values that are worth running; what is larger was refused, or is meant.
LARGEST_INPUT, LARGEST_RUN = 1 << 20, 1 << 24
# 2: symbolic dimensions that a caller has to fix before a model can be saved.
CLEAN_CODES = (2, 3, 4)
# 6: inputs that this machine has no memory for.
CLEAN_EXITS = (0, *CLEAN_CODES, 6)
STORAGE = {dtype_word(dtype): dtype.numpy for dtype in DType}
SYMBOLS = (2, 2, 1, 0, 3)
CONVERTER_OPTIONS = [
    [],
    ["--preserve_io"],
    ["--float_bw", "16"],
    ["-n"],
    ["-b", "2"],
    ["--keep_disconnected_nodes"],
]


def models(corpus: Path | None = None, only: str = "") -> list[tuple[str, bytes]]:
    """Sound models to start from: ONNX's own node cases, or the files of a folder."""
    if corpus is not None:
        return [(path.name, path.read_bytes()) for path in sorted(corpus.glob("*.onnx"))]
    from onnx.backend.test.case.node import collect_testcases

    cases = ((case.name, case.model) for case in collect_testcases(None) if only in case.name)
    return [(name, model.SerializeToString()) for name, model in cases if model.ByteSize() < LARGEST_SOURCE]


def one(seed: int, index: int, sources: Sources) -> tuple[str, bytes]:
    """The damaged model of an index, and the name of the sound one."""
    random = Random(f"{seed}/{index}")
    name, data = sources[random.randrange(len(sources))]
    return name, damaged(random, data)


def through_python(data: bytes, folder: Path) -> str:
    """The whole path; returns how far it went. What a model may cause is an EdgewrightError, nothing else."""
    model = ew.convert(data)
    feed = _feed(model, SYMBOLS[len(data) % len(SYMBOLS)])
    if feed is None or _is_large(model):
        return "too large to run"
    model.run(feed, threads=1)
    if model.graph is None:
        return "ran for the values of its inputs"
    loaded = ew.load(model.save(folder / "m.cpp").net_json)
    again = _feed(loaded, 2)
    if again is not None:
        loaded.run(again, threads=1)
    return "ran, saved, loaded, ran"


def through_tools(data: bytes, folder: Path) -> str:
    """The command lines: one message, an exit code that says what happened, and nothing half written."""
    source, out = folder / "source.onnx", folder / "out"
    source.write_bytes(data)
    pick = Random(len(data))
    calls: list[tuple[Callable[[list[str]], int], list[str]]] = [
        (umbrella, ["inspect", str(source), *pick.choice([[], ["--json"]])]),
        (onnx_converter, ["-i", str(source), "-o", str(out / "m.cpp"), *pick.choice(CONVERTER_OPTIONS)]),
        (umbrella, ["convert", str(source), "-o", str(out / "n.cpp")]),
        (umbrella, ["run", str(source), "--random", "-o", str(out / "run"), "--threads", "1"]),
        (qairt_converter, ["-i", str(source), "-o", str(out / "m.dlc")]),
    ]
    return f"exit codes {[_called(main, words, out) for main, words in calls]}"


def _called(main: Callable[[list[str]], int], words: list[str], out: Path) -> int:
    shutil.rmtree(out, ignore_errors=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(words)
    text, left = said.getvalue(), [str(path) for path in out.rglob("*")]
    is_told = not code or text.count("error[") == 1
    if code not in CLEAN_EXITS or "Traceback" in text or not is_told or (code and left):
        raise AssertionError(f"{words} gave {code}, left {left}, said {text}")
    return code


def _is_large(model: Model) -> bool:
    counts = [t.count for t in model.graph.types.values()] if model.graph is not None else []
    return any(isinstance(count, int) and count > LARGEST_RUN for count in counts)


def _feed(model: Model, symbolic: int) -> dict[str, Array] | None:
    random = np.random.default_rng(0)
    feed: dict[str, Array] = {}
    for item in model.inputs:
        shape = tuple(dim if isinstance(dim, int) else symbolic for dim in item.shape)
        if np.prod([float(dim) for dim in shape]) > LARGEST_INPUT:
            return None
        dtype = STORAGE[item.dtype]
        values = np.full(shape, "a", object) if dtype.kind == "O" else random.integers(0, 3, shape)
        feed[item.name] = np.asarray(values).astype(dtype)
    return feed


def attempt(index: int, name: str, data: bytes, through: Callable[[bytes, Path], str]) -> Found:
    """One model, and whether what came is what may come."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    before, start = _peak(), time.monotonic()
    try:
        found = Found(index, "ok", through(data, folder))
    except EdgewrightError as problem:
        kind = "refused" if problem.exit_code in CLEAN_CODES else f"exit code {problem.exit_code}"
        found = Found(index, kind, f"{name}: {problem}{_cause(problem)}")
    except BaseException as problem:
        found = Found(index, "raised", f"{name}: {problem} {_place(problem)}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if found.is_clean and _peak() - before > MOST_GROWTH:
        return Found(index, "large", f"{name}: {(_peak() - before) >> 10} MiB, {found.detail}")
    took = time.monotonic() - start
    if found.is_clean and took > SECONDS / 2:
        return Found(index, "slow", f"{name}: {took:.1f} s, {found.detail}")
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cause(problem: EdgewrightError) -> str:
    """Where Python itself was surprised: worth a clearer message."""
    return "" if problem.__cause__ is None else f" CAUSE {_place(problem.__cause__)}"


def _place(problem: BaseException) -> str:
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "edgewright" in frame.filename] or list(frames)
    lines = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(ours[-3:])]
    return f"{type(problem).__name__} {' < '.join(lines)}"


def main() -> None:
    """Prints what must not be, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", action="store_true", help="through the command lines, not through Python")
    parser.add_argument("--all", action="store_true", help="print every outcome, one JSON object a line")
    parser.add_argument("--dump", type=Path, help="write the damaged model of index --first there, and stop")
    arguments = parser.parse_args()
    sources = models(arguments.corpus, arguments.only)
    if arguments.dump:
        arguments.dump.write_bytes(one(arguments.seed, arguments.first, sources)[1])
        return
    through = through_tools if arguments.tools else through_python
    counts: Counter[str] = Counter()
    indices = range(arguments.first, arguments.first + arguments.count)
    for found in in_children(
        lambda index: attempt(index, *one(arguments.seed, index, sources), through), indices, SECONDS
    ):
        counts[found.kind] += 1
        if arguments.all or not found.is_clean:
            sys.stdout.write(json.dumps(asdict(found)) + "\n")
    sys.stderr.write(f"{dict(counts)}\n")


if __name__ == "__main__":
    main()
