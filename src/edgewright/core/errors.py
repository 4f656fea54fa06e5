"""The errors a user can meet: each says what happened, where, and what to do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

LONGEST_VALUE = 200
LONGEST_SENTENCE = 1000
PROBLEMS_LISTED = 20


def shown(value: object, limit: int = LONGEST_VALUE) -> str:
    """The value as printable text of at most `limit` characters, with the middle left out if it is longer."""
    text = str(value)
    if len(text) > limit:
        # Cut before escaping too: a name of a gigabyte must not be walked character by character.
        text = f"{text[: limit * 2 // 3]}...{text[-(limit // 4) :]}"
    return _shorten_text(_escape_unprintable(text), limit)


@dataclass(frozen=True)
class Where:
    """The place an error is about, from the file down to the tensor."""

    file: str | None = None
    op: str | None = None
    node: str | None = None
    tensor: str | None = None
    detail: str | None = None

    def __str__(self) -> str:
        """The parts that are known, as in: model.onnx, op 'Conv', node 'n1', tensor 't'."""
        parts = [] if self.file is None else [shown(self.file)]
        for kind, name in (("op", self.op), ("node", self.node), ("tensor", self.tensor)):
            if name is not None:
                parts.append(f"{kind} '{shown(name)}'")
        if self.detail is not None:
            parts.append(shown(self.detail))
        return ", ".join(parts)


class EdgewrightError(Exception):
    """The base class of every error that a user's model, options or machine can cause.

    Catch it to catch all of them. `what` states the found and the expected value, `where` names the file,
    op, node and tensor, and `do` is an action that helps. Command line tools print it without a traceback
    and exit with its exit code; `--debug` shows the traceback too.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, where: Where | None = None, do: str = "") -> None:
        # All three are arguments of the exception so that it survives pickling between processes.
        super().__init__(what, where, do)
        self.what = what
        self.where = where
        self.do = do

    def __str__(self) -> str:
        """The three-line text form; a line without content is left out."""
        return "\n".join(
            [f"error[{self.code}]: {shown(self.what, LONGEST_SENTENCE)}", *self.place_and_advice("  ")]
        )

    def place_and_advice(self, indent: str) -> list[str]:
        """The lines below the first one, each starting with `indent`."""
        lines = []
        if self.where is not None and str(self.where):
            lines.append(f"{indent}where: {self.where}")
        if self.do:
            lines.append(f"{indent}do:    {shown(self.do, LONGEST_SENTENCE)}")
        return lines


class UsageError(EdgewrightError):
    """The command line or the arguments of a call are wrong.

    An option is unknown, lacks its value, has a value outside its choices, or excludes another option that
    was given as well. Nothing was read or written. `--help` lists the options and their values.
    """

    code = "usage"
    exit_code = 2


class BadInput(EdgewrightError):
    """A file that was given cannot be used: it is missing, damaged, or not what its name says.

    Also raised where a path in a file points outside the folder it may use. Nothing was written.
    """

    code = "bad-input"
    exit_code = 3


class ShapeMismatch(EdgewrightError):
    """A tensor has a different shape than the op or the caller needs.

    The message gives both shapes. For a model with symbolic dimensions, fix them with `-d NAME DIMS`.
    """

    code = "shape-mismatch"
    exit_code = 3


class TypeMismatch(EdgewrightError):
    """A tensor has a different data type than the op or the caller needs.

    The message gives both types. Input files are read as float32 unless native input files are asked for.
    """

    code = "type-mismatch"
    exit_code = 3


class LimitExceeded(EdgewrightError):
    """A file or a value is larger than Edgewright is willing to handle.

    Limits protect against damaged or hostile files that claim sizes no machine has. The message gives the
    found size and the limit.
    """

    code = "limit-exceeded"
    exit_code = 3


class UnsupportedOp(EdgewrightError):
    """An op of the source model has no equivalent on the target.

    All such ops of a model are reported together. Cut the graph before them with `--out_node`, replace them
    in the source model, or provide an op package.
    """

    code = "unsupported-op"
    exit_code = 4


