"""Language models: what `ew.llm` is."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from edgewright.estimate.language import LanguageEstimate, estimate_language_model
from edgewright.llm.calibration import MOST_TOKENS
from edgewright.llm.evaluate_file import TextScore, evaluate_file
from edgewright.llm.generate import TextGenerator
from edgewright.llm.load.config import read_model_spec
from edgewright.llm.npu.build_model import (
    BuildRequest,
    LanguageModelBuild,
    build_language_model,
    check_build,
)
from edgewright.llm.quantize_model import (
    LanguageModelFile,
    check_increase,
    choose_recipe,
    quantize_language_model,
)
from edgewright.llm.recipe import Recipe
from edgewright.llm.sampling import Sampling
from edgewright.reports.llm_report import write_report


def quantize(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    checkpoint: Path | str,
    *,
    to: str = "gguf",
    precision: str = "int4",
    gguf_type: str | None = None,
    recipe: str | None = None,
    block: int = 32,
    asym: bool = False,
    activations: str | None = None,
    calib: Path | str | None = None,
    calib_tokens: int = MOST_TOKENS,
    context: int | None = None,
    keep: Mapping[str, str] | None = None,
    awq: bool = False,
    mixed: float | None = None,
    device: str = "auto",
    text: Path | str | None = None,
    max_increase: float | None = None,
    report: Path | str | None = None,
    resume: bool = False,
    output: Path | str | None = None,
) -> LanguageModelFile:
    """Quantizes a Hugging Face checkpoint and writes it in the format of a runtime.

    Args:
        checkpoint: a folder with config.json, .safetensors and the tokenizer's files.
        to: gguf, onnx, openvino, mlx or safetensors.
        precision: int4, lpbq, int8, fp16 or fp32.
        gguf_type: the type of a GGUF file by its name, q4_k_m for example, in place of precision and asym.
        recipe: fast, balanced or best; best with `calib` and fast without where nothing is said.
        block: weights that share a scale.
        asym: codes with a zero point in place of symmetric ones.
        activations: int8 or float, what products of ONNX and OpenVINO files round their inputs to.
        calib: a text that calibrates 4 bits, or a .npy file of its tokens.
        calib_tokens: tokens of it at most, in pieces of 256 or an eighth of them from all over it.
        context: tokens of the longest text, by which LongRoPE's factors for mlx-lm are chosen.
        keep: another precision for matrices whose names contain a word.
        awq: give inputs that are large finer weights where that leaves less error; needs `calib`.
        mixed: bits of a weight on the average: matrices that matter most for `calib` get more.
        device: what computes: auto, cpu or gpu.
        text: run through the file in its own runtime, beside the checkpoint; None: nothing is run.
        max_increase: of perplexity in percent; more is an error.
        report: a folder for llm_report.html and llm_report.json; files of the same checkpoint share them.
        resume: take the layers that an earlier run of the same kind has finished.
        output: the file or folder.
    """
    plan = Recipe(
        precision,
        block=block,
        is_symmetric=not asym,
        keep=dict(keep or {}),
        is_smoothed=awq,
        mixed=mixed,
        device=device,
        activations=activations or "",
        context=context,
    )
    made = quantize_language_model(
        checkpoint,
        to,
        recipe=choose_recipe(plan, recipe, has_text=calib is not None, gguf_type=gguf_type),
        calibration=calib,
        calibration_tokens=calib_tokens,
        output=output,
        text=text,
        resume=resume,
    )
    if report is not None:
        write_report(Path(report), checkpoint, made)
    check_increase(made, max_increase)
    return made


def evaluate(
    path: Path | str,
    text: Path | str,
    *,
    against: Path | str | None = None,
    window: int | None = None,
    windows: int | None = None,
    backend: str = "",
) -> TextScore:
    """The perplexity of a text by a file of any format, in its own runtime.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX or a checkpoint.
        text: a text, or a .npy file of its tokens.
        against: the checkpoint that it was made from, to compare with.
        window: tokens of a piece, each from an empty context.
        windows: pieces at most.
        backend: where a model that was built for the NPU runs: htp-sim, htp-native or cpu.
    """
    return evaluate_file(path, text, against=against, window=window, windows=windows, backend=backend)


def build(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    checkpoint: Path | str,
    output: Path | str,
    *,
    target: str,
    calib: Path | str,
    precision: str = "w4a16",
    recipe: str = "lpbq",
    prefill: int = 128,
    context: int = 4096,
    text: Path | str | None = None,
    max_increase: float = 2.0,
    native_windows: int = 8,
    share_weights: bool = False,
    kv_bits: int = 16,
    embedding: str | None = None,
    parts: int | None = None,
    effort: str | None = None,
    mixed: float | None = None,
    calib_tokens: int = MOST_TOKENS,
    no_compile: bool = False,
) -> LanguageModelBuild:
    """Builds a language model for the NPU: graphs that read prompts and write tokens, compiled for a chip.

    Args:
        checkpoint: a folder with config.json, .safetensors and the tokenizer's files, or a GGUF file.
        output: the folder to write.
        target: the chip, such as SM8650.
        calib: a text that shows ranges of activations and calibrates 4 bits, or a .npy file of its tokens.
        precision: w4a16 or w8a16.
        recipe: how weights of 4 bits share scales: lpbq or per-channel.
        prefill: tokens of a prompt that are read at once.
        context: tokens that the graphs look back on, new ones included.
        text: what judges; None: nothing is run.
        max_increase: of perplexity in percent; more is an error.
        native_windows: pieces of the text that are run on the emulator, too.
        share_weights: one copy of the weights for both graphs, and no files for ONNX Runtime.
        kv_bits: of keys and values, 8 or 16.
        embedding: inside of the first graph, or outside: a table in a file, of which it takes rows.
        parts: contexts that the model is cut into; None: as few as hold it.
        effort: how codes are chosen: fast, balanced or best; None: best for 4 bits.
        mixed: bits of a weight on the average: matrices that matter most for `calib` get 8 for 4.
        calib_tokens: tokens of `calib` at most.
        no_compile: write the graphs only.
    """
    request = BuildRequest(
        checkpoint,
        output,
        target=target,
        calibration=calib,
        calibration_tokens=calib_tokens,
        precision=precision,
        recipe=recipe,
        effort=effort,
        mixed=mixed,
        prefill=prefill,
        context=context,
        kv_bits=kv_bits,
        embedding=embedding,
        parts=parts,
        text=text,
        native_windows=native_windows,
        share_weights=share_weights,
        is_compiled=not no_compile,
    )
    built = build_language_model(request)
    check_build(built, max_increase)
    return built


class LanguageModel:
    """A language model that is open in its runtime; use it in a `with`, or call `close`.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX, a checkpoint, or one for the NPU.
        context: tokens of prompt and answer together.
        backend: where a model that was built for the NPU runs: htp-sim, htp-native or cpu.
    """

    def __init__(self, path: Path | str, *, context: int = 2048, backend: str = "") -> None:
        self._generator = TextGenerator(path, context=context, backend=backend)

    def __enter__(self) -> "LanguageModel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def generate(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
        self,
        prompt: str,
        *,
        tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
    ) -> Iterator[str]:
        """What the model writes after a prompt, piece by piece.

        Args:
            prompt: the beginning of the text.
            tokens: at most.
            temperature: 0 takes the likeliest token.
            top_k: only so many of the likeliest tokens; 0: all.
            top_p: only the likeliest tokens that have this share together.
            repetition_penalty: above 1, tokens of the text so far are less likely.
            seed: the same seed gives the same text.
        """
        self._generator.set_sampling(Sampling(temperature, top_k, top_p, repetition_penalty, seed))
        return self._generator.continue_text(prompt, tokens)

    def close(self) -> None:
        """Ends the runtime's process."""
        self._generator.close()


