"""Runs the benchmarks of times and prints their tables: python -m benchmarks.run --help.

``--write`` puts each table into docs/benchmarks.md when it is done. The machine should be idle.
"""

import argparse
import logging
from collections.abc import Callable
from math import exp, log
from pathlib import Path

from benchmarks import calibration, conversion, latency, simulation, throughput
from benchmarks.models import model_files
from benchmarks.tables import Table, add_write_option

__all__ = ["main"]

PARTS = ("latency", "throughput", "conversion", "simulation", "calibration")
MEAN_LIMIT, WORST_LIMIT, SMALL_LIMIT_US = 1.05, 1.15, 30
CONVERSIONS = ((14, False), (100, False), (2560, False), (14, True), (100, True), (2560, True))
LATENCY = (
    "model",
    "ONNX Runtime ms",
    "ours / ONNX Runtime",
    "loaded from net.json / ONNX Runtime",
    "difference",
)
CONVERSION = ("model", "weights", "seconds", "peak MB", "(peak - 300 MB) / size", "at most")


def main() -> None:
    """All tables, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", action="append", type=Path, default=[], help="a folder with more ONNX files"
    )
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--largest", type=int, default=2560, help="largest generated model in MB")
    add_write_option(parser)
    options = parser.parse_args()
    # A model that was fetched and is an example, too, is measured once.
    every = {path.stem: path for path in model_files(options.models) if options.filter in path.name}
    paths = list(every.values())
    tables: dict[str, Callable[[], None]] = {
        "latency": lambda: _measure_latency(paths, options),
        "throughput": lambda: throughput.measure_all(paths, options),
        "conversion": lambda: _measure_conversion(options),
        "simulation": lambda: _measure_simulation(paths, options),
        "calibration": lambda: calibration.measure_all(paths, options),
    }
    for part in PARTS if options.only is None else (options.only,):
        print(f"\n{part}", flush=True)
        tables[part]()


def _measure_simulation(paths: list[Path], options: argparse.Namespace) -> None:
    # The peer warns of every bias and every model that was not prepared.
    logging.getLogger().setLevel(logging.ERROR)
    simulation.measure_all(paths, options)


def _measure_latency(paths: list[Path], options: argparse.Namespace) -> None:
    table, rows = Table("cpu-backend", LATENCY, options), list[latency.Latency]()
    for path in paths:
        try:
            row = latency.measure(path)
        except Exception as problem:
            print(f"{path.stem} failed: {str(problem).splitlines()[0][:100]}")
            continue
        rows.append(row)
        extra = (row.converted_ms - row.engine_ms) * 1000
        small = f" ({extra:.0f} us)" if row.engine_ms < 0.1 else ""
        loaded = "" if row.loaded_ratio is None else f"{row.loaded_ratio:.2f}"
        table.add(
            row.model, f"{row.engine_ms:.3g}", f"{row.ratio:.2f}{small}", loaded, f"{row.difference:.0e}"
        )
    table.finish(*_sum_up_latency(rows))


def _sum_up_latency(rows: list[latency.Latency]) -> list[str]:
    """The mean of both columns, and what is over its limit."""
    lines = []
    for name, ratio_of in (
        ("As converted", lambda r: r.ratio),
        ("Loaded from net.json", lambda r: r.loaded_ratio),
    ):
        some = [(r, ratio_of(r)) for r in rows if ratio_of(r) is not None]
        if some:
            mean = exp(sum(log(ratio) for _, ratio in some) / len(some))
            late = [f"{r.model} {ratio:.2f}" for r, ratio in some if r.engine_ms > 1 and ratio > WORST_LIMIT]
            small = [
                r.model
                for r, ratio in some
                if r.engine_ms <= 1 and (ratio - 1) * r.engine_ms * 1000 > SMALL_LIMIT_US
            ]
            lines.append(
                f"{name}: geometric mean {mean:.3f} (at most {MEAN_LIMIT} asked for); over {WORST_LIMIT}: "
                f"{', '.join(late) or 'none'}; over {SMALL_LIMIT_US} us: {', '.join(small) or 'none'}."
            )
    return lines


def _measure_conversion(options: argparse.Namespace) -> None:
    table = Table("conversion", CONVERSION, options)
    for megabytes, is_external in CONVERSIONS:
        if megabytes <= options.largest:
            row = conversion.measure(megabytes, is_external=is_external)
            limit = f"{conversion.LIMITS[row.weights]}{'' if row.is_met else ' **not met**'}"
            cells = (f"{row.seconds:.2f}", f"{row.peak_mb:.0f}", f"{row.factor:.2f}", limit)
            table.add(f"{row.size_mb:.0f} MB", row.weights, *cells)
    table.finish()


if __name__ == "__main__":
    main()
