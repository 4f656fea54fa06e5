"""Groups of options that the legacy converters and the qairt tools have alike."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes
from edgewright.config.values import names

__all__ = ["CPP_FILE", "DebugLog", "OpPackages"]

CPP_FILE = opt(
    also="-o",
    metavar="FILE",
    help="the C++ file to write, its .bin and _net.json beside it; named after the source otherwise",
)


@dataclass(frozen=True)
class OpPackages(OptionGroup):
    """Ops that are not QNN's own."""

    title = "Op packages"
    rules = (Excludes("--package_name", "--op_package_config"),)

    converter_op_package_lib: tuple[str, ...] | None = opt(
        also="-cpl",
        type=names,
        metavar="LIB",
        help="libraries that give output shapes and data types of custom ops, in the order of the XML files; "
        "a .py file registers functions",
    )
    package_name: str | None = opt(
        also="-p", metavar="NAME", help="the package of every op in the model, QNN's own by default"
    )
    op_package_config: tuple[str, ...] = opt(
        also="-opc", metavar="FILE", help="XML files that describe custom ops"
    )


@dataclass(frozen=True)
class DebugLog(OptionGroup):
    """How much the tool says."""

    title = "Messages"

    debug: str | None = opt(
        nargs="?", const="debug", metavar="[LEVEL]", help="say what happens to each op; show tracebacks"
    )

    @property
    def loudness(self) -> str | None:
        """Debug with --debug."""
        return "debug" if self.debug is not None else None
