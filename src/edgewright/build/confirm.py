"""Confirms the chosen candidate with compiler and emulator; takes a wider one where it does not hold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edgewright.build.stages import NATIVE, CompileResult
from edgewright.core.errors import BackendCrash, EdgewrightError, UnsupportedOp
from edgewright.evaluate.records import Loss
from edgewright.quantize.executor import OutOfTime

# Exit codes of a compiler that refuses a graph: with an error, or by crashing.
REFUSALS = frozenset({UnsupportedOp.exit_code, BackendCrash.exit_code})
Compiled = tuple[CompileResult, Loss]


@dataclass(frozen=True)
class Confirmation:
    """The candidate that is built."""

    name: str
    # None where the compiler refuses every candidate.
    compiled: Compiled | None
    # What the compiler said where it took no candidate.
    refusal: EdgewrightError | None = None
    notes: tuple[str, ...] = ()
    # All candidates that were tried, the one that is built among them.
    tried: tuple[str, ...] = ()


def confirm_candidate(
    names: Iterable[str], limit: float, compile_candidate: Callable[[str], Compiled]
) -> Confirmation:
    """The first candidate that compiles and keeps the limit, or the one that loses least.

    Args:
        names: the chosen candidate and those that are wider, in order; one is asked for when it is needed.
        limit: points of the metric that may be lost.
        compile_candidate: compiles a candidate and measures what it loses on the samples that choose; out of
            time where another one was compiled before.
    """
    compiled: dict[str, Compiled] = {}
    refusal: EdgewrightError | None = None
    notes: list[str] = []
    tried: list[str] = []
    last = reason = ""
    for name in names:
        tried.append(name)
        notes += [f"{last} {reason}: {name} is taken"] if last else []
        last = name
        try:
            compiled[name] = compile_candidate(name)
        except OutOfTime as problem:
            reason = f"was not compiled: {problem}"
            if not compiled:
                notes.append(f"{name} {reason}")
            break
        except EdgewrightError as problem:
            if problem.exit_code not in REFUSALS:
                raise
            refusal, reason = problem, f"is refused by the compiler ({problem.what})"
        else:
            loss = compiled[name][1]
            if loss.points <= limit:
                return Confirmation(name, compiled[name], notes=tuple(notes), tried=tuple(tried))
            place = "on the emulator" if loss.backend == NATIVE else "in the simulation"
            reason = f"loses {loss.points:.2f} points {place}"
    if not compiled:
        return Confirmation(last, None, refusal=refusal, notes=tuple(notes), tried=tuple(tried))
    best = min(compiled, key=lambda name: compiled[name][1].points)
    notes += [f"{last} {reason}: {best} is taken"] if best != last else []
    return Confirmation(best, compiled[best], notes=tuple(notes), tried=tuple(tried))
