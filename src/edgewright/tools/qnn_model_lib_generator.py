"""qnn-model-lib-generator: compiles a converted model into libraries."""

from edgewright.config.model_library import MODEL_LIBRARY, LibraryOutput, LibrarySource
from edgewright.config.umbrella import Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qnn-model-lib-generator"


def run(source: LibrarySource, output: LibraryOutput, report: Report) -> None:
    """Build the libraries and list them."""
    from edgewright.reports.model_library import make_page
    from edgewright.sdk.model_library import generate_libraries

    tell(report, generate_libraries(source, output), make_page)


TOOL = Tool(
    NAME,
    "Compile the .cpp and .bin of a converted model into model libraries, with this machine's compilers.",
    (*MODEL_LIBRARY, Report),
    run,
    examples=(
        (f"{NAME} -c m.cpp -b m.bin", "lib/x86_64-linux-clang/libm.so, and Android's where an NDK is set"),
        (f"{NAME} -c m.cpp -b m.bin -t aarch64-ubuntu-gcc9.4 -l net -o out", "for a device with Ubuntu"),
        (f"{NAME} -c m.cpp -b m.bin -t x86_64-linux-clang -o net.so", "one file"),
    ),
)
main = TOOL.main
