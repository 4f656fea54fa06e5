"""What qnn-platform-validator says on a device: its own validator is run there."""

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

from edgewright.core.errors import shown
from edgewright.core.files import read_limited
from edgewright.run.remote.address import parse_address
from edgewright.run.remote.job import OUTPUT, open_device
from edgewright.sdk.platform_check import CSV_NAME, BackendCheck

VALIDATOR = "qnn-platform-validator"
_LARGEST = 1 << 20


def check_device_platform(device: str, words: Sequence[str]) -> tuple[BackendCheck, ...]:
    """The checks of a device, by its address; ``words`` are the options of the validator there."""
    address = parse_address(device)
    with open_device(address) as session, tempfile.TemporaryDirectory(prefix="edgewright-") as place:
        finished = session.execute({}, words, Path(place), VALIDATOR)
        table = Path(place, OUTPUT, CSV_NAME)
        if table.is_file():
            return _read_csv(read_limited(table, _LARGEST).decode("utf-8", "replace"))
        # The SDK's validator writes no table on the device; what it says is the result.
        said = " ".join(finished.output.split())
        return (BackendCheck("device", shown(str(address)), "", detail=shown(said, 400)),)


def _read_csv(text: str) -> tuple[BackendCheck, ...]:
    width = len(BackendCheck.__dataclass_fields__)
    rows = [[shown(value) for value in row] for row in csv.reader(text.splitlines())][1:]
    return tuple(BackendCheck(*row) for row in rows if len(row) == width)
