"""`edgewright backend-library`: a library with QNN's C interface that runs on our backends."""

from edgewright.config.sdk import BackendLibraryOptions
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(options: BackendLibraryOptions, report: Report, _messages: Messages) -> None:
    """Compile the library and say how it is used."""
    from edgewright.reports.backend_library import make_page
    from edgewright.sdk.backend_library import make_backend_library

    tell(report, make_backend_library(options), make_page)


TOOL = Tool(
    "edgewright backend-library",
    "Make a library that exports QnnInterface_getProviders, so that C and C++ programs and ONNX Runtime's "
    "QNN provider run on the CPU backend or on the simulation of HTP.",
    (BackendLibraryOptions, Report, Messages),
    run,
    examples=(
        ("edgewright backend-library -o lib", "lib/libEdgewrightCpu.so"),
        (
            "edgewright backend-library --kind htp-sim --qnn-names -o lib",
            "lib/libQnnHtp.so and lib/libQnnSystem.so, for programs that look for these names",
        ),
    ),
)
main = TOOL.main
