"""Generated op packages as text."""

from edgewright.core.page import Block
from edgewright.sdk.op_package_generate import GeneratedPackages


def make_page(made: GeneratedPackages) -> list[Block]:
    """The report of qnn-op-package-generator."""
    blocks: list[Block] = [f"wrote {file}" for file in made.files]
    blocks += [f"note: {note}" for note in made.notes]
    return [*blocks, *(f"next: fill in {folder}, then run make there" for folder in made.folders)]