def load(path: Path | str, *, context: int = 2048, backend: str = "") -> LanguageModel:
    """Opens a language model of any format in its own runtime.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX, a checkpoint, or one for the NPU.
        context: tokens of prompt and answer together.
        backend: where a model that was built for the NPU runs: htp-sim, htp-native or cpu.
    """
    return LanguageModel(path, context=context, backend=backend)


def generate(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    path: Path | str,
    prompt: str,
    *,
    tokens: int = 128,
    context: int = 2048,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    repetition_penalty: float = 1.0,
    seed: int = 0,
    backend: str = "",
) -> Iterator[str]:
    """What a language model writes after a prompt, piece by piece.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX, a checkpoint, or one for the NPU.
        prompt: the beginning of the text.
        tokens: at most.
        context: tokens of prompt and answer together.
        temperature: 0 takes the likeliest token.
        top_k: only so many of the likeliest tokens; 0: all.
        top_p: only the likeliest tokens that have this share together.
        repetition_penalty: above 1, tokens of the text so far are less likely.
        seed: the same seed gives the same text.
        backend: where a model that was built for the NPU runs: htp-sim, htp-native or cpu.
    """
    with load(path, context=context, backend=backend) as model:
        yield from model.generate(
            prompt,
            tokens=tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=repetition_penalty,
            seed=seed,
        )


def estimate(model: str | Path | float, target: str, *, prompt_tokens: int = 1024) -> LanguageEstimate:
    """Says how many tokens a second a model gives on a chip in w4a16, and when the first comes, as ranges.

    Args:
        model: a Hugging Face folder, of which config.json is read, or a number of billions of weights.
        target: the chip: SM8750, 'Snapdragon X Elite', ...
        prompt_tokens: the length of the prompt.
    """
    billions = model if isinstance(model, int | float) else read_model_spec(Path(model)).weights / 1e9
    return estimate_language_model(float(billions), target, prompt_tokens)
