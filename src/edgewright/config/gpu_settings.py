"""How the GPU backend computes, in QNN's words."""

from dataclasses import dataclass, replace
from typing import Any

PRECISIONS = ("user_provided", "fp32", "fp16", "hybrid")
PERFORMANCE_HINTS = ("high", "normal", "low")
_SAVING = ("power_saver", "low_balanced")


@dataclass(frozen=True)
class GpuSettings:
    """What a configuration asks of the GPU backend."""

    # user_provided: as the tensors say; hybrid: floats are stored in 16 bits and computed in 32.
    precision: str = "user_provided"
    # high and low choose between the GPUs of a machine; normal leaves it to the driver.
    performance_hint: str = "normal"
    is_node_optimized: bool = True
    is_memory_optimized: bool = True
    # The folder in which the driver keeps compiled kernels; its own where none is named.
    kernel_cache: str | None = None
    device_id: int = 0

    def adapt_to_profile(self, profile: str) -> "GpuSettings":
        """The settings with the hint of a performance profile, where they have none of their own."""
        is_given = self.performance_hint != "normal"
        return self if is_given else replace(self, performance_hint=choose_performance_hint(profile))


def read_gpu_settings(section: dict[str, Any]) -> GpuSettings:
    """The settings of a gpu_config section whose keys were checked."""
    known = GpuSettings()
    is_transformed = section.get("enable_transform_optimization", True)
    is_plain = section.get("disable_node_optimizations", False) or not is_transformed
    return GpuSettings(
        precision=section.get("precision_mode", known.precision).lower(),
        performance_hint=_choose_hint(section),
        is_node_optimized=not is_plain,
        is_memory_optimized=not section.get("disable_memory_optimizations", False),
        kernel_cache=section.get("kernel_cache_dir"),
        device_id=section.get("device_id", known.device_id),
    )


def _choose_hint(section: dict[str, Any]) -> str:
    if "performance_hint" in section:
        return str(section["performance_hint"]).lower()
    return choose_performance_hint(section.get("performance_mode", "default"))


def choose_performance_hint(profile: str) -> str:
    """The hint that a performance profile stands for."""
    word = profile.lower()
    if word in {"default", "system_settings", "balanced"}:
        return "normal"
    return "low" if word.endswith(_SAVING) else "high"
