"""A language model as the options of a command ask for it."""

from typing import TYPE_CHECKING

from edgewright.config.llm import GenerationOptions, LanguageModelPath

if TYPE_CHECKING:
    from edgewright.llm.generate import TextGenerator


def open_generator(model: LanguageModelPath, options: GenerationOptions) -> "TextGenerator":
    """Opens the runtime of a file."""
    from edgewright.llm.generate import TextGenerator
    from edgewright.llm.sampling import Sampling

    sampling = Sampling(
        options.temperature, options.top_k, options.top_p, options.repetition_penalty, options.seed
    )
    return TextGenerator(
        model.path, context=options.context, sampling=sampling, backend=options.backend or ""
    )
