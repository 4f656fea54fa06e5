"""The tokenizer as models of OpenVINO, which OpenVINO GenAI needs to take texts."""

import json
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgewright.core.optional import require
from edgewright.llm.load.vocabulary import SETTINGS, TOKENIZER, find_template, read_json_object

log = logging.getLogger(__name__)
PACKAGES = ("openvino_tokenizers", "transformers")
TOKENIZER_MODEL, DETOKENIZER_MODEL = "openvino_tokenizer.xml", "openvino_detokenizer.xml"
# What the files say of the tokenizer's words; all else is in tokenizer.json.
WORDS = ("bos_token", "eos_token", "unk_token", "pad_token")


def write_tokenizer_models(source: Path, folder: Path) -> None:
    """Both models of a checkpoint's tokenizer; a warning where they cannot be made.

    Args:
        source: the checkpoint, with tokenizer.json.
        folder: where they are written.
    """
    if not (source / TOKENIZER).is_file():
        return
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        log.warning(
            "without models of the tokenizer, which OpenVINO GenAI needs: pip install 'edgewright[genai]'"
        )
        return
    try:
        models = _convert_tokenizer(source)
    except Exception as problem:
        log.warning("without models of the tokenizer, which OpenVINO cannot convert: %s", problem)
        return
    openvino = require("openvino", to="write OpenVINO models")
    for name, model in zip((TOKENIZER_MODEL, DETOKENIZER_MODEL), models, strict=True):
        openvino.serialize(model, folder / name, (folder / name).with_suffix(".bin"))


def spell_settings(source: Path) -> dict[str, list[bytes]]:
    """tokenizer_config.json with words as plain texts: OpenVINO GenAI takes no other."""
    settings = read_json_object(source / SETTINGS, needed=False)
    if not any(isinstance(settings.get(name), dict) for name in WORDS):
        return {}
    words = {name: _read_word(settings[name]) for name in WORDS if settings.get(name)}
    return {SETTINGS: [json.dumps({**settings, **words}, indent=1).encode() + b"\n"]}


def _convert_tokenizer(source: Path) -> tuple[Any, Any]:
    """Read as data: nothing of the folder is executed."""
    to = "write the tokenizer for OpenVINO GenAI"
    transformers, converter = require("transformers", to=to), require("openvino_tokenizers", to=to)
    settings = read_json_object(source / SETTINGS, needed=False)
    words = {name: _read_word(settings[name]) for name in WORDS if settings.get(name)}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(source / TOKENIZER), clean_up_tokenization_spaces=False, **words
    )
    tokenizer.chat_template = find_template(source) or None
    models: tuple[Any, Any] = converter.convert_tokenizer(tokenizer, with_detokenizer=True)
    return models


def _read_word(value: Any) -> str:
    return str(value.get("content", "") if isinstance(value, dict) else value)
