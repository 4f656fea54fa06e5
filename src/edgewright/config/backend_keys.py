"""The keys of backend configuration files: what each may hold, and which of them do nothing here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgewright.config.gpu_settings import PERFORMANCE_HINTS, PRECISIONS
from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.core.words import did_you_mean

_DEVICE = "it is for a device"
# More executions at a time than any machine has use for.
_LONGEST_QUEUE = 4096
_PRIORITIES = ("low", "normal", "normal_high", "high")
_PROFILES = (
    *("burst", "sustained_high_performance", "high_performance", "balanced", "low_balanced", "default"),
    *("low_power_saver", "power_saver", "high_power_saver", "extreme_power_saver", "system_settings"),
)


@dataclass(frozen=True)
class Key:
    """What the value of a key is; `idle` says why the key does nothing here, where it does not."""

    kind: str  # integer, number, boolean, text, texts, or object
    low: int = 0
    high: int = 2**63 - 1
    choices: tuple[str, ...] = ()
    keys: dict[str, "Key"] = field(default_factory=dict)
    # An object, or a list of such; a single one counts as a list of one.
    is_listed: bool = False
    # Messages about an entry of the list give its number.
    is_numbered: bool = False
    is_required: bool = False
    idle: str = ""


def check_keys(
    value: Any, keys: Mapping[str, Key], where: Where, path: str = ""
) -> Iterator[EdgewrightError | str]:
    """What is wrong with an object (errors), and which of its keys do nothing (sentences)."""
    if not isinstance(value, dict):
        yield BadInput(f"{path or 'the file'} is {_describe_value(value)}, expected an object", where)
        return
    for name, item in value.items():
        full = f"{path}.{name}" if path else str(name)
        key = keys.get(name)
        if key is None:
            known = ", ".join(keys)
            advice = did_you_mean(str(name), keys, f"known here: {known}")
            yield BadInput(f"key '{shown(full)}' is unknown", where, do=advice)
        else:
            yield from _check_value(item, key, where, full)
    for name in (name for name, key in keys.items() if key.is_required and name not in value):
        yield BadInput(f"key '{path}{'.' if path else ''}{name}' is missing, it is required", where)


def _check_value(item: Any, key: Key, where: Where, path: str) -> Iterator[EdgewrightError | str]:
    if key.kind == "object":
        listed = item if key.is_listed and isinstance(item, list) else [item]
        for number, entry in enumerate(listed):
            yield from check_keys(entry, key.keys, where, f"{path}[{number}]" if key.is_numbered else path)
    elif not _is_allowed(item, key):
        yield BadInput(f"key '{path}' is {_describe_value(item)}, expected {_describe_expected(key)}", where)
    if key.idle:
        yield f"key '{path}' has no effect: {key.idle}"


def _is_allowed(item: Any, key: Key) -> bool:
    if key.kind == "boolean":
        return isinstance(item, bool) or item in (0, 1)
    if key.kind == "integer":
        return isinstance(item, int) and not isinstance(item, bool) and key.low <= item <= key.high
    if key.kind == "number":
        return isinstance(item, int | float) and not isinstance(item, bool) and key.low <= item <= key.high
    if key.kind == "texts":
        return isinstance(item, list) and all(isinstance(text, str) and text for text in item)
    spelled = [choice.lower() for choice in key.choices]
    return isinstance(item, str) and (not key.choices or item.lower() in spelled)


def _describe_expected(key: Key) -> str:
    if key.choices:
        return f"one of: {', '.join(key.choices)}"
    if key.kind == "integer" and key.high < 2**31:
        return f"a whole number from {key.low} to {key.high}"
    words = {
        "boolean": "true or false",
        "integer": f"a whole number, {key.low} or more",
        "number": f"a number, {key.low} or more",
        "texts": "a list of names",
        "text": "a text",
    }
    return words[key.kind]


def _describe_value(value: Any) -> str:
    names = {dict: "an object", list: "a list", type(None): "null"}
    return names.get(type(value), f"'{shown(value)}'")


def _accept_text(*choices: str, idle: str = "") -> Key:
    return Key("text", choices=choices, idle=idle)


def _accept_integer(low: int = 0, high: int = 2**63 - 1, idle: str = "") -> Key:
    return Key("integer", low, high, idle=idle)


_CORE = {
    "core_id": _accept_integer(idle=_DEVICE),
    "perf_profile": _accept_text(*_PROFILES, idle=_DEVICE),
    "rpc_control_latency": _accept_integer(idle=_DEVICE),
    "rpc_polling_time": _accept_integer(0, 9999, idle=_DEVICE),
    "hmx_timeout_us": _accept_integer(idle=_DEVICE),
}
_GRAPH = {
    "graph_names": Key("texts"),
    "vtcm_mb": _accept_integer(0, 64),
    "fp16_relaxed_precision": Key("boolean"),
    "hvx_threads": _accept_integer(0, 64),
    "O": _accept_integer(1, 3),
    "dlbc": Key("boolean"),
}
_DEVICES = {
    "device_id": _accept_integer(idle=_DEVICE),
    "soc_id": _accept_integer(),
    "soc_model": _accept_integer(),
    "dsp_arch": _accept_text(),
    "pd_session": _accept_text("signed", "unsigned", idle=_DEVICE),
    "profiling_level": _accept_text("linting"),
    "use_client_context": Key("boolean", idle=_DEVICE),
    "cores": Key("object", keys=_CORE, is_listed=True),
}
_CONTEXT = {
    "weight_sharing_enabled": Key("boolean"),
    "max_spill_fill_buffer_for_group": _accept_integer(idle=_DEVICE),
    "group_id": _accept_integer(idle=_DEVICE),
    "file_read_memory_budget_in_mb": _accept_integer(idle=_DEVICE),
    "io_memory_estimation": Key("boolean", idle=_DEVICE),
}
_CONTEXT_CONFIGS = {
    "context_priority": _accept_text(*_PRIORITIES),
    "async_execute_queue_depth": _accept_integer(1, _LONGEST_QUEUE),
    "enable_graphs": Key("texts"),
    "memory_limit_hint": _accept_integer(idle=_DEVICE),
    "is_persistent_binary": Key("boolean", idle=_DEVICE),
    "cache_compatibility_mode": _accept_text("permissive", "strict"),
}
_GRAPH_CONFIGS = {
    "graph_name": _accept_text(),
    "graph_priority": _accept_text(*_PRIORITIES, idle=_DEVICE),
    "graph_profiling_start_delay": Key("number"),
    "graph_profiling_num_executions": _accept_integer(1),
}
_HTP = {
    "device_id": _accept_integer(idle=_DEVICE),
    "performance_mode": _accept_text(*_PROFILES, idle=_DEVICE),
    "precision_mode": _accept_text("int8", "int16", "fp16", "fp32"),
    "vtcm_mb": _accept_integer(0, 64),
    "enable_dma": Key("boolean", idle=_DEVICE),
    "soc_id": _accept_integer(),
    "soc_model": _accept_integer(),
    "dsp_arch": _accept_text(),
    "optimization_level": _accept_integer(1, 3),
}
# The course's keys, then those of QNN's own GPU settings.
_GPU = {
    "device_id": _accept_integer(0, 255),
    "performance_mode": _accept_text(*_PROFILES),
    "precision_mode": _accept_text(*PRECISIONS),
    "enable_transform_optimization": Key("boolean"),
    "performance_hint": _accept_text(*PERFORMANCE_HINTS),
    "disable_node_optimizations": Key("boolean"),
    "disable_memory_optimizations": Key("boolean"),
    "disable_queue_recording": Key("boolean", idle="ONNX Runtime records no queue of its own accord"),
    "kernel_cache_dir": _accept_text(),
}
_CPU = {
    "num_threads": _accept_integer(0, 1024),
    "performance_mode": _accept_text(*_PROFILES, idle="the CPU backend has no performance profiles"),
    "enable_fast_math": Key("boolean", idle="the CPU backend keeps to IEEE arithmetic"),
}
CONFIG_KEYS: dict[str, Key] = {
    # The file that the tools take.
    "backend_extensions": Key(
        "object", keys={"shared_library_path": _accept_text(), "config_file_path": _accept_text()}
    ),
    "context_configs": Key("object", keys=_CONTEXT_CONFIGS),
    "graph_configs": Key("object", keys=_GRAPH_CONFIGS, is_listed=True),
    "profile_configs": Key("object", keys={"num_max_events": _accept_integer(1)}),
    "async_graph_execution_config": Key(
        "object",
        keys={
            "input_tensors_creation_tasks_limit": _accept_integer(1, _LONGEST_QUEUE),
            "execute_enqueue_tasks_limit": _accept_integer(1, _LONGEST_QUEUE),
        },
    ),
    # The file of the HTP backend extensions.
    "graphs": Key("object", keys=_GRAPH, is_listed=True),
    "devices": Key("object", keys=_DEVICES, is_listed=True),
    "context": Key("object", keys=_CONTEXT, is_listed=True),
    "memory": Key("object", keys={"mem_type": _accept_text("shared_buffer", idle=_DEVICE)}),
    # The course's backend_config.json.
    "htp_config": Key("object", keys=_HTP),
    "gpu_config": Key("object", keys=_GPU),
    "cpu_config": Key("object", keys=_CPU),
}
