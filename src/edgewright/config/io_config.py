"""The I/O configuration of qairt-converter: what a YAML file says of each input and output."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgewright.config.converter_parts import DTYPES, LAYOUTS
from edgewright.config.io_config_tree import Entry, read_tree
from edgewright.config.values import LARGEST_NUMBER, OneOf, parse_dims
from edgewright.core.errors import EdgewrightError, Problems, shown

INPUTS = "Input Tensor Configuration"
OUTPUTS = "Output Tensor Configuration"
SOURCE = "Src Model Parameters"
DESIRED = "Desired Model Parameters"
DESIRED_DTYPES = ("float32", "float16", "uint8", "int8")
COLOURS = ("BGR", "RGB", "RGBA", "ARGB32", "NV21", "NV12")


@dataclass(frozen=True)
class QuantParams:
    """How integers of an input or output stand for real numbers: scale * (stored + offset)."""

    scale: float
    offset: int


@dataclass(frozen=True)
class TensorConfig:
    """What is said of one input or output; what is not said is None."""

    name: str
    source_dtype: str | None = None
    source_layout: str | None = None
    dtype: str | None = None
    layout: str | None = None
    # In the layout of the converted model.
    shape: tuple[int, ...] | None = None
    colour: str | None = None
    params: QuantParams | None = None
    # What the source wants; the file has no field for it.
    source_colour: str = "bgr"


@dataclass(frozen=True)
class IoConfig:
    """What is said of inputs and outputs, by name, and the file that says it."""

    file: str = ""
    tensors: Mapping[str, TensorConfig] = field(default_factory=dict)
    # The names that the file lists as inputs and as outputs, right or wrong.
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def tensor(self, name: str) -> TensorConfig:
        """What is said of an input or output."""
        return self.tensors.get(name, TensorConfig(name))

    def with_fields(self, name: str, **fields: Any) -> "IoConfig":
        """With more said of an input or output."""
        return replace(self, tensors={**self.tensors, name: replace(self.tensor(name), **fields)})

    def layouts(self) -> dict[str, str]:
        """The layouts that inputs and outputs get, by name."""
        return {name: tensor.layout for name, tensor in self.tensors.items() if tensor.layout is not None}


def read_io_config(path: Path | str) -> IoConfig:
    """The configuration in a file; everything wrong with it comes at once."""
    root = read_tree(path)
    problems: list[EdgewrightError] = []
    sections: dict[str, dict[str, TensorConfig]] = {INPUTS: {}, OUTPUTS: {}}
    for section, entry in root.fields((INPUTS, OUTPUTS)).items():
        for item in entry.items():
            _add(item, sections[section], problems, is_input=section == INPUTS)
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    # A value that is both stays what it is as an input.
    tensors = {**sections[INPUTS], **sections[OUTPUTS], **sections[INPUTS]}
    return IoConfig(str(path), tensors, tuple(sections[INPUTS]), tuple(sections[OUTPUTS]))


def _add(
    item: Entry, found: dict[str, TensorConfig], problems: list[EdgewrightError], *, is_input: bool
) -> None:
    try:
        tensor = _read_tensor(item, is_input=is_input)
    except EdgewrightError as problem:
        problems.append(problem)
        return
    if tensor is None:
        return
    if tensor.name in found:
        problems.append(item.wrong(f"'{shown(tensor.name)}' is there twice, expected once"))
    found[tensor.name] = tensor


def _read_tensor(item: Entry, *, is_input: bool) -> TensorConfig | None:
    fields = item.fields(("Name", SOURCE, DESIRED))
    if not fields:
        return None
    name = fields["Name"].text() if "Name" in fields else None
    if name is None:
        raise item.wrong("an entry has no 'Name'", do="write the name of an input or output of the model")
    source = _read_params(fields.get(SOURCE), ("DataType", "Layout"))
    known = ("DataType", "Layout", "QuantParams", *(("Shape", "Color Conversion") if is_input else ()))
    desired = _read_params(fields.get(DESIRED), known)
    return TensorConfig(
        name,
        read_field(source, "DataType", OneOf(DTYPES, str.lower)),
        read_field(source, "Layout", OneOf(LAYOUTS, str.upper)),
        read_field(desired, "DataType", OneOf(DESIRED_DTYPES, str.lower)),
        read_field(desired, "Layout", OneOf(LAYOUTS, str.upper)),
        read_field(desired, "Shape", _shape),
        read_field(desired, "Color Conversion", OneOf(COLOURS, str.upper)),
        None
        if "QuantParams" not in desired
        else read_quant_params(desired["QuantParams"], ("Scale", "Offset")),
    )


def _read_params(entry: Entry | None, known: tuple[str, ...]) -> dict[str, Entry]:
    if entry is None:
        return {}
    # The guide spells the data type of outputs in another way.
    fields = entry.fields((*known, "DType"))
    if "DType" in fields:
        if "DataType" in fields:
            raise entry.wrong("both 'DataType' and 'DType' are there, expected one of them")
        fields["DataType"] = fields.pop("DType")
    return fields


def read_quant_params(entry: Entry, known: tuple[str, ...]) -> QuantParams | None:
    """A scale and an offset among the known fields; None where both are empty."""
    fields = entry.fields(known)
    scale, offset = read_field(fields, "Scale", _scale), read_field(fields, "Offset", _parse_offset)
    if scale is None and offset is None:
        return None
    if scale is None:
        raise entry.wrong("'Offset' is there without 'Scale'", do="give both")
    return QuantParams(scale, offset or 0)


def read_field(fields: Mapping[str, Entry], name: str, parse: Callable[[str], Any]) -> Any:
    """A field's text as a value, None where it is empty; a text that makes no sense is an error."""
    entry = fields.get(name)
    text = None if entry is None else entry.text()
    if entry is None or text is None:
        return None
    try:
        return parse(text)
    except ValueError as expected:
        raise entry.wrong(f"'{name}' is '{shown(text)}', expected {expected}") from None


def _shape(text: str) -> tuple[int, ...]:
    bare = text.strip()
    pairs = {"(": ")", "[": "]"}
    if bare[:1] in pairs and bare.endswith(pairs[bare[0]]):
        bare = bare[1:-1]
    return parse_dims(bare)


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError("a finite number above 0")
    return scale


def _parse_offset(text: str) -> int:
    try:
        offset = int(text)
    except ValueError:
        offset = LARGEST_NUMBER + 1
    if abs(offset) > LARGEST_NUMBER:
        raise ValueError("a whole number")
    return offset
