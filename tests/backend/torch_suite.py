"""Runs PyTorch's own operator samples (OpInfo) on Edgewright and says how each op went.

python -m tests.backend.torch_suite [PATTERN] [--samples N] [--dtype NAME] [--record]
writes torch_samples.json with --record, from which 'make docs' makes a page.
"""

import argparse
import json
import re
import sys
import tempfile
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import edgewright as ew
from edgewright.core.errors import EdgewrightError, Problems
from edgewright.frontends.pytorch.values import as_array

# torch's samples come with its tests, which import a package that the samples themselves do not use.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))
# The first of these that an op takes is what it is tried in.
DTYPES = ("float32", "int64", "complex64", "bool", "float64")
# So many samples of each op are tried, spread over those that torch has.
SAMPLES = 4
# Of the range of an output; coarser where numbers are.
TOLERANCES = {"bfloat16": 3e-2, "float16": 4e-3}
TOLERANCE = 1e-4
SMALLEST_RANGE = 1e-2
# Ops whose results are whatever the memory holds.
UNWRITTEN = ("empty", "empty_like", "empty_permuted", "empty_strided")
RECORD = Path(__file__).with_name("torch_samples.json")
LONGEST_DETAIL = 160
KINDS = ("match", "partly", "refused", "wrong", "crash", "left out")


class LeftOut(Exception):
    """The sample says nothing about a converter, and why."""


@dataclass(frozen=True)
class Outcome:
    """How one sample went, and why where it did not match."""

    kind: str
    detail: str = ""


@dataclass(frozen=True)
class OpOutcome:
    """How the samples of one op went."""

    op: str
    samples: tuple[Outcome, ...]

    @property
    def kind(self) -> str:
        """One of KINDS: the worst of its samples; "partly" where some match and the others are refused."""
        kinds = {item.kind for item in self.samples} - {"left out"}
        if not kinds:
            return "left out"
        bad = [kind for kind in ("wrong", "crash") if kind in kinds]
        return bad[0] if bad else kinds.pop() if len(kinds) == 1 else "partly"

    @property
    def details(self) -> list[str]:
        """The reasons of the samples that did not match, each once."""
        return list(dict.fromkeys(item.detail[:LONGEST_DETAIL] for item in self.samples if item.detail))


class Sampled(torch.nn.Module):
    """An op with the arguments of a sample, as a function of the sample's tensors."""

    def __init__(self, op: Any, sample: Any) -> None:
        super().__init__()
        self.op = op
        self.arguments = (sample.input, *sample.args)
        self.options = dict(sample.kwargs)
        self.tensors = [t.detach() for t in list_tensors([self.arguments, self.options])]

    def forward(self, *tensors: torch.Tensor) -> Any:
        """Only tensors, lists of them and nothing else: what a program may return."""
        given = iter(tensors)
        arguments, options = _put_tensors([self.arguments, self.options], given)
        return list_tensors(self.op(*arguments, **options))


def list_tensors(value: Any) -> list[torch.Tensor]:
    """All tensors in arguments or results, in their order."""
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [tensor for item in items for tensor in list_tensors(item)]


