"""Writes the fitted parameters with their source and errors: `make fit-latency`."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.files import write_whole
from edgewright.estimate.fit import PRECISIONS, Dataset, LatencyFit, Matrix, load_dataset
from edgewright.estimate.public_data import SOURCE, list_chips
from edgewright.estimate.validation import (
    COVERAGE,
    KINDS,
    LeftOut,
    choose_bounds,
    find_change_bounds,
    leave_families_out,
    measure_coverage,
    measure_errors,
)
from edgewright.estimate.work import AMOUNTS, GROUPS

PARAMETERS = "parameters.json"
_DIGITS = 4


def fit_parameters(left_out: LeftOut) -> dict[str, Any]:
    """Constants of kinds, factors of chips, intervals and errors, rounded."""
    data = load_dataset()
    model = LatencyFit(data.chips)
    return {
        "source": SOURCE,
        "networks": len(set(data.names)),
        **_describe_fit(model, model.fit(data), data),
        # The same without each family: how much of a figure hangs on a few networks.
        "refits": [_describe_fit(model, vector, data) for vector in left_out.refits],
        "coverage": COVERAGE,
        "bounds": {
            precision: {
                kind: [_round(np.exp(end)) for end in choose_bounds(left_out, precision, kind)]
                for kind in KINDS
            }
            for precision in PRECISIONS
        },
        "changes": {
            f"{source} {target}": [
                _round(np.exp(end)) for end in find_change_bounds(left_out, source, target)
            ]
            for source in PRECISIONS
            for target in PRECISIONS
            if source != target
        },
        "validation": {precision: _describe_errors(left_out, precision) for precision in PRECISIONS},
    }


def _describe_fit(model: LatencyFit, vector: Matrix, data: Dataset) -> dict[str, Any]:
    kinds, by_precision, chips, both = model.split(vector)
    names = [list_chips()[number].name for number in data.chips]
    return {
        "microseconds": {
            precision: _name_values(AMOUNTS, np.exp(kinds + by_precision[place]))
            for place, precision in enumerate(PRECISIONS)
        },
        "factors": {
            precision: {
                name: _name_values(GROUPS, np.exp(chips[row] + both[place, row]))
                for row, name in enumerate(names)
                if not np.isnan(data.log_times[data.precisions == place, row]).all()
            }
            for place, precision in enumerate(PRECISIONS)
        },
    }


def _describe_errors(left_out: LeftOut, precision: str) -> dict[str, Any]:
    errors, coverage = measure_errors(left_out, precision), measure_coverage(left_out, precision)
    return {
        "networks": errors.networks,
        "median_error": _round(errors.median),
        "p90_error": _round(errors.p90),
        "inside_interval": _round(coverage.share),
    }


def _name_values(names: Any, values: Any) -> dict[str, float]:
    return {name: _round(value) for name, value in zip(names, values, strict=True)}


def _round(value: float) -> float:
    return float(f"{float(value):.{_DIGITS}g}")


def _format_json(parameters: dict[str, Any]) -> str:
    """One line for each entry, so that changes can be read."""
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in parameters.items())
    return f"{{\n{lines}\n}}"


def main() -> None:
    """Fits, and writes the file that estimates are made from."""
    path = Path(str(files("edgewright.estimate") / "_data" / PARAMETERS))
    write_whole(path, [(_format_json(fit_parameters(leave_families_out())) + "\n").encode()])


if __name__ == "__main__":
    main()
