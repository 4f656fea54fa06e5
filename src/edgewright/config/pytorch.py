"""The options of qnn-pytorch-converter alone, and the groups and rules that make up the tool."""

from dataclasses import dataclass

from edgewright.config.converter import CONVERTER, DryRun
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.rules import Beats, Rule


@dataclass(frozen=True)
class PytorchOnly(OptionGroup):
    """What only PyTorch models have or need."""

    title = "PyTorch"

    dump_relay: str | None = opt(
        metavar="FILE", help="write the graph as text, as it stands after the import"
    )
    dump_out_names: bool = opt(
        help="write model_output_names.json beside the model: each output's name in it and in the program"
    )
    pytorch_custom_op_lib: str | None = opt(
        also="-pcl",
        metavar="LIB[,LIB]",
        example="--pytorch_custom_op_lib libops.so",
        help="libraries that define custom ops, separated by commas; a library is code that runs as it is "
        "loaded: name only those you trust",
    )

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries one by one."""
        return tuple(filter(None, (self.pytorch_custom_op_lib or "").split(",")))


PYTORCH_CONVERTER: tuple[type[OptionGroup], ...] = (*CONVERTER, PreserveIo, DryRun, PytorchOnly)
PYTORCH_CONVERTER_RULES: tuple[Rule, ...] = (Beats("--custom_io", "--preserve_io"),)
