"""What was made of a language model, and how well it predicts a text, as pages of text."""

from pathlib import Path

from edgewright.core.page import Block
from edgewright.core.quantities import format_bytes
from edgewright.llm.evaluate_file import TextScore
from edgewright.llm.quantize_model import LanguageModelFile
from edgewright.reports.html.words import format_signed

RUNTIMES = {
    "gguf": "llama.cpp",
    "onnx": "ONNX Runtime",
    "openvino": "OpenVINO",
    "mlx": "MLX",
    "safetensors": "the float arithmetic of this package",
    "qnn": "a backend of this package",
}


def make_page(made: LanguageModelFile, report: Path | None = None) -> list[Block]:
    """A few lines, and where the report is."""
    bits = 8 * made.file_bytes / made.parameters
    sizes = f"{format_bytes(made.source_bytes)} to {format_bytes(made.file_bytes)}"
    text = f"calibrated with {made.tokens} tokens" if made.tokens else "without a text"
    blocks: list[Block] = [
        f"wrote {made.path}: {made.parameters / 1e6:.1f} million weights, {sizes}, {bits:.2f} bits a weight",
        f"{made.precision}, recipe {made.recipe}, {text}, in {made.seconds:.1f} s",
    ]
    blocks += [] if report is None else [f"report: {report}"]
    if made.score is not None:
        return blocks + make_score_page(made.score)
    return [*blocks, "not run yet: its perplexity is not known; add --verify --text TEXT"]


def make_score_page(score: TextScore) -> list[Block]:
    """Perplexity, and what it was before."""
    amount = f"{score.windows} pieces, {score.tokens} tokens"
    speed = f"reads {score.tokens_per_second:.0f} tokens a second here"
    if score.written_per_second is not None:
        speed += f", writes {score.written_per_second:.0f}"
    blocks: list[Block] = [
        f"perplexity {score.perplexity:.4f} over {amount}, by {RUNTIMES[score.format]}, {speed}"
    ]
    if score.limited_states is not None:
        blocks.append(f"{100 * score.limited_states:.4f} % of keys and values are at an end of their range")
    if score.increase is None or score.same_tokens is None or score.divergence is None:
        return blocks
    change = (
        f"float {score.float_perplexity:.4f}: {format_signed(score.increase)} % ({score.describe_interval()})"
    )
    agreement = (
        f"the likeliest next token is the same in {100 * score.same_tokens:.1f} % of places, "
        f"divergence {score.divergence:.5f} nats"
    )
    return [*blocks, change, agreement, *_describe_tokenizer(score)]


def _describe_tokenizer(score: TextScore) -> list[Block]:
    if score.has_same_tokenizer is None:
        return []
    kind = "the same tokens" if score.has_same_tokenizer else "OTHER TOKENS"
    return [f"the tokenizer gives {kind} for a probe as the checkpoint's"]
