"""The course's profiler: latency, CPU and memory use of any function."""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.machine_use import measure_memory, measure_processor_time
from edgewright.model.profile.measure import summarise_latencies

Data = TypeVar("Data")
MEGABYTE = 1 << 20


class QNNProfiler:
    """Measures inferences; ``metrics`` keeps the results by name."""

    def __init__(self) -> None:
        self.metrics: dict[str, dict[str, float]] = {}

    def profile_inference(
        self, inference_func: Callable[[Data], object], input_data: Data, num_runs: int = 100, name: str = ""
    ) -> dict[str, float]:
        """Average and percentiles in milliseconds, runs per second, CPU percentage, added megabytes.

        A first run is not counted, because it may compile.
        """
        if num_runs < 1:
            raise UsageError(f"num_runs is {num_runs}, expected 1 or more")
        inference_func(input_data)
        seconds, computed, added = [], [], []
        for _ in range(num_runs):
            memory, used, start = measure_memory(), measure_processor_time(), time.perf_counter()
            inference_func(input_data)
            seconds.append(time.perf_counter() - start)
            computed.append(measure_processor_time() - used)
            added.append(measure_memory() - memory)
        metrics = _compute_metrics(seconds, computed, added)
        self.metrics[name or getattr(inference_func, "__qualname__", "inference")] = metrics
        return metrics


def _compute_metrics(seconds: list[float], computed: list[float], added: list[int]) -> dict[str, float]:
    numbers = summarise_latencies(seconds)
    return {
        "avg_latency_ms": numbers["average_ms"],
        "p50_latency_ms": numbers["p50_ms"],
        "p95_latency_ms": numbers["p95_ms"],
        "p99_latency_ms": numbers["p99_ms"],
        "throughput_fps": numbers["per_second"],
        "avg_cpu_usage": 100 * sum(computed) / max(sum(seconds), 1e-12),
        "avg_memory_delta_mb": float(np.mean(added)) / MEGABYTE,
    }
