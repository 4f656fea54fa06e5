"""Comparisons that a page asked for: one at a time, in the background, inside one folder."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from edgewright.analyse.verifiers import VERIFIERS
from edgewright.core.errors import BadInput, EdgewrightError, UsageError
from edgewright.core.files import write_whole
from edgewright.view.diff.request import CHOICES, USE_CASES, DiffRun, load_run, read_run
from edgewright.view.diff.run_diff import resolve_path, run_diff
from edgewright.view.records import ViewModel

_LOG = logging.getLogger("edgewright")
_MOST_FILES, _DEEPEST, _MOST_LINES = 2000, 5, 200
_MODELS = frozenset({".json", ".cpp", ".bin", ".dlc", ".so"})


@dataclass
class Job:
    """A comparison: what it said, and the number of the model it became or why there is none."""

    lines: list[str] = field(default_factory=list)
    model: int | None = None
    problem: str = ""
    thread: threading.Thread | None = None

    def to_document(self) -> dict[str, Any]:
        """As the page reads it."""
        is_running = self.model is None and not self.problem
        return {"isRunning": is_running, "lines": self.lines[-_MOST_LINES:], "model": self.model} | (
            {"problem": self.problem} if self.problem else {}
        )


class DiffJobs:
    """All comparisons of one server; ``add_model`` shows a model and tells its number."""

    def __init__(self, root: Path, add_model: Callable[[ViewModel], int]) -> None:
        self._root, self._add_model = root, add_model
        self._jobs: list[Job] = []
        self._lock = threading.Lock()

    def describe_form(self) -> dict[str, Any]:
        """What the form offers: words, hyper-parameters with their defaults, and files of the folder."""
        verifiers = {kind.name: {item.name: str(item.default) for item in fields(kind)} for kind in VERIFIERS}
        files = list(self._list_files())
        return {
            "useCases": list(USE_CASES),
            "choices": {name: list(words) for name, words in CHOICES.items()},
            "verifiers": verifiers,
            "defaults": asdict(DiffRun()),
            "folder": self._root.name,
            "models": [name for name in files if Path(name).suffix.lower() in _MODELS],
            "lists": [name for name in files if name.endswith(".txt")],
            "folders": sorted({str(Path(name).parent) for name in files if name.endswith(".raw")}),
            "runs": [name for name in files if name.endswith(".json") and "run" in Path(name).name],
        }

    def load(self, name: str) -> dict[str, Any]:
        """A comparison that was saved in the folder."""
        return asdict(load_run(resolve_path(self._root, name)))

    def start(self, content: Any, save: str = "") -> int:
        """Starts a comparison and tells its number; ``save`` names a file for it."""
        run = read_run(content)
        with self._lock:
            if any(job.to_document()["isRunning"] for job in self._jobs):
                raise UsageError("another comparison is running", do="wait until it ends")
            if save:
                self._save(run, save)
            job = Job()
            self._jobs.append(job)
            job.thread = threading.Thread(target=self._work, args=(job, run), daemon=True)
            job.thread.start()
            return len(self._jobs) - 1

    def find(self, number: int) -> Job:
        """A comparison by its number."""
        return self._jobs[number]

    def __len__(self) -> int:
        return len(self._jobs)

    def _save(self, run: DiffRun, save: str) -> None:
        if Path(save).suffix != ".json":
            raise BadInput(f"the run is to be saved as '{save}', expected a name with .json")
        write_whole(resolve_path(self._root, save), [run.to_json()])

    def _work(self, job: Job, run: DiffRun) -> None:
        handler = _Lines(job)
        _LOG.addHandler(handler)
        try:
            job.model = self._add_model(run_diff(run, self._root))
        except EdgewrightError as problem:
            job.problem = f"{problem.what}; {problem.do}" if problem.do else problem.what
        except Exception as problem:
            # Otherwise the page would wait for ever.
            _LOG.exception("the comparison failed")
            job.problem = f"the comparison failed: {problem!r}"
        finally:
            _LOG.removeHandler(handler)

    def _list_files(self) -> Iterator[str]:
        """Files that a form may name, relative; links and hidden folders are left out."""
        folders, count = [self._root], 0
        while folders:
            folder = folders.pop()
            for path in sorted(folder.iterdir()):
                if path.is_symlink() or path.name.startswith("."):
                    continue
                inside = path.relative_to(self._root)
                if path.is_dir() and len(inside.parts) < _DEEPEST:
                    folders.append(path)
                elif path.is_file() and path.suffix.lower() in {*_MODELS, ".txt", ".raw"}:
                    count += 1
                    if count > _MOST_FILES:
                        return
                    yield inside.as_posix()


class _Lines(logging.Handler):
    """What is said while a job runs."""

    def __init__(self, job: Job) -> None:
        super().__init__(logging.INFO)
        self._job = job

    def emit(self, record: logging.LogRecord) -> None:
        self._job.lines.append(record.getMessage())
