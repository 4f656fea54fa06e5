"""What was built of a language model for the NPU, as a page of text."""

import math

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes
from edgewright.llm.evaluate_file import FEWEST
from edgewright.llm.npu.build_model import LanguageModelBuild
from edgewright.llm.npu.compare_backends import BackendComparison
from edgewright.reports.llm import make_score_page

SHOWN = (".bin", ".dlc")


def make_page(built: LanguageModelBuild) -> list[Block]:
    """What was written, and what it costs on the simulation and on the emulator."""
    shown = {name: size for name, size in built.file_bytes.items() if name.endswith(SHOWN)}
    sizes = tuple((name, format_bytes(size)) for name, size in shown.items())
    how = f"{built.precision} ({built.recipe})"
    blocks: list[Block] = [
        f"wrote {built.path}: {built.parameters / 1e6:.1f} million weights in {how}, for {built.target}",
        f"prompts are read {built.prefill} tokens at a time, the graphs look back on {built.context}",
        *_describe_parts(built),
        Table("Files", ("file", "size"), sizes),
    ]
    if not built.compiler:
        blocks.append("nothing was compiled, as asked")
    elif built.compiler != "htp-native":
        blocks.append("the genuine compiler is not installed: the context is one of ours, no device takes it")
    if built.score is None:
        return [*blocks, "not judged: its perplexity is not known; add --text TEXT"]
    blocks += ["On the simulation:", *make_score_page(built.score)]
    if built.native_score is None:
        return [*blocks, "the emulator was not asked"]
    blocks += ["On the emulator:", *make_score_page(built.native_score)]
    return [*blocks, *_compare_backends(built.comparison)]


def _compare_backends(comparison: BackendComparison | None) -> list[Block]:
    """How far emulator and simulation are apart, and from where on."""
    if comparison is None:
        return []
    interval = f"{comparison.difference_low:+.3f} to {comparison.difference_high:+.3f}, 95 %"
    known = (
        f" ({interval})" if math.isfinite(comparison.difference_low) and comparison.windows >= FEWEST else ""
    )
    line = (
        f"on the same {comparison.windows} pieces its perplexity is {comparison.difference:+.3f} % from the "
        f"simulation's{known}; logits agree to {comparison.logits:.1f} dB"
    )
    if comparison.is_close:
        return [line]
    distances = ", ".join(f"{value:.0f}" for value in comparison.layers)
    first = comparison.first_layer
    where = "no layer alone" if first is None else f"layer {first} first"
    return [line, f"they differ by more than they should: {where}; dB after each layer: {distances}"]


def _describe_parts(built: LanguageModelBuild) -> list[Block]:
    """Only what is not as usual."""
    facts = []
    if len(built.parts) > 1:
        facts.append(f"{len(built.parts)} parts of {', '.join(map(str, built.parts))} layers")
    if built.embedding == "outside":
        facts.append("embeddings are rows of embed_tokens.bin")
    if built.kv_bits != 16:
        facts.append(f"keys and values have {built.kv_bits} bits")
    return ["; ".join(facts)] if facts else []
