"""`edgewright llm run`: a language model continues a text."""

from contextlib import closing

from edgewright.config.llm import GenerationOptions, LanguageModelPath, Prompt
from edgewright.config.umbrella import Messages
from edgewright.tools.tool import Tool

NAME = "edgewright llm run"


def run(model: LanguageModelPath, prompt: Prompt, options: GenerationOptions, _messages: Messages) -> None:
    """Print the text as it is written."""
    from edgewright.tools.llm_generator import open_generator

    generator = open_generator(model, options)
    with closing(generator):
        for piece in generator.continue_text(prompt.prompt, options.tokens):
            print(piece, end="", flush=True)
    print()


TOOL = Tool(
    NAME,
    "Continue a text with a language model of any format, in its own runtime, token by token.",
    (LanguageModelPath, Prompt, GenerationOptions, Messages),
    run,
    examples=(
        (f'{NAME} phi-int4.gguf --prompt "In the beginning"', "the likeliest text"),
        (f'{NAME} phi-int4-onnx --prompt "Once" --temperature 0.8 --seed 1 --tokens 200', "another one"),
    ),
)
main = TOOL.main
