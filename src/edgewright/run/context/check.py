"""Whether a context binary suits a chip, and why: loading it on x86 proves nothing."""

import re
from dataclasses import dataclass
from pathlib import Path

from edgewright.run.context.document import find_chip
from edgewright.run.context.info import ContextInfo, read_context_info
from edgewright.targets.soc import Soc, find_htp_soc

_HTP = 6
_SDK = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True)
class ContextVerdict:
    """Yes, with notes, or no, with reasons."""

    file: str
    target: str
    is_fit: bool
    made_for: str
    made_by: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    do: str = ""


def check_context(
    path: Path | str, target: str, device_version: tuple[int, ...] | None = None
) -> ContextVerdict:
    """Checks the binary's own description against the chip and the QNN version of the device."""
    chip = find_htp_soc(target)
    return judge_context(read_context_info(path), chip, device_version)


def judge_context(
    info: ContextInfo, chip: Soc, device_version: tuple[int, ...] | None = None
) -> ContextVerdict:
    """The verdict on a binary whose description is known."""
    made_for = _describe_target(info)
    reasons = _list_backend_reasons(info)
    notes: list[str] = []
    if not reasons:
        reasons = [*_list_chip_reasons(info, chip), *_list_version_reasons(info, device_version)]
        notes = _list_notes(info, chip, device_version)
    return ContextVerdict(
        info.file,
        str(chip),
        not reasons,
        made_for,
        info.binary.build_id or "an unnamed version",
        tuple(reasons),
        tuple(notes),
        _choose_advice(info, chip) if reasons else "",
    )


def _describe_target(info: ContextInfo) -> str:
    chip = find_chip(info.binary.soc_model)
    if chip is not None:
        return str(chip)
    arch = f"v{info.binary.dsp_arch}" if info.binary.dsp_arch else "an unnamed architecture"
    return f"SoC {info.binary.soc_model} ({arch})" if info.binary.soc_model else arch


def _list_backend_reasons(info: ContextInfo) -> list[str]:
    if not info.is_genuine:
        return [f"it is a context of Edgewright's own backend {info.backend}, which no device loads"]
    if info.binary.backend_id != _HTP:
        return [f"it is for backend {info.binary.backend_id}, the HTP is backend {_HTP}"]
    return []


def _list_chip_reasons(info: ContextInfo, chip: Soc) -> list[str]:
    arch = _find_architecture(info)
    reasons = []
    if arch is None:
        reasons.append(f"it does not name its architecture, {chip.name} is v{chip.arch}")
    elif arch > chip.arch:
        reasons.append(f"it was compiled for v{arch}, {chip.name} is the older v{chip.arch}")
    elif arch < chip.arch:
        reasons.append(
            f"it was compiled for v{arch}, {chip.name} is the newer v{chip.arch}: it may load (permissive),"
            " but would not use the chip fully, and nothing here proves that it loads"
        )
    if chip.vtcm_mb:
        reasons += [
            f"graph '{graph.name}' needs {graph.vtcm_bytes >> 20} MB of VTCM, {chip.name} has {chip.vtcm_mb}"
            for graph in info.binary.graphs
            if graph.vtcm_bytes is not None and graph.vtcm_bytes > chip.vtcm_mb << 20
        ]
    return reasons


def _find_architecture(info: ContextInfo) -> int | None:
    chip = find_chip(info.binary.soc_model)
    return info.binary.dsp_arch or (chip.arch if chip is not None and chip.arch else None)


def _list_version_reasons(info: ContextInfo, device: tuple[int, ...] | None) -> list[str]:
    made = _parse_sdk_version(info)
    if device is None or made is None or device[:2] >= made:
        return []
    device_version, expected = ".".join(map(str, device)), ".".join(map(str, made))
    return [f"the device has QNN {device_version}, older than the {expected} that made it"]


def _list_notes(info: ContextInfo, chip: Soc, device: tuple[int, ...] | None) -> list[str]:
    notes = []
    if info.binary.soc_model not in chip.soc_models and _find_architecture(info) == chip.arch:
        notes.append(f"it was compiled for SoC {info.binary.soc_model} of the same architecture")
    if not chip.vtcm_mb:
        notes.append(f"how much VTCM {chip.name} has is not public")
    made = _parse_sdk_version(info)
    if device is None and made is not None:
        notes.append(f"the device needs QNN {made[0]}.{made[1]} or newer; --device_version checks that")
    return notes


def _parse_sdk_version(info: ContextInfo) -> tuple[int, int] | None:
    match = _SDK.match(info.binary.build_id)
    return (int(match.group(1)), int(match.group(2))) if match else None


def _choose_advice(info: ContextInfo, chip: Soc) -> str:
    backend = "htp-native" if not info.is_genuine else "libQnnHtp.so"
    return f"compile it again: qnn-context-binary-generator --backend {backend} --target {chip.name} ..."
