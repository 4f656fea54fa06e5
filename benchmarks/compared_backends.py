"""Simulation and genuine emulator, op by op: how many ops of quantized models they compute differently.

``python -m benchmarks.compared_backends``: each op gets on the emulator what it reads in the simulation, for
one input, as ``edgewright debug --compare_backends htp-sim,htp-native`` does it.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.accuracy import folders_of
from benchmarks.build_kinds import Kind
from benchmarks.data import Material
from benchmarks.debugger import CALIBRATING, fill_table, open_graphs
from benchmarks.tables import Table, add_write_option
from edgewright.analyse.backend_differences import BackendComparison, compare_backends
from edgewright.backends.registry import find_backend

__all__ = ["main"]

COLUMNS = ("model", "ops that differ", "the first of them", "by up to", "in")
BACKENDS = ("htp-sim", "htp-native")


def _describe(comparison: BackendComparison) -> tuple[str, ...]:
    count = f"{len(comparison.differences)} of {comparison.ops}"
    if not comparison.differences:
        return count, "", "", ""
    first = comparison.differences[0]
    return count, first.op, f"{first.steps:.3g} steps", f"{100 * first.share:.2g} % of elements"


def _measure(kind: Kind, path: Path, options: argparse.Namespace) -> tuple[str, ...]:
    feeds = list(kind.make_feeds(Material(tuple(options.data), is_calibrating=True), CALIBRATING, path))
    (sample,) = kind.make_feeds(Material(tuple(options.data)), 1, path)
    with tempfile.TemporaryDirectory() as folder:
        _, quantized = open_graphs(kind, path, feeds, Path(folder))
        pair = {name: find_backend(name) for name in BACKENDS}
        return _describe(compare_backends(quantized, [sample], pair))


def main() -> None:
    """Prints a row for each model as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    add_write_option(parser)
    options = parser.parse_args()
    fill_table(Table("compared-backends", COLUMNS, options), _measure, options)


if __name__ == "__main__":
    main()
