"""Model libraries as text: what was built, and what was left out."""

from edgewright.core.page import Block
from edgewright.core.quantities import format_bytes
from edgewright.sdk.model_library import BuiltLibraries


def make_page(built: BuiltLibraries) -> list[Block]:
    """The report of qnn-model-lib-generator."""
    blocks: list[Block] = [f"note: left out {reason}" for reason in built.skipped]
    for library in built.libraries:
        blocks.append(f"wrote {library.file}")
        blocks.append(
            f"  {library.target}, {format_bytes(library.bytes)}, "
            f"{library.seconds:.1f} s with {library.compiler}"
        )
    return blocks
