"""qnn-op-package-generator: writes the skeleton of an op package."""

from edgewright.config.op_package import OP_PACKAGE, PackageLog, PackageOutput
from edgewright.config.umbrella import Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qnn-op-package-generator"


def run(output: PackageOutput, _log: PackageLog, report: Report) -> None:
    """Write the packages and list their files."""
    from edgewright.reports.op_package import make_page
    from edgewright.sdk.op_package_generate import generate_packages

    tell(report, generate_packages(output), make_page)


TOOL = Tool(
    NAME,
    "Write the skeleton of an op package, for the CPU, HTP, GPU and DSP backends, from its XML description.",
    (*OP_PACKAGE, Report),
    run,
    examples=(
        (f"{NAME} -p MyOps.xml -o packages", "packages/MyOps: source, makefile and the XML"),
        (f"{NAME} -p MyOps.xml -o packages -f -cop", "again, with a library of shapes for converters"),
    ),
)
main = TOOL.main