def _put_tensors(value: Any, given: Iterator[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return next(given)
    if isinstance(value, dict):
        return {key: _put_tensors(item, given) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_put_tensors(item, given) for item in value]
    return value


def list_ops(pattern: str = "") -> list[Any]:
    """The ops that torch has samples of."""
    from torch.testing._internal import common_methods_invocations as methods

    # Its samples of random ops set a seed in every call, which would hide that they are random.
    setattr(methods, "wrapper_set_seed", _call)  # noqa: B010 - vulture would call an attribute unused
    return [op for op in methods.op_db if re.search(pattern, op.formatted_name)]


def _call(op: Any, *arguments: Any, **options: Any) -> Any:
    return op(*arguments, **options)


def try_op(op: Any, count: int = SAMPLES, dtype: str = "") -> OpOutcome:
    """How some of the op's samples go."""
    torch.manual_seed(0)
    kinds = {str(item).removeprefix("torch.") for item in op.supported_dtypes("cpu")}
    chosen = next((item for item in ((dtype,) if dtype else DTYPES) if item in kinds), None)
    if chosen is None:
        return OpOutcome(op.formatted_name, (Outcome("left out", "takes none of the types that are tried"),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(op.sample_inputs("cpu", getattr(torch, chosen), requires_grad=False))
        places = dict.fromkeys(np.linspace(0, len(samples) - 1, count).round().astype(int).tolist())
        return OpOutcome(op.formatted_name, tuple(try_sample(op, samples[place]) for place in places))


def try_sample(op: Any, sample: Any) -> Outcome:
    """Traces, converts, runs and compares one sample."""
    module = Sampled(op, sample).eval()
    try:
        expected = _compute(module)
        with tempfile.TemporaryDirectory() as folder:
            _trace(module, Path(folder) / "sample.pt")
            arrays = [as_array(tensor) for tensor in module.tensors]
            model = _convert(Path(folder) / "sample.pt", arrays)
        feed = {item.name: arrays[int(item.name[2:])] for item in model.inputs}
        results = list(model.run(feed).values())
        return _compare(results, [as_array(_as_real(tensor)) for tensor in expected])
    except LeftOut as reason:
        return Outcome("left out", str(reason))
    except Problems as problem:
        return Outcome("refused", problem.errors[0].what)
    except EdgewrightError as problem:
        return Outcome("refused", problem.what)
    except Exception as problem:
        return Outcome("crash", f"{type(problem).__name__}: {problem}".split("\n", maxsplit=1)[0][:300])


def _compute(module: Sampled) -> Sequence[torch.Tensor]:
    """Torch's results."""
    if module.op.name.endswith(UNWRITTEN):
        raise LeftOut("returns memory as it is")
    if not module.tensors:
        raise LeftOut("has no tensor as input")
    if any(t.layout != torch.strided for t in module.tensors):
        raise LeftOut("takes sparse tensors")
    try:
        first, second = (_run_seeded(module, seed) for seed in (1, 2))
    except (RuntimeError, AssertionError):
        raise LeftOut("cannot be called with copies of its tensors on a CPU") from None
    if not first:
        raise LeftOut("returns no tensor")
    if any(t.layout != torch.strided for t in first):
        raise LeftOut("returns a sparse tensor")
    if any(not _is_same(_as_real(a), _as_real(b)) for a, b in zip(first, second, strict=True)):
        raise LeftOut("is random")
    return first


def _run_seeded(module: Sampled, seed: int) -> Sequence[torch.Tensor]:
    torch.manual_seed(seed)
    with torch.no_grad():
        return module(*(tensor.clone() for tensor in module.tensors))


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and bool(torch.isclose(a, b, 0, 0, equal_nan=True).all())


def _trace(module: Sampled, file: Path) -> None:
    copies = tuple(tensor.clone() for tensor in module.tensors)
    try:
        with torch.no_grad():
            torch.jit.trace(module, copies, check_trace=False, strict=False).save(str(file))
    except RuntimeError:
        raise LeftOut("cannot be traced by torch") from None


def _convert(file: Path, arrays: Sequence[Any]) -> Any:
    """The traced sample as a model that runs."""
    inputs = {f"in{index}": array for index, array in enumerate(arrays)}
    return ew.convert(
        file,
        input_shapes={name: array.shape for name, array in inputs.items()},
        input_dtypes={name: array.dtype for name, array in inputs.items()},
    )


def _as_real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as a converted program returns them: both parts on a last axis."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _compare(results: Sequence[Any], expected: Sequence[Any]) -> Outcome:
    if len(results) != len(expected):
        return Outcome("wrong", f"{len(results)} outputs, expected {len(expected)}")
    for index, (got, want) in enumerate(zip(results, expected, strict=True)):
        problem = _find_difference(got, want)
        if problem:
            return Outcome("wrong", f"output {index}: {problem}")
    return Outcome("match")


def _find_difference(got: Any, want: Any) -> str:
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{got.dtype} {list(got.shape)}, expected {want.dtype} {list(want.shape)}"
    if want.dtype.kind in "biu":
        return (
            "" if np.array_equal(got, want) else f"{int((got != want).sum())} of {want.size} elements differ"
        )
    tolerance = TOLERANCES.get(want.dtype.name, TOLERANCE)
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(np.where(finite, 0, want), np.where(finite, 0, got), equal_nan=True):
        return "infinities or NaNs differ"
    if not np.isfinite(got[finite]).all():
        return "infinite where a number is expected"
    if not finite.any():
        return ""
    span = max(np.ptp(want[finite]), np.abs(want[finite]).max(), SMALLEST_RANGE)
    error = float(np.abs(got[finite] - want[finite]).max() / span)
    return f"{error:.1e} of the range apart" if error > tolerance else ""


def main() -> None:
    """Prints the ops that do not match, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--dtype", default="")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    outcomes = []
    for op in list_ops(arguments.pattern):
        outcomes.append(item := try_op(op, arguments.samples, arguments.dtype))
        if item.kind != "match":
            sys.stdout.write(f"{item.kind:8s} {item.op}: {' | '.join(item.details)}\n")
    sys.stdout.write(f"{dict(Counter(item.kind for item in outcomes))}\n")
    if arguments.record:
        ops = json.loads(RECORD.read_text())["ops"] if RECORD.exists() and arguments.pattern else {}
        ops |= {item.op: {"kind": item.kind, "why": item.details} for item in outcomes}
        version = torch.__version__.partition("+")[0]
        record = {"torch": version, "samples": arguments.samples, "ops": dict(sorted(ops.items()))}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
