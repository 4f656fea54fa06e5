"""Folders of Hugging Face models (config.json, safetensors), read by transformers; no code of theirs runs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, EnvironmentProblem, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.optional import require

log = logging.getLogger(__name__)

CONFIG = "config.json"
LARGEST_CONFIG, LARGEST_TEXT = 1 << 24, 1 << 28
# Files that hold the words of a tokenizer.
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model", "*.vocab")
# What text models are fed with; tokens of one text in the advice.
TEXT_INPUTS, TOKENS = ("input_ids", "attention_mask"), 128
PIXELS = "pixel_values"


def is_huggingface_folder(source: Any) -> bool:
    """Whether it is a folder with the configuration of a model and no SavedModel."""
    if not isinstance(source, str | Path):
        return False
    folder = Path(source)
    return (folder / CONFIG).is_file() and not (folder / "saved_model.pb").exists()


def load_huggingface_model(folder: Path, examples: Any = None) -> tuple[Any, Any]:
    """The torch module of a folder, and examples of its inputs where its configuration tells their shapes.

    Weights are read from safetensors only: reading a pickle can run any code, as can code of the folder.
    """
    config = _read_config(folder)
    if not list(folder.glob("*.safetensors")):
        raise BadInput(
            "the folder has no .safetensors; weights in pickles (.bin) can run any code and are not read",
            Where(file=str(folder)),
            do="save it again: model.save_pretrained(folder, safe_serialization=True)",
        )
    transformers = require("transformers", to="read Hugging Face folders")
    name = _name_architecture(config)
    kind = _find_architecture(transformers, name)
    if kind is None:
        raise UnsupportedFeature(
            f"architecture '{shown(name)}' is not one of transformers {transformers.__version__}, and code "
            "of the folder is not run",
            Where(file=str(folder / CONFIG)),
            do="load it in Python and give the module itself: edgewright.convert(module, example_inputs=...)",
        )
    options = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    with _keep_quiet(transformers):
        module, info = kind.from_pretrained(str(folder), output_loading_info=True, **options)
    _check_weights(folder, info)
    # What a language model keeps for the next token is not part of its answer.
    module.config.update({"use_cache": False})
    return module, _choose_examples(module, folder) if examples is None else examples


def _name_architecture(config: dict[str, Any]) -> str:
    names = config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else ""


def _find_architecture(transformers: Any, name: str) -> Any:
    """The class of a model; None where transformers has none of that name."""
    try:
        kind = getattr(transformers, name, None) if name.isidentifier() else None
    except ImportError as problem:
        # Another package that does not fit, torchvision mostly, is only named by what it was raised from.
        raise EnvironmentProblem(
            f"transformers cannot import '{shown(name)}': {shown(problem.__cause__ or problem)}",
            do="install transformers and torch again, and torchvision of the same build where it is there",
        ) from problem
    return kind if hasattr(kind, "from_pretrained") else None


@contextmanager
def _keep_quiet(transformers: Any) -> Iterator[None]:
    """Without bars and advice of transformers, which speak of training; errors are told."""
    speech = transformers.utils.logging
    verbosity, has_bars = speech.get_verbosity(), speech.is_progress_bar_enabled()
    speech.set_verbosity_error()
    speech.disable_progress_bar()
    try:
        yield
    finally:
        speech.set_verbosity(verbosity)
        if has_bars:
            speech.enable_progress_bar()


def read_texts(folder: Path, data: Any) -> Any:
    """Samples as they are; the lines of a text file as tokens, by the folder's own tokenizer.

    Lines are cut and padded to one length. No code of the folder runs.
    """
    if not isinstance(data, str | Path) or Path(data).suffix != ".txt" or not Path(data).is_file():
        return data
    path = Path(data)
    try:
        text = read_limited(path, LARGEST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("the file is no text", Where(file=str(path)), do="save it as UTF-8") from None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or Path(lines[0].split()[0]).exists() or (path.parent / lines[0].split()[0]).exists():
        return data  # an input list
    tokenizer = _open_tokenizer(folder)
    counts = [len(tokenizer(line)["input_ids"]) for line in lines]
    length = min(max(counts), TOKENS, getattr(tokenizer, "model_max_length", TOKENS))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    tokens = tokenizer(lines, padding="max_length", truncation=True, max_length=length, return_tensors="np")
    cut = sum(count > length for count in counts)
    log.info("%d lines are samples of %d tokens each; %d were cut", len(lines), length, cut)
    return {name: tokens[name].astype(np.int64) for name in tokenizer.model_input_names if name in tokens}


def _open_tokenizer(folder: Path) -> Any:
    """Of a folder that holds its words: without them, transformers makes a tokenizer that knows none."""
    transformers = require("transformers", to="read Hugging Face folders")
    _check_text_model(transformers, folder)
    reason = f"none of {', '.join(VOCABULARIES)} is there"
    if any(path for pattern in VOCABULARIES for path in folder.glob(pattern)):
        options = {"local_files_only": True, "trust_remote_code": False}
        try:
            return transformers.AutoTokenizer.from_pretrained(str(folder), **options)
        except (OSError, ValueError, KeyError, ImportError) as problem:
            reason = shown((str(problem).splitlines() or [type(problem).__name__])[0], 120)
    raise BadInput(
        f"the folder has no tokenizer that can be read: {reason}",
        Where(file=str(folder)),
        do="save it there: tokenizer.save_pretrained(folder), or give token ids as .npz",
    )


def _check_text_model(transformers: Any, folder: Path) -> None:
    """Refuses lines of a text where the model reads something else."""
    name = _name_architecture(_read_config(folder))
    read = getattr(_find_architecture(transformers, name), "main_input_name", TEXT_INPUTS[0])
    if read != TEXT_INPUTS[0]:
        kind = "pictures" if read == PIXELS else f"arrays of '{shown(read)}' as .npz"
        raise BadInput(
            f"the data is a text, and a {shown(name)} reads '{shown(read)}'",
            Where(file=str(folder)),
            do=f"give {kind}, or a list of files",
        )


def _read_config(folder: Path) -> dict[str, Any]:
    try:
        config = parse_json(read_limited(folder / CONFIG, LARGEST_CONFIG))
    except ValueError as problem:
        raise BadInput(f"the file is no JSON: {shown(problem)}", Where(file=str(folder / CONFIG))) from None
    return config if isinstance(config, dict) else {}


def _check_weights(folder: Path, info: dict[str, Any]) -> None:
    """Transformers would fill what is missing with random numbers."""
    missing = sorted(map(str, info.get("missing_keys") or ()))
    if missing:
        raise BadInput(
            f"{len(missing)} weights of the architecture are not in the folder: '{shown(missing[0])}' ...",
            Where(file=str(folder)),
            do="save the whole model, or name the architecture that was saved in config.json",
        )


def _choose_examples(module: Any, folder: Path) -> Any:
    config = module.config
    size = getattr(config, "image_size", None)
    if module.main_input_name == PIXELS and isinstance(size, int):
        torch = require("torch", to="export torch modules")
        return {PIXELS: torch.zeros(1, getattr(config, "num_channels", 3), size, size)}
    names = TEXT_INPUTS if module.main_input_name == TEXT_INPUTS[0] else (module.main_input_name,)
    shape = f"np.ones((1, {TOKENS}), np.int64)" if names == TEXT_INPUTS else "..."
    listed = ", ".join(f"'{name}': {shape}" for name in names)
    raise UsageError(
        f"a {type(module).__name__} takes inputs of any length, expected an example of the one to build for",
        Where(file=str(folder)),
        do=f"give one: example_inputs={{{listed}}}, or samples as data, in memory or as .npz",
    )
