"""What qnn-platform-validator says on a device: its own validator is run there."""

import csv
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.core.files import read_limited
from edgewright.run.remote.address import parse_address
from edgewright.run.remote.job import OUTPUT, open_device
from edgewright.sdk.platform_check import CSV_NAME, BackendCheck

VALIDATOR = "qnn-platform-validator"
_LARGEST = 1 << 20
# The SDK's table has no details.
_WIDTHS = (6, 7)


def check_device_platform(device: str, words: Sequence[str]) -> tuple[BackendCheck, ...]:
    """The checks of a device, by its address; ``words`` are the options of the validator there."""
    address = parse_address(device)
    with open_device(address) as session, tempfile.TemporaryDirectory(prefix="edgewright-") as place:
        finished = session.execute({}, words, Path(place), VALIDATOR)
        table = Path(place, OUTPUT, CSV_NAME)
        checks = _read_table(table) if table.is_file() else ()
        if not checks:
            said = shown(" ".join(finished.output.split()), 400)
            raise EnvironmentProblem(
                f"{VALIDATOR} of {address} wrote no table {CSV_NAME}, it said: {said or 'nothing'}",
                do="run it on the device itself",
            )
        return checks


def _read_table(table: Path) -> tuple[BackendCheck, ...]:
    text = read_limited(table, _LARGEST).decode("utf-8", "replace")
    rows: list[list[str]] = []
    # What is no CSV has no rows.
    with suppress(csv.Error):
        rows = [[shown(value) for value in row] for row in csv.reader(text.splitlines())]
    return tuple(_make_check(row) for row in rows[1:] if len(row) in _WIDTHS)


def _make_check(row: Sequence[str]) -> BackendCheck:
    check = BackendCheck(*row)
    # Whatever else the cell says: a test that failed is one.
    return replace(check, unit_test="Failed") if "failed" in " ".join(row).lower() else check
