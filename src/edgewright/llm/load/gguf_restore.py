"""What a Hugging Face folder has beside its weights, as far as a GGUF file says it."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgewright.llm.load.config import CONFIG
from edgewright.llm.load.gguf_file import GgufContent
from edgewright.llm.load.gguf_tokenizer import restore_tokenizer
from edgewright.llm.load.vocabulary import SETTINGS, TOKENIZER

log = logging.getLogger(__name__)


def write_restored_files(folder: Path, content: GgufContent, config: Mapping[str, Any]) -> None:
    """config.json, tokenizer.json and tokenizer_config.json; what is lost is said."""
    tokenizer, settings, losses = restore_tokenizer(content)
    files = {CONFIG: {name: value for name, value in config.items() if value is not None}, SETTINGS: settings}
    if tokenizer:
        files[TOKENIZER] = tokenizer
    for name, fields in files.items():
        (folder / name).write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    for loss in (*_list_losses(content), *losses):
        log.warning("%s does not hold %s", content.path.name, loss)


def _list_losses(content: GgufContent) -> list[str]:
    losses = ["generation_config.json: how tokens are chosen is for you to say"]
    rounded = {entry.kind.name for entry in content.tensors.values()} - {"F32", "F16", "BF16"}
    if rounded:
        losses.insert(0, f"the weights that it was made from: {', '.join(sorted(rounded))} have rounded them")
    return losses
