"""What rounding did to each matrix: noted while codes are chosen, if someone listens."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, pick_rows

# Rows of a piece from which errors are estimated: of all rows it would take longer than their codes.
FEW_ROWS = 32

Measure = Callable[[Array], float]


@dataclass(frozen=True)
class MatrixError:
    """How far a matrix on its grid is from the float one, in decibels: signal over error.

    Of a tall matrix, some rows from all over it tell.
    """

    name: str
    bits: int
    block: int
    values: int
    weight_db: float
    # Of its products with what the calibrating text makes its inputs; None without one.
    product_db: float | None = None


class MatrixErrors:
    """Sums of squares of each matrix, whose rows come piece by piece."""

    def __init__(self) -> None:
        # Bits and block, sums, number of values: codes themselves would fill the memory.
        self._sums: dict[str, tuple[tuple[int, int], tuple[float, ...], int]] = {}

    def add(self, name: str, rows: Array, codes: Codes, measure: Measure | None) -> None:
        """Some rows of a matrix.

        Args:
            name: of the matrix.
            rows: as they were.
            codes: what they are now.
            measure: sums the squares of products of rows with inputs, where a text calibrates.
        """
        few = slice(None, None, max(1, len(rows) // FEW_ROWS))
        pair = (rows[few], rows[few] - pick_rows(codes, few).decode())
        sums = [float((part * part).sum()) for part in pair]
        sums += [0.0 if measure is None else measure(part) for part in pair]
        kind = (codes.grid.bits, codes.codes.shape[1] // codes.scales.shape[1])
        _, before, count = self._sums.get(name, (kind, (0.0,) * 4, 0))
        total = tuple(old + new for old, new in zip(before, sums, strict=True))
        self._sums[name] = kind, total, count + math.prod(rows.shape)

    def list_errors(self) -> tuple[MatrixError, ...]:
        """In the order in which matrices were quantized."""
        return tuple(
            MatrixError(
                name,
                *kind,
                values,
                _to_decibels(sums[0], sums[1]),
                _to_decibels(sums[2], sums[3]) if sums[2] > 0 else None,
            )
            for name, (kind, sums, values) in self._sums.items()
        )


@contextmanager
def collect_matrix_errors() -> Iterator[MatrixErrors]:
    """Matrices that are quantized inside the block are noted."""
    errors = MatrixErrors()
    _listening.append(errors)
    try:
        yield errors
    finally:
        _listening.remove(errors)


def note_matrix_error(name: str, rows: Array, codes: Codes, measure: Measure | None) -> None:
    """Tells whoever listens of some rows of a matrix, as they were and as they are."""
    for errors in _listening:
        errors.add(name, rows, codes, measure)


def _to_decibels(signal: float, error: float) -> float:
    return math.inf if error <= 0 else 10 * math.log10(max(signal, 1e-300) / error)


_listening: list[MatrixErrors] = []
