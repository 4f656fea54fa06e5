"""Turns what a damaged model can provoke in Python into errors that say where."""

from collections.abc import Iterator
from contextlib import contextmanager

from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, Where, locate_problem, shown

# What nonsense in a node makes Python raise in a translation or a shape rule that did not expect it.
FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def guard_reading(file: str) -> Iterator[None]:
    """Errors inside name the file; running out of stack, of memory or of letters is an error of the model."""
    where = Where(file=file)
    try:
        yield
    except EdgewrightError as problem:
        raise locate_problem(problem, where) from problem.__cause__
    except RecursionError:
        raise LimitExceeded(
            "subgraphs are nested too deeply to be read", where, do="flatten the model's control flow"
        ) from None
    except MemoryError:
        raise LimitExceeded(
            "the model needs more memory than there is, or far more than its size accounts for",
            where,
            do="check the shapes of its tensors; free memory, or convert a smaller model",
        ) from None
    except UnicodeDecodeError:
        raise BadInput("a name is not UTF-8", where, do="export the model again") from None


def make_fault(problem: Exception, where: Where) -> EdgewrightError:
    """The error for a node that a translation stumbled over; the cause is kept for --debug."""
    return BadInput(
        f"the node cannot be translated ({type(problem).__name__}: {shown(problem)})",
        where,
        do="check its attributes and the shapes of its inputs; if they are right, report it with --debug",
    )
