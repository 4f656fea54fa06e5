"""The options of qnn-onnx-converter alone, and the groups and rules that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER, DryRun
from edgewright.config.group import OptionGroup
from edgewright.config.option import opt
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.rules import Beats, Rule
from edgewright.config.shape_options import batch_size, symbol_sizes

__all__ = ["ONNX_CONVERTER", "ONNX_CONVERTER_RULES", "OnnxOnly"]


@dataclass(frozen=True)
class OnnxOnly(OptionGroup):
    """What only ONNX models have or need."""

    title = "ONNX"

    no_simplification: bool = opt(
        *("--no_simplification", "-n"),
        nargs=0,
        help="leave out the optional rewrites; some models convert only with them",
    )
    batch: int | None = batch_size("--batch", "-b", more="; where an input has no batch use -d instead")
    define_symbols: tuple[tuple[str, int], ...] = symbol_sizes("--define_symbol", "-s")
    keep_int64_inputs: bool = opt(
        "--keep_int64_inputs", nargs=0, help="int64 inputs stay int64; they become int32 otherwise"
    )
    dump_custom_io_config_template: str | None = opt(
        "--dump_custom_io_config_template",
        metavar="FILE",
        help="write a YAML file to start from for --custom_io, and stop",
    )


ONNX_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, PreserveIo, DryRun, OnnxOnly)
ONNX_CONVERTER_RULES: tuple[Rule, ...] = (Beats("--custom_io", "--preserve_io"),)
