"""The custom I/O file of the legacy converters: what a YAML file says of inputs and outputs by name."""

from collections.abc import Mapping
from pathlib import Path

from edgewright.config.converter_parts import LAYOUTS
from edgewright.config.io_config import (
    DESIRED_DTYPES,
    QuantParams,
    TensorConfig,
    read_field,
    read_quant_params,
)
from edgewright.config.io_config_tree import Entry, read_tree
from edgewright.config.values import OneOf
from edgewright.core.errors import EdgewrightError, Problems, shown

DEFINED, UNDEFINED = "QNN_DEFINITION_DEFINED", "QNN_DEFINITION_UNDEFINED"
ONLY_ONNX = "--dump_custom_io_config_template of qnn-onnx-converter"


def read_custom_io(path: Path | str) -> Mapping[str, TensorConfig]:
    """The entries of a file by IOName; everything wrong with them comes at once."""
    found: dict[str, TensorConfig] = {}
    problems: list[EdgewrightError] = []
    for item in read_tree(path, ONLY_ONNX).items():
        try:
            tensor = _read_tensor(item)
            if tensor.name in found:
                raise item.wrong(f"'{shown(tensor.name)}' is there twice, expected once")
            found[tensor.name] = tensor
        except EdgewrightError as problem:
            problems.append(problem)
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return found


def _read_tensor(item: Entry) -> TensorConfig:
    fields = item.fields(("IOName", "Layout", "Datatype", "QuantParam"))
    name = fields["IOName"].text() if "IOName" in fields else None
    if name is None:
        raise item.wrong("an entry has no 'IOName'", do="write the name of an input or output of the model")
    layouts = fields["Layout"].fields(("Model", "Custom")) if "Layout" in fields else {}
    dtype = read_field(fields, "Datatype", OneOf(DESIRED_DTYPES, str.lower))
    params = _read_params(fields["QuantParam"]) if "QuantParam" in fields else None
    if params is not None and dtype in {"float32", "float16"}:
        raise fields["QuantParam"].wrong(
            f"a scale and an offset are given for {dtype} values, expected uint8 or int8",
            do=f"set 'Type: {UNDEFINED}', or another 'Datatype'",
        )
    return TensorConfig(
        name,
        source_layout=read_field(layouts, "Model", OneOf(LAYOUTS, str.upper)),
        layout=read_field(layouts, "Custom", OneOf(LAYOUTS, str.upper)),
        # The guide's own type for inputs with a scale and an offset.
        dtype="uint8" if dtype is None and params is not None else dtype,
        params=params,
    )


def _read_params(entry: Entry) -> QuantParams | None:
    known = ("Type", "Scale", "Offset")
    kind = read_field(entry.fields(known), "Type", OneOf((DEFINED, UNDEFINED)))
    params = read_quant_params(entry, known)
    if kind == DEFINED and params is None:
        raise entry.wrong(
            f"'Type' is {DEFINED}, and there is no 'Scale'", do=f"give one, or set 'Type: {UNDEFINED}'"
        )
    return None if kind == UNDEFINED else params
