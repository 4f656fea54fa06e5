"""What was built of a language model for the NPU, as a page of text."""

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes
from edgewright.llm.npu.build_model import LanguageModelBuild
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
        Table("Files", ("file", "size"), sizes),
    ]
    if built.compiler != "htp-native":
        blocks.append("the genuine compiler is not installed: the context is one of ours, no device takes it")
    if built.score is None:
        return [*blocks, "not judged: its perplexity is not known; add --text TEXT"]
    blocks += ["On the simulation:", *make_score_page(built.score)]
    if built.native_score is None:
        return [*blocks, "the emulator was not asked"]
    return [*blocks, "On the emulator:", *make_score_page(built.native_score)]
