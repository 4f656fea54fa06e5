"""Makes small changes to modules, one at a time, and says which of them the tests beside the module miss.

python -m tests.mutation.run [--survivors] [--jobs N]: writes survivors.txt here and docs/mutation.md.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.coverage_map import MARKS, CoverageMap, record
from tests.mutation.mutants import LINES_PER_MUTANT, Mutant, sample_mutants

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "edgewright"
SURVIVORS = Path(__file__).with_name("survivors.txt")
PAGE = ROOT / "docs" / "mutation.md"
UNIT = ROOT / "tests" / "unit"
# The tests beside each package; ops have those of the ONNX frontend that bear the name of their family, too.
PACKAGES = {name: [f"tests/unit/{name}"] for name in ("ops", "passes", "quantize", "lower")}
PACKAGES["ops"] += [
    f"tests/unit/frontends/onnx/{path.name}"
    for path in sorted((UNIT / "frontends" / "onnx").glob("test_*.py"))
    if (SOURCE / "ops" / f"{path.stem.split('_')[1]}.py").exists()
]
# A change that makes an endless loop counts as noticed.
PATIENCE = 240
# Nor may it take the machine's memory.
MOST_MEMORY = 12 << 30
EQUIVALENT = "  # the same: "
HEAD = (
    "| package | changes | noticed | survived | of these without effect | score |",
    "|---|---|---|---|---|---|",
)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def run_tests(source: Path, tests: list[str]) -> bool:
    """Whether tests pass with the package in a folder."""
    words = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-m", MARKS)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            preexec_fn=limit_memory,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


class Workers:
    """Copies of the sources, one for each job, so that jobs do not see each other's changes."""

    def __init__(self, folder: Path, jobs: int, coverage: CoverageMap) -> None:
        self._coverage = coverage
        self._free: SimpleQueue[Path] = SimpleQueue()
        for index in range(jobs):
            shutil.copytree(
                SOURCE, folder / str(index) / "edgewright", ignore=shutil.ignore_patterns("__pycache__")
            )
            self._free.put(folder / str(index))

    def survives(self, mutant: Mutant) -> bool:
        """Whether no test notices a change."""
        package = mutant.module.relative_to(SOURCE).parts[0]
        tests = self._coverage.tests_of(mutant.module, mutant.line, PACKAGES[package])
        source = self._free.get()
        path = source / SOURCE.name / mutant.module.relative_to(SOURCE)
        path.write_text(mutant.code, "utf-8")
        try:
            survived = run_tests(source, tests)
        finally:
            shutil.copyfile(mutant.module, path)
            self._free.put(source)
        print(f"{'SURVIVED' if survived else 'noticed '} {mutant.describe(SOURCE)}", flush=True)
        return survived


def read_survivors() -> dict[str, str]:
    """Descriptions of survivors, with the reason where it is known why nothing could notice them."""
    lines = SURVIVORS.read_text("utf-8").splitlines() if SURVIVORS.exists() else []
    return {text: why for text, _, why in (line.partition(EQUIVALENT) for line in lines if line)}


def write_results(survivors: list[Mutant], counts: Counter[str]) -> None:
    """The list of survivors, and the page with the score of each package."""
    reasons, names = read_survivors(), sorted({mutant.describe(SOURCE) for mutant in survivors})
    lines = [f"{name}{EQUIVALENT}{reasons[name]}" if reasons.get(name) else name for name in names]
    SURVIVORS.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = []
    for package in PACKAGES:
        mine = [name for name in names if name.startswith(f"{package}/")]
        rows.append((package, counts[package], len(mine), sum(bool(reasons.get(name)) for name in mine)))
    rows.append(("together", *(sum(row[place] for row in rows) for place in (1, 2, 3))))
    table = []
    for name, total, lost, same in rows:
        score = 100 * (total - lost) / (total - same)
        table.append(f"| {name} | {total} | {total - lost} | {lost} | {same} | {score:.1f} % |")
    preface = re.split(r"\| package \||No full run", PAGE.read_text("utf-8"))[0]
    PAGE.write_text("\n".join([preface.rstrip(), "", *HEAD, *table, ""]), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--survivors", action="store_true", help="only those recorded, write nothing")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    modules = [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]
    mutants = [mutant for module in modules for mutant in sample_mutants(module, SOURCE)]
    known = read_survivors()
    if arguments.survivors:
        mutants = [mutant for mutant in mutants if mutant.describe(SOURCE) in known]
    print(f"{len(mutants)} changes, one for {LINES_PER_MUTANT} lines of {len(modules)} modules", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        data = Path(folder) / "coverage"
        folders = [place for places in PACKAGES.values() for place in places]
        if not record(data, SOURCE, folders, arguments.jobs):
            print("the tests fail without any change: nothing can be said")
            return 1
        workers = Workers(Path(folder), arguments.jobs, CoverageMap(data))
        survived = [*pool.map(workers.survives, mutants)]
    survivors = [mutant for mutant, is_alive in zip(mutants, survived, strict=True) if is_alive]
    if not arguments.survivors:
        write_results(survivors, Counter(mutant.module.relative_to(SOURCE).parts[0] for mutant in mutants))
    new = [mutant.describe(SOURCE) for mutant in survivors if mutant.describe(SOURCE) not in known]
    print("\n".join([f"{len(survivors)} of {len(mutants)} survived, {len(new)} of them are new", *new]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
