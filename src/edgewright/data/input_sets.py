"""The sets of an input list as arrays: every file is checked before the first one is read."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.data.input_list import PROBLEMS_KEPT, InputLine, InputList
from edgewright.data.tensor_files import ExpectedTensor, count_batch_files, read_tensor


class InputSets:
    """One set for each run of the model; lines that hold single batch elements are put together."""

    def __init__(self, listed: InputList, inputs: Sequence[ExpectedTensor]) -> None:
        self._inputs = inputs
        batches = self._check_files(listed)
        batch = max(batches, default=1)
        if any(size != batch for size in batches):
            odd = next(i for i, size in enumerate(batches) if size != batches[0])
            raise BadInput(
                f"some lines hold whole batches of {batch}, others single elements",
                Where(file=str(listed.path), detail=f"line {listed.lines[odd].number}"),
                do="write all lines in the same way",
            )
        if len(listed.lines) % batch:
            raise BadInput(
                f"{len(listed.lines)} lines of one element each do not fill batches of {batch}",
                Where(file=str(listed.path)),
                do=f"give {batch - len(listed.lines) % batch} lines more, or use another --batch_multiplier, "
                "or --batch when converting",
            )
        starts = range(0, len(listed.lines), batch)
        self._sets = [listed.lines[start : start + batch] for start in starts]

    def __len__(self) -> int:
        return len(self._sets)

    def read_set(self, index: int) -> dict[str, Array]:
        """The arrays of one run by input name."""
        return {expected.name: self._read_input(expected, self._sets[index]) for expected in self._inputs}

    def list_files(self, index: int) -> dict[str, list[str]]:
        """The files of one run by input name."""
        return {
            expected.name: [str(_find_file(line, expected.name)) for line in self._sets[index]]
            for expected in self._inputs
        }

    def _read_input(self, expected: ExpectedTensor, lines: Sequence[InputLine]) -> Array:
        parts = [read_tensor(_find_file(line, expected.name), expected) for line in lines]
        # An input without a batch of its own has the same file in each line.
        if len(parts) > 1 and parts[0].size == np.prod(expected.shape):
            parts = parts[:1]
        joined = parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])
        if joined.size != np.prod(expected.shape):
            raise BadInput(
                f"the file has {joined.size} elements now, expected {np.prod(expected.shape)}",
                Where(file=str(_find_file(lines[0], expected.name)), tensor=expected.name),
                do="do not change input files while they are read",
            )
        return joined.reshape(expected.shape)

    def _check_files(self, listed: InputList) -> list[int]:
        """How many lines fill a batch, for each line; everything that does not fit comes at once."""
        batch_by_file: dict[tuple[Path, str], int] = {}
        problems: list[EdgewrightError] = []
        batches = []
        for line in _iterate_lines(listed):
            batches.append(1)
            for expected in self._inputs:
                key = (_find_file(line, expected.name), expected.name)
                try:
                    if key not in batch_by_file:
                        batch_by_file[key] = count_batch_files(key[0], expected)
                    batches[-1] = max(batches[-1], batch_by_file[key])
                except EdgewrightError as problem:
                    batch_by_file[key] = 1
                    problems.append(problem)
            if len(problems) >= PROBLEMS_KEPT:
                break
        if problems:
            raise Problems(problems)
        return batches


def _iterate_lines(listed: InputList) -> Iterator[InputLine]:
    with announce_progress("checking inputs", total=len(listed.lines)) as step:
        for line in listed.lines:
            yield line
            step()


def _find_file(line: InputLine, name: str) -> Path:
    return line.files[name] if name in line.files else line.files[""]
