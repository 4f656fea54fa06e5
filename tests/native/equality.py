"""How many integers simulation and emulator share, op by op: `python -m tests.native.equality` shows it.

Many small networks of random encodings are compiled in one context; `--write` writes the page of the docs.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.backends.qnn.backend import live_records, shared_runtime
from edgewright.backends.qnn.options import HtpOptions
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from tests.native.equality_cases import CASES, draw

FORMS = ("w8a8", "w8a16", "fp16")
DRAWS = 12
PAGE = Path(__file__).parents[2] / "docs" / "simulation-equality.md"
ROW = re.compile(r"^\| (?P<case>[^|]+) \| (?P<form>\w+) \| (?P<equal>[\d.]+) % \| ", re.MULTILINE)
HEAD = """# Where simulation and emulator give the same numbers

Written by `python -m tests.native.equality --write` and held by `make test-compat`: {draws} networks of each
kind with random weights, inputs and encodings, simulated (`htp-sim`) and run on the genuine emulator (SM8650,
SDK 2.51). *Equal* is the share of elements of the output with the same integer (the same float in half
precision); *within one*, the share that is at most one step (of 8 or 16 bits, or of a float's 11 bits) away;
*furthest* is in such steps; *noise* says how far the two are apart, with the emulator as signal.

| network | precision | equal | within one | furthest | noise, dB |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """How alike the outputs of a case are in one number form."""

    case: str
    form: str
    equal: float
    near: float
    furthest: float
    decibels: float

    def __str__(self) -> str:
        noise = "-" if np.isinf(self.decibels) else f"{self.decibels:.1f}"
        return (
            f"| {self.case} | {self.form} | {self.equal * 100:.3f} % | {self.near * 100:.2f} % "
            f"| {self.furthest:.0f} | {noise} |"
        )


def measure(case: str, form: str, draws: int = DRAWS) -> Row:
    """Runs networks of a case on both."""
    nets = [draw(case, form, number) for number in range(draws)]
    finished = [net.finish(output) for net, output in nets]
    found = emulate([graph for graph, _ in finished], [feed for _, feed in finished])
    gaps, signal, noise = [], 0.0, 0.0
    for (graph, feed), emulated in zip(finished, found, strict=True):
        name = graph.outputs[0]
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[name]
        gaps.append(count_steps(simulated, emulated[name]))
        real = [read(graph, name, array) for array in (emulated[name], simulated)]
        signal += float(np.square(real[0]).sum())
        noise += float(np.square(real[0] - real[1]).sum())
    gap = np.concatenate(gaps)
    decibels = 10 * np.log10(signal / noise) if noise else float("inf")
    return Row(
        case, form, float(np.mean(gap == 0)), float(np.mean(gap <= 1)), float(gap.max()), float(decibels)
    )


def emulate(graphs: Sequence[Graph], feeds: Sequence[dict[str, Array]]) -> list[dict[str, Array]]:
    """Outputs of graphs that are compiled together."""
    records = [
        replace(live_records(graph, list(graph.outputs)), name=f"g{number}")
        for number, graph in enumerate(graphs)
    ]
    context = shared_runtime(HtpOptions()).compile(records)
    outputs = []
    for graph, feed, record in zip(graphs, feeds, records, strict=True):
        names = {record.source_names.get(name, name): name for name in record.tensors}
        stored = {names[name]: feed[name].reshape(record.tensors[names[name]].dims) for name in graph.inputs}
        found = context.run(record.name, stored)
        outputs.append(
            {name: found[names[name]].reshape(graph.types[name].static_shape()) for name in graph.outputs}
        )
    return outputs


def read(graph: Graph, name: str, stored: Array) -> Array:
    """What stored numbers stand for."""
    encoding = graph.types[name].encoding
    return (stored if encoding is None else encoding.decode(stored)).astype(np.float64).reshape(-1)


def count_steps(first: Array, second: Array) -> Array:
    """How many numbers of their type lie between two."""
    places = [_count_places(array).reshape(-1) for array in (first, second)]
    return np.asarray(np.abs(places[0] - places[1]))


def _count_places(array: Array) -> Array:
    if array.dtype != DType.FLOAT_16.numpy:
        return array.astype(np.int64)
    bits = array.view(np.int16).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def measure_all(pattern: str, forms: Sequence[str], draws: int) -> Iterator[Row]:
    """Every case that has a word, in every form; what the library refuses is left out."""
    for case in CASES:
        for form in forms:
            if pattern.lower() in case.lower():
                try:
                    yield measure(case, form, draws)
                except EdgewrightError as problem:
                    sys.stdout.write(f"{case} {form}: {problem.what.splitlines()[0]}\n")


def listed() -> dict[tuple[str, str], float]:
    """Case and form -> the share of equal numbers that the page has."""
    found = ROW.finditer(PAGE.read_text("utf-8"))
    return {(row["case"], row["form"]): float(row["equal"]) / 100 for row in found}


def main() -> None:
    """Prints rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only cases that have this word")
    parser.add_argument("--forms", nargs="+", default=FORMS, help="number forms")
    parser.add_argument("--draws", type=int, default=DRAWS, help="networks of each case")
    parser.add_argument("--write", action="store_true", help="write these rows into the page of the docs")
    options = parser.parse_args()
    rows = []
    for row in measure_all(options.filter, options.forms, options.draws):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
        rows.append(row)
    if options.write:
        write_page(rows, options.draws)


def write_page(rows: Sequence[Row], draws: int) -> None:
    """Puts rows in place of those that the page has for the same cases; all others stay."""
    lines = PAGE.read_text("utf-8").splitlines()
    kept = {(row["case"], row["form"]): line for line in lines if (row := ROW.match(line))}
    kept |= {(row.case, row.form): str(row) for row in rows}
    ordered = [kept[case, form] for case in CASES for form in FORMS if (case, form) in kept]
    PAGE.write_text(HEAD.format(draws=draws) + "\n".join(ordered) + "\n", "utf-8")


if __name__ == "__main__":
    main()
