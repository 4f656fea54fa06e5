"""The options of qnn-onnx-converter alone, and the groups and rules that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER, DryRun
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.rules import Beats, Rule
from edgewright.config.shape_options import BATCH_SIZE, SYMBOL_SIZES


@dataclass(frozen=True)
class OnnxOnly(OptionGroup):
    """What only ONNX models have or need."""

    title = "ONNX"

    no_simplification: bool = opt(
        also="-n", help="leave out the optional rewrites; some models convert only with them"
    )
    batch: int | None = opt(also="-b", like=BATCH_SIZE)
    define_symbols: tuple[tuple[str, int], ...] = opt("--define_symbol", "-s", like=SYMBOL_SIZES)
    keep_int64_inputs: bool = opt(help="int64 inputs stay int64; they become int32 otherwise")
    dump_custom_io_config_template: str | None = opt(
        metavar="FILE", help="write a YAML file to start from for --custom_io, and stop"
    )


ONNX_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, PreserveIo, DryRun, OnnxOnly)
ONNX_CONVERTER_RULES: tuple[Rule, ...] = (Beats("--custom_io", "--preserve_io"),)
