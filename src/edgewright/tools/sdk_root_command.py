"""`edgewright sdk-root`: makes a folder like QNN_SDK_ROOT for scripts that were written for the SDK."""

from edgewright.config.sdk import SdkFolder
from edgewright.config.umbrella import Messages, Report
from edgewright.core.version import VERSION
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(folder: SdkFolder, report: Report, _messages: Messages) -> None:
    """Make the tree and say what is in it."""
    from edgewright.reports.sdk_root import make_page
    from edgewright.sdk.sdk_root import make_sdk_root

    tell(report, make_sdk_root(folder.folder, VERSION), make_page)


TOOL = Tool(
    "edgewright sdk-root",
    "Make a folder like QNN_SDK_ROOT (bin, include, lib), so that scripts written for the SDK run unchanged.",
    (SdkFolder, Report, Messages),
    run,
    examples=(("edgewright sdk-root ~/qnn", "make it; then: source ~/qnn/bin/envsetup.sh"),),
)
main = TOOL.main
