"""`edgewright llm chat`: a talk with a language model in the terminal."""

from contextlib import closing

from edgewright.config.llm import GenerationOptions, LanguageModelPath
from edgewright.config.umbrella import Messages
from edgewright.tools.tool import Tool

NAME = "edgewright llm chat"


def run(model: LanguageModelPath, options: GenerationOptions, _messages: Messages) -> None:
    """Ask, answer, and remember both."""
    from edgewright.tools.llm_generator import open_generator

    generator = open_generator(model, options)
    talk: list[dict[str, str]] = []
    with closing(generator):
        generator.check_chat()
        while (question := _ask()) is not None:
            talk.append({"role": "user", "content": question})
            pieces = []
            for piece in generator.answer(talk, options.tokens):
                print(piece, end="", flush=True)
                pieces.append(piece)
            print()
            talk.append({"role": "assistant", "content": "".join(pieces)})


def _ask() -> str | None:
    """A line of the user; None at the end of input, or at an empty line."""
    try:
        return input("> ").strip() or None
    except EOFError:
        return None


TOOL = Tool(
    NAME,
    "Talk to a language model in the terminal, with its own chat template; an empty line ends the talk.",
    (LanguageModelPath, GenerationOptions, Messages),
    run,
    examples=((f"{NAME} phi-int4.gguf", "questions and answers, line by line"),),
)
main = TOOL.main
