"""`edgewright llm eval`: how well a language model predicts a text, in its own runtime."""

from edgewright.config.llm import LanguageModelPath, LanguageModelText
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright llm eval"


def run(model: LanguageModelPath, text: LanguageModelText, report: Report, _messages: Messages) -> None:
    """Measure and report."""
    from edgewright.llm.evaluate_file import evaluate_file
    from edgewright.reports.llm import make_score_page

    score = evaluate_file(
        model.path,
        text.text,
        against=text.against,
        window=text.window,
        windows=text.windows,
        backend=text.backend or "",
    )
    tell(report, score, make_score_page)


TOOL = Tool(
    NAME,
    "Measure the perplexity of a text by a language model of any format, in a process of its own.",
    (LanguageModelPath, LanguageModelText, Report, Messages),
    run,
    examples=(
        (f"{NAME} phi-int4.gguf --text book.txt", "by llama.cpp"),
        (f"{NAME} phi-int4-onnx --text book.txt --against Phi-3.5-mini-instruct", "what 4 bits cost"),
        (f"{NAME} Phi-3.5-mini-instruct --text tokens.npy --windows 8", "the checkpoint itself"),
    ),
)
main = TOOL.main
