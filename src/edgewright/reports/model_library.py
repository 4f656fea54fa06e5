"""Model libraries for readers: what was built, and what was left out."""

from edgewright.reports.numbers import byte_size
from edgewright.reports.page import Block
from edgewright.sdk.model_library import BuiltLibraries

__all__ = ["page"]


def page(built: BuiltLibraries) -> list[Block]:
    """The report of qnn-model-lib-generator."""
    blocks: list[Block] = [f"note: left out {reason}" for reason in built.skipped]
    for library in built.libraries:
        blocks.append(f"wrote {library.file}")
        blocks.append(
            f"  {library.target}, {byte_size(library.bytes)}, {library.seconds:.1f} s with {library.compiler}"
        )
    return blocks
