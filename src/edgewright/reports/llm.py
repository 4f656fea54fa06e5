"""What was made of a language model, as a page of text."""

from edgewright.core.page import Block
from edgewright.core.quantities import format_bytes
from edgewright.llm.quantize_model import LanguageModelFile


def make_page(made: LanguageModelFile) -> list[Block]:
    """A few lines."""
    bits = 8 * made.file_bytes / made.parameters
    sizes = f"{format_bytes(made.source_bytes)} to {format_bytes(made.file_bytes)}"
    text = f"calibrated with {made.tokens} tokens" if made.tokens else "without a text"
    return [
        f"wrote {made.path}: {made.parameters / 1e6:.1f} million weights, {sizes}, {bits:.2f} bits a weight",
        f"{made.precision}, recipe {made.recipe}, {text}, in {made.seconds:.1f} s",
        "not run yet: its perplexity is not known here; try it with llama.cpp before you ship it",
    ]
