"""What the converters share: the record of a conversion, the command that is stored, the copyright text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewright.config.group import OptionGroup
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import read_limited
from edgewright.ir.contract import IoTensor, contract
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.model.saving import SavedFiles
from edgewright.quantize.report import QuantizationSummary

LARGEST_COPYRIGHT = 1 << 20
# Options that name files: the written text must not depend on where they lie.
_PATHS = frozenset(
    {"input_network", "model", "output_path", "copyright_file", "custom_io", "input_list", "io_config"}
    | {"dump_custom_io_config_template", "dump_relay"}
    | {"dump_io_config_template", "quantization_overrides", "input_dlc", "output_dlc", "data"}
)


@dataclass(frozen=True)
class Conversion:
    """What a conversion wrote, and what its user must know."""

    files: SavedFiles
    contract: tuple[IoTensor, ...]
    notes: tuple[str, ...]
    ops: int
    parameters: int
    macs: int
    quantization: QuantizationSummary | None = None


def record_conversion(
    graph: Graph, io_types: Mapping[str, TensorType], files: SavedFiles, notes: Iterable[str]
) -> Conversion:
    """The record of a graph that was written; ``io_types`` are those of the source."""
    macs = sum(n.op.macs(graph.input_types(n), graph.output_types(n)) for n in graph.nodes)
    parameters = sum(array.size for array in graph.constants.values())
    return Conversion(files, contract(graph, io_types), tuple(notes), len(graph), parameters, macs)


def spell_command(tool: str, groups: Iterable[OptionGroup]) -> str:
    """The tool and all its options as one line that is the same on every machine."""
    values = {name: getattr(group, name) for group in groups for name in group.options()}
    return "; ".join([tool, *(f"{name}={_spell_value(name, values[name])}" for name in sorted(values))])


def _spell_value(name: str, value: object) -> str:
    return Path(value).name if name in _PATHS and isinstance(value, str) else str(value)


def read_copyright(file: str | None) -> str:
    """The text of a copyright file; empty where none is given."""
    if file is None:
        return ""
    try:
        return read_limited(file, LARGEST_COPYRIGHT).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"the copyright file is not UTF-8 text (byte {problem.start})",
            Where(file=file),
            do="save it as UTF-8",
        ) from None
