"""Compares the encodings of a converted model with those of an AIMET file, mismatches marked in a sheet."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.encodings import describe_encodings, load_encodings
from edgewright.config.accuracy_debugger import DebuggerFolder
from edgewright.config.encoding_comparison import EncodingInputs
from edgewright.core.errors import BadInput, UsageError, shown
from edgewright.core.files import write_all
from edgewright.core.optional import require
from edgewright.core.words import did_you_mean
from edgewright.model.saving import load_graph
from edgewright.quantize.tensor_encodings import TensorEncoding, list_encodings
from edgewright.sdk.debugger.folders import open_feature_folder

log = logging.getLogger(__name__)

FEATURE = "compare_encodings"
SHEET = "encodings_diff.xlsx"
EXTRACTED = "extracted_encodings.json"
FIELDS = ("bitwidth", "dtype", "is_symmetric", "scale", "offset", "min", "max")
# The same bytes each time: a workbook would store the time of its making.
MADE = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class ComparedEncoding:
    """One channel of one tensor: what both sides say of each field; ``wrong`` are the fields that differ."""

    name: str
    is_param: bool
    channel: int | None
    own: Mapping[str, Any]
    other: Mapping[str, Any]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class EncodingsComparison:
    """All tensors that both sides have, and those that only one has."""

    folder: str = ""
    rows: tuple[ComparedEncoding, ...] = ()
    only_own: tuple[str, ...] = ()
    only_other: tuple[str, ...] = ()

    @property
    def mismatches(self) -> tuple[str, ...]:
        """The tensors that differ somewhere."""
        return tuple(dict.fromkeys(row.name for row in self.rows if row.wrong))


def compare_encoding_files(inputs: EncodingInputs, place: DebuggerFolder) -> EncodingsComparison:
    """Writes the extracted encodings and a sheet of both sides."""
    workbooks = require("xlsxwriter", to="write encodings_diff.xlsx")
    own = list_encodings(load_graph(inputs.input))
    other = load_encodings(inputs.aimet_encodings_json)
    if other is None or not other.tensors:
        raise BadInput(f"'{shown(inputs.aimet_encodings_json)}' has no encodings")
    with open_feature_folder(place.working_dir, FEATURE, place.output_dirname, (inputs, place)) as folder:
        result = _compare(
            inputs, {e.name: e for e in own.tensors}, {e.name: e for e in other.tensors}, folder
        )
        _warn(result)
        text = json.dumps(describe_encodings(own, "0.6.1"), indent=1)
        write_all({folder / EXTRACTED: [f"{text}\n".encode()], folder / SHEET: [_draw(workbooks, result)]})
    return result


def _compare(
    inputs: EncodingInputs,
    own: Mapping[str, TensorEncoding],
    other: Mapping[str, TensorEncoding],
    folder: Path,
) -> EncodingsComparison:
    names = [name for name in dict.fromkeys((*own, *other)) if _is_chosen(inputs, own, other, name)]
    if inputs.specific_node is not None and inputs.specific_node not in names:
        raise UsageError(
            f"--specific_node is '{shown(inputs.specific_node)}', which has no encoding of the chosen kind",
            do=did_you_mean(inputs.specific_node, [*own, *other], "name a tensor of either file"),
        )
    if inputs.specific_node is not None:
        names = [inputs.specific_node]
    rows = [
        row
        for name in names
        if name in own and name in other
        for row in _compare_tensor(own[name], other[name], inputs.precision)
    ]
    return EncodingsComparison(
        str(folder),
        tuple(rows),
        tuple(name for name in names if name not in other),
        tuple(name for name in names if name not in own),
    )


def _is_chosen(
    inputs: EncodingInputs, own: Mapping[str, TensorEncoding], other: Mapping[str, TensorEncoding], name: str
) -> bool:
    is_param = bool((own.get(name) or other[name]).is_param)
    return not (is_param and inputs.activations_only) and not (not is_param and inputs.params_only)


def _compare_tensor(own: TensorEncoding, other: TensorEncoding, places: int) -> Iterator[ComparedEncoding]:
    count = max(len(own.scales), len(other.scales), 1)
    for channel in range(count):
        first, second = _list_fields(own, channel), _list_fields(other, channel)
        wrong = tuple(name for name in FIELDS if not _is_same(first[name], second[name], places))
        index = channel if count > 1 else None
        yield ComparedEncoding(own.name, bool(own.is_param), index, first, second, wrong)


def _list_fields(entry: TensorEncoding, channel: int) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(FIELDS)
    fields |= {"bitwidth": entry.bits, "dtype": "float" if entry.is_float else "int"}
    if entry.is_float or channel >= len(entry.scales):
        return fields
    scale, offset = entry.scales[channel], entry.offsets[channel]
    return fields | {
        "is_symmetric": bool(entry.is_symmetric),
        "scale": scale,
        "offset": offset,
        "min": scale * offset,
        "max": scale * (offset + (1 << entry.bits) - 1),
    }


def _is_same(first: Any, second: Any, places: int) -> bool:
    if not isinstance(first, float) or not isinstance(second, float):
        return bool(first == second)
    # Converted models store single precision.
    return round(first, places) == round(second, places) or np.float32(first) == np.float32(second)


def _warn(result: EncodingsComparison) -> None:
    for names, here, there in ((result.only_own, "QNN", "AIMET"), (result.only_other, "AIMET", "QNN")):
        if names:
            listed = ", ".join(f"'{shown(name, 60)}'" for name in names[:5])
            log.warning("%d encodings are in %s but not in %s: %s", len(names), here, there, listed)


def _draw(workbooks: Any, result: EncodingsComparison) -> bytes:
    buffer = BytesIO()
    book = workbooks.Workbook(buffer, {"in_memory": True, "nan_inf_to_errors": True})
    book.set_properties({"created": MADE})
    head, marked = book.add_format({"bold": True}), book.add_format({"bg_color": "#FFC7CE"})
    for title, is_param in (("activations", False), ("params", True)):
        sheet = book.add_worksheet(title)
        headers = ["Name", "Channel", *(f"{name} {side}" for name in FIELDS for side in ("QNN", "AIMET"))]
        for column, text in enumerate(headers):
            sheet.write_string(0, column, text, head)
        sheet.freeze_panes(1, 1)
        sheet.set_column(0, 0, 50)
        rows = [row for row in result.rows if row.is_param == is_param]
        for line, row in enumerate(rows, start=1):
            sheet.write_string(line, 0, row.name, marked if row.wrong else None)
            sheet.write(line, 1, "" if row.channel is None else row.channel)
            for place, name in enumerate(FIELDS):
                look = marked if name in row.wrong else None
                for side, values in enumerate((row.own, row.other)):
                    value = values[name]
                    cell = value if isinstance(value, int | float) and value is not None else str(value)
                    sheet.write(line, 2 + 2 * place + side, cell, look)
    book.close()
    return buffer.getvalue()
