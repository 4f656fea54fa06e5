"""What became of a task: its answer, or one clean error."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from edgewright.core.errors import EdgewrightError, EnvironmentProblem, Where, shown

FORM = 1
# Errors of the machine: another one, or the same one later, may do better.
OF_THE_MACHINE = frozenset({"environment", "backend-crash", "internal"})
LONGEST_PROBLEMS = 900


@dataclass(frozen=True)
class TaskError:
    """Why a task has no answer, as it can be kept and shown."""

    code: str
    exit_code: int
    what: str
    where: str = ""
    do: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.what}" + (f" ({self.where})" if self.where else "")

    @classmethod
    def of(cls, problem: BaseException) -> "TaskError":
        """An error of ours as it is; any other one by its type and text."""
        if not isinstance(problem, EdgewrightError):
            return cls("internal", 1, shown(f"{type(problem).__name__}: {problem}"))
        errors = getattr(problem, "errors", (problem,))
        what = errors[0].what if len(errors) == 1 else "; ".join(each.what for each in errors)
        where = "" if errors[0].where is None else str(errors[0].where)
        return cls(problem.code, problem.exit_code, shown(what, LONGEST_PROBLEMS), where, problem.do)

    def to_exception(self) -> EdgewrightError:
        """The error that it was made of."""
        kinds = {kind.code: kind for kind in _list_kinds(EdgewrightError)}
        kind = kinds.get(self.code, EnvironmentProblem)
        return kind(self.what, Where(detail=self.where) if self.where else None, self.do)


@dataclass(frozen=True)
class Outcome:
    """The answer of a task, or its error, and what it took."""

    key: str
    value: Any = None
    error: TaskError | None = None
    # Of the wall and of the processor, where it was computed.
    seconds: float = 0.0
    processor_seconds: float = 0.0
    # Whether it was known before.
    is_reused: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the same task would have the same outcome anywhere."""
        return self.error is None or self.error.code not in OF_THE_MACHINE

    def check(self) -> Any:
        """The answer; an error is raised."""
        if self.error is not None:
            raise self.error.to_exception()
        return self.value

    def to_json(self) -> bytes:
        """For the store, and for the way from a worker."""
        fields = {name: value for name, value in asdict(self).items() if name != "is_reused"}
        return json.dumps({"form": FORM, **fields}, sort_keys=True, allow_nan=False).encode()


def read_outcome(content: bytes, key: str, *, is_reused: bool = False) -> Outcome | None:
    """The outcome that was written for a task; None where it is damaged, or of another form."""
    try:
        fields = json.loads(content)
        if fields.pop("form") != FORM or fields["key"] != key:
            return None
        error = fields.pop("error")
        return Outcome(**fields, error=None if error is None else TaskError(**error), is_reused=is_reused)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _list_kinds(kind: type[EdgewrightError]) -> Iterator[type[EdgewrightError]]:
    for inner in kind.__subclasses__():
        # Some have a constructor of their own, as a collection of problems has.
        if inner.__init__ is EdgewrightError.__init__:
            yield inner
        yield from _list_kinds(inner)
