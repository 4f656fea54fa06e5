"""What a device that a model is converted for cannot do with it."""

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from edgewright.ir.graph import Graph
from edgewright.passes.partition.htp_gaps import find_htp_gaps

# The devices whose lists QNN publishes, and what stands for them there.
LISTS = {"cpu": "CPU_fp32", "gpu": "GPU", "dsp": "DSP"}
MOST_NAMED = 5


def describe_device_gaps(graph: Graph, device: str | None) -> tuple[str, ...]:
    """What the device lacks, in a note; the files themselves are the same for every device."""
    if device is None:
        return ()
    return (_describe_ops(graph, device), *_describe_types(graph, device))


def _describe_types(graph: Graph, device: str) -> tuple[str, ...]:
    """The DSP of older chips takes fixed point alone."""
    is_float = any(kind.dtype.is_float for kind in graph.types.values())
    if device != "dsp" or not is_float or any(kind.dtype.is_fixed_point for kind in graph.types.values()):
        return ()
    return ("--target_device dsp takes quantized models only, this one is float: quantize it (--input_list)",)


def _describe_ops(graph: Graph, device: str) -> str:
    lacking = _find_gaps(graph, device)
    if not lacking:
        source = "the HTP has" if device not in LISTS else f"QNN lists for its {device.upper()} backend"
        return f"--target_device {device}: every op is one that {source}"
    named = [f"{op} ({count})" for op, count in lacking.most_common(MOST_NAMED)]
    more = f" and {len(lacking) - len(named)} more" if len(lacking) > len(named) else ""
    return f"--target_device {device} lacks {', '.join(named)}{more}: run those nodes elsewhere"


def _find_gaps(graph: Graph, device: str) -> Counter[str]:
    if device not in LISTS:
        return Counter(gap.op for gap in find_htp_gaps(graph))
    known = _read_catalogue()
    names = (node.op.display_name() for node in graph.nodes)
    return Counter(name for name in names if not (known.get(name) or {}).get(LISTS[device], False))


@cache
def _read_catalogue() -> dict[str, dict[str, bool]]:
    """Op -> on which backends QNN lists it."""
    table: dict[str, Any] = json.loads((files("edgewright") / "_data" / "ops.json").read_text())
    return {name: entry["backends"] or {} for name, entry in table.items()}