class UnsupportedFeature(EdgewrightError):
    """An op or a file is known, but not in the variant that was found.

    The op has an attribute value, a rank or a data type, or the file a version or section, that cannot be
    honoured. The result would be wrong, so there is none.
    """

    code = "unsupported-feature"
    exit_code = 4


class NotBuiltYet(EdgewrightError):
    """An option or a function that is planned, but not built yet.

    Leave the option out. It is never ignored silently.
    """

    code = "not-built-yet"
    exit_code = 4


class AccuracyGate(EdgewrightError):
    """The results were computed, and they differ more from the reference than was allowed.

    The message gives the measured and the allowed difference. Outputs written before remain for inspection.
    """

    code = "accuracy-gate"
    exit_code = 5


class EnvironmentProblem(EdgewrightError):
    """This machine lacks something: a package, a library, a permission, disk space or memory.

    `edgewright doctor` lists what is installed, what each optional package is for and how to install it.
    """

    code = "environment"
    exit_code = 6


class BackendCrash(EdgewrightError):
    """A backend library crashed its worker process or returned an error.

    The message gives the library's code or signal. The Edgewright process itself is unharmed.
    """

    code = "backend-crash"
    exit_code = 7


class Problems(EdgewrightError):
    """Several errors of one kind, found in one go, so that they can be fixed in one go.

    It has the code and the exit code of the first one; `errors` holds all of them. The text lists the first
    twenty and counts the rest.
    """

    def __init__(self, errors: Sequence[EdgewrightError]) -> None:
        flat = tuple(inner for error in errors for inner in getattr(error, "errors", (error,)))
        if not flat:
            raise ValueError("Problems needs at least one error")
        self.errors: tuple[EdgewrightError, ...] = flat
        super().__init__(
            flat[0].what if len(flat) == 1 else f"{len(flat)} problems", None, _find_shared_advice(flat)
        )
        # Here alone the code depends on the content: the class variable is shadowed for this instance.
        self.__dict__.update(code=flat[0].code, exit_code=flat[0].exit_code)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the errors, not the text made from them."""
        return Problems, (self.errors,)

    def __str__(self) -> str:
        """One error as itself; several as a list, with advice shared by all given once."""
        if len(self.errors) == 1:
            return str(self.errors[0])
        lines = [f"error[{self.code}]: {self.what}"]
        for error in self.errors[:PROBLEMS_LISTED]:
            lines += self._list_lines(error)
        if len(self.errors) > PROBLEMS_LISTED:
            lines.append(f"  - and {len(self.errors) - PROBLEMS_LISTED} more")
        return "\n".join(lines + self.place_and_advice("  "))

    def _list_lines(self, error: EdgewrightError) -> list[str]:
        below = error.place_and_advice("    ")
        if self.do and error.do:
            below = below[:-1]
        return [f"  - {shown(error.what, LONGEST_SENTENCE)}", *below]


@contextmanager
def advise_otherwise(do: str) -> Iterator[None]:
    """Errors inside that do not say what to do say this."""
    try:
        yield
    except EdgewrightError as problem:
        if problem.do or type(problem).__init__ is not EdgewrightError.__init__:
            raise
        raise type(problem)(problem.what, problem.where, do) from problem.__cause__


def locate_problem(problem: EdgewrightError, where: Where) -> EdgewrightError:
    """The same error with the place filled in where it had none; inner places take precedence."""
    if type(problem).__init__ is not EdgewrightError.__init__:
        return problem
    inner = problem.where
    if inner is not None:
        given = {key: value for key, value in vars(inner).items() if value is not None}
        if inner.node and where.node and inner.node != where.node and not inner.detail:
            given["detail"] = f"inside '{where.op}' node '{shown(where.node)}'"
        where = replace(where, **given)
    return type(problem)(problem.what, where, problem.do)


def _find_shared_advice(errors: Sequence[EdgewrightError]) -> str:
    advice = {error.do for error in errors}
    return errors[0].do if len(advice) == 1 else ""


def _escape_unprintable(text: str) -> str:
    """Control characters, direction marks and lone surrogates escaped: a file must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _shorten_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail - 3]}...{text[-tail:]}"
