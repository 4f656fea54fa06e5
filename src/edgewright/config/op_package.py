"""The options of qnn-op-package-generator."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class PackageOutput(OptionGroup):
    """What is generated, and where."""

    title = "Op package"

    config_path: tuple[str, ...] = opt(
        also="-p",
        required=True,
        repeated=True,
        metavar="FILE",
        help="the XML file that describes an op package; may be given several times",
    )
    output_path: str = opt(also="-o", default=".", metavar="FOLDER", help="where the package's folder goes")
    force_generation: bool = opt(
        "--force-generation", "-f", help="replace the package that is there, all of it"
    )
    converter_op_package: bool = opt(
        also="-cop", help="also generate the library that tells converters the shapes of outputs"
    )


@dataclass(frozen=True)
class PackageLog(OptionGroup):
    """How much the tool says."""

    title = "Messages"

    debug: bool = opt(help="say more; show tracebacks")

    @property
    def loudness(self) -> str | None:
        """Debug with --debug."""
        return "debug" if self.debug else None


OP_PACKAGE: tuple[type[OptionGroup], ...] = (PackageOutput, PackageLog)
