"""Runs the benchmarks and prints their tables: python -m benchmarks.run --help."""

import argparse
import logging
from collections.abc import Callable
from math import exp, log
from pathlib import Path

from benchmarks import calibration, conversion, latency, simulation
from benchmarks.conditions import describe_conditions
from benchmarks.models import model_files

PARTS = ("latency", "conversion", "simulation", "calibration")
MEAN_LIMIT, WORST_LIMIT, SMALL_LIMIT_US = 1.05, 1.15, 30
CONVERSIONS = ((14, False), (100, False), (2560, False), (14, True), (100, True), (2560, True))


def main() -> None:
    """All tables, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", action="append", type=Path, default=[], help="a folder with more ONNX files"
    )
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--largest", type=int, default=2560, help="largest generated model in MB")
    options = parser.parse_args()
    paths = [path for path in model_files(options.models) if options.filter in path.name]
    tables: dict[str, Callable[[], None]] = {
        "latency": lambda: _latency(paths),
        "conversion": lambda: _conversion(options.largest),
        "simulation": lambda: _simulation(paths),
        "calibration": lambda: calibration.measure_all(paths),
    }
    for part in PARTS if options.only is None else (options.only,):
        print(f"\n{part}", flush=True)
        tables[part]()
    print(describe_conditions())


def _simulation(paths: list[Path]) -> None:
    # The peer warns of every bias and every model that was not prepared.
    logging.getLogger().setLevel(logging.ERROR)
    simulation.measure_all(paths)


def _latency(paths: list[Path]) -> None:
    print(
        f"{'model':32s} {'ORT ms':>9s} {'ours/ORT':>9s} {'net.json':>9s} {'extra us':>9s} {'difference':>11s}"
    )
    rows = []
    for path in paths:
        try:
            row = latency.measure(path)
        except Exception as problem:
            print(f"{path.stem[:32]:32s} failed: {str(problem).splitlines()[0][:100]}")
            continue
        rows.append(row)
        extra = (row.converted_ms - row.engine_ms) * 1000
        loaded = "-" if row.loaded_ratio is None else f"{row.loaded_ratio:.3f}"
        cells = f"{row.engine_ms:9.3f} {row.ratio:9.3f} {loaded:>9s} {extra:9.1f} {row.difference:11.1e}"
        print(f"{row.model[:32]:32s} {cells}", flush=True)
    _verdict(rows)


def _verdict(rows: list[latency.Latency]) -> None:
    for name, ratio_of in (
        ("as converted", lambda r: r.ratio),
        ("loaded from net.json", lambda r: r.loaded_ratio),
    ):
        some = [(r, ratio_of(r)) for r in rows if ratio_of(r) is not None]
        if some:
            mean = exp(sum(log(ratio) for _, ratio in some) / len(some))
            late = [f"{r.model} {ratio:.3f}" for r, ratio in some if r.engine_ms > 1 and ratio > WORST_LIMIT]
            small = [
                r.model
                for r, ratio in some
                if r.engine_ms <= 1 and (ratio - 1) * r.engine_ms * 1000 > SMALL_LIMIT_US
            ]
            print(f"{name}: geometric mean {mean:.3f} (limit {MEAN_LIMIT})")
            print(f"  over {WORST_LIMIT}: {late or 'none'}; over {SMALL_LIMIT_US} us: {small or 'none'}")


def _conversion(largest: int) -> None:
    print(f"{'conversion of':24s} {'seconds':>8s} {'peak MB':>9s} {'(peak-300)/size':>16s} {'limit':>6s}")
    for megabytes, is_external in CONVERSIONS:
        if megabytes <= largest:
            row = conversion.measure(megabytes, is_external=is_external)
            cells = f"{row.seconds:8.2f} {row.peak_mb:9.0f} {row.factor:16.2f}"
            verdict = "" if row.is_met else "NOT MET"
            limit = conversion.LIMITS[row.weights]
            print(f"{row.size_mb:8.0f} MB {row.weights:12s} {cells} {limit:6.1f} {verdict}", flush=True)


if __name__ == "__main__":
    main()
