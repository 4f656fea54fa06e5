"""backend_extensions of a schema as the configuration file that qnn-net-run takes."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgewright.config.backend_keys import CONFIG_KEYS, Key
from edgewright.config.params import Params
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.files import write_whole
from edgewright.core.words import did_you_mean
from edgewright.sdk.evaluator.schemas import InferenceSchema

log = logging.getLogger(__name__)

FILE_NAME = "backend_extensions.json"
# Of accelerator cards (guide, its first sample): a phone's NPU has what it has.
_IDLE = ("num_cores",)
_DEVICE_KEYS = CONFIG_KEYS["devices"].keys
_SECTIONS: dict[str, Mapping[str, Key]] = {
    "graphs": {name: key for name, key in CONFIG_KEYS["graphs"].keys.items() if name != "graph_names"},
    "devices": {name: key for name, key in _DEVICE_KEYS.items() if name != "cores"},
    "cores": _DEVICE_KEYS["cores"].keys,
    "context": CONFIG_KEYS["context"].keys,
}


def write_extensions(schema: InferenceSchema, folder: Path, graph: str) -> str | None:
    """Writes what the schema asks for, and the architecture of dspvNN; None where there is nothing."""
    content = make_extensions(schema, graph)
    if not content:
        return None
    file = folder / FILE_NAME
    write_whole(file, [f"{json.dumps(content, indent=1)}\n".encode()])
    return str(file)


def make_extensions(schema: InferenceSchema, graph: str) -> dict[str, Any]:
    """The content of the file: each key in the section that has it; what no section has is an error."""
    sections = _sort_keys(schema.backend_extensions)
    device = dict(sections.get("devices", {}))
    if schema.backend.startswith("dspv"):
        device.setdefault("dsp_arch", schema.backend.removeprefix("dsp"))
    if "cores" in sections:
        device["cores"] = [sections["cores"]]
    content: dict[str, Any] = {}
    if device:
        content["devices"] = [device]
    if "graphs" in sections:
        content["graphs"] = [{"graph_names": [graph], **sections["graphs"]}]
    if "context" in sections:
        content["context"] = sections["context"]
    return content


def _sort_keys(params: Params) -> dict[str, dict[str, Any]]:
    sections: dict[str, dict[str, Any]] = {}
    problems: list[EdgewrightError] = []
    for name, texts in params.items():
        if name in _IDLE:
            log.warning("backend extension '%s' has no effect: it is for accelerator cards", name)
            continue
        section = next((section for section, keys in _SECTIONS.items() if name in keys), None)
        if section is None:
            known = [key for keys in _SECTIONS.values() for key in keys]
            problems.append(
                UsageError(f"there is no backend extension '{shown(name)}'", do=did_you_mean(name, known))
            )
            continue
        try:
            sections.setdefault(section, {})[name] = _read_value(_SECTIONS[section][name], " ".join(texts))
        except ValueError:
            kind = _SECTIONS[section][name].kind
            problems.append(
                UsageError(f"backend extension '{name}' is '{shown(' '.join(texts))}', expected: {kind}")
            )
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return sections


def _read_value(key: Key, text: str) -> Any:
    if key.kind == "integer":
        return int(text)
    if key.kind == "number":
        return float(text)
    if key.kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    return text
