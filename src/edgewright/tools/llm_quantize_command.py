"""`edgewright llm quantize`: a language model in few bits, in the format of a runtime."""

from edgewright.config.llm import LanguageModelFolder, LanguageModelOptions
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright llm quantize"


def run(
    model: LanguageModelFolder, options: LanguageModelOptions, report: Report, _messages: Messages
) -> None:
    """Quantize, write and report."""
    from pathlib import Path

    from edgewright.core.errors import UsageError
    from edgewright.llm.quantize_model import check_increase, choose_recipe, quantize_language_model
    from edgewright.llm.recipe import Recipe
    from edgewright.reports.llm import make_page
    from edgewright.reports.llm_report import write_report

    if options.verify and options.text is None:
        raise UsageError("--verify needs a text that judges", do="add --text TEXT, another than --calib")
    recipe = Recipe(
        options.precision,
        block=options.block,
        is_symmetric=not options.asym,
        keep=dict(options.keep),
        is_smoothed=options.awq,
        mixed=options.mixed,
        device=options.device,
        activations=options.activations or "",
        context=options.context,
    )
    recipe = choose_recipe(
        recipe, options.recipe, has_text=options.calib is not None, gguf_type=options.gguf_type
    )
    made = quantize_language_model(
        model.checkpoint,
        options.to,
        recipe=recipe,
        calibration=options.calib,
        calibration_tokens=options.calib_tokens,
        output=options.output_path,
        text=options.text if options.verify else None,
        resume=options.resume,
    )
    folder = options.report or (Path(made.path).parent if options.verify else None)
    page = None if folder is None else write_report(Path(folder), model.checkpoint, made)
    tell(report, made, lambda record: make_page(record, page))
    check_increase(made, options.max_increase)


TOOL = Tool(
    NAME,
    "Quantize a language model (Phi 3, 3.5, 4, 4 mini; Llama, Mistral, Qwen 2 and 3), one layer in memory.",
    (LanguageModelFolder, LanguageModelOptions, Report, Messages),
    run,
    examples=(
        (f"{NAME} Phi-3.5-mini-instruct", "4 bits in blocks of 32, no text needed"),
        (f"{NAME} Phi-3.5-mini-instruct --calib book.txt -o phi.gguf", "the same size, less damage"),
        (f"{NAME} Phi-4-mini-instruct --gguf_type q4_k_m --calib book.txt", "super-blocks of llama.cpp"),
        (f"{NAME} Phi-4-mini-instruct --calib book.txt --mixed 5", "8 bits where they matter most"),
        (f"{NAME} Phi-4-mini-instruct --precision int8 --to onnx", "8 bits, for ONNX Runtime GenAI"),
        (f"{NAME} Phi-3.5-mini-instruct --to openvino --calib a.txt --verify --text b.txt", "run and judged"),
        (f"{NAME} Phi-4-mini-instruct --precision lpbq --to safetensors --calib a.txt", "encodings for QNN"),
        (f"{NAME} Phi-3.5-mini-instruct --keep lm_head=int8 --keep down_proj=int8", "some matrices wider"),
    ),
)
main = TOOL.main
