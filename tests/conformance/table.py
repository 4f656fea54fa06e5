"""Measures every network in every precision and writes docs/conformance.md.

python -m tests.conformance.table [--models DIR --data DIR] [--again NAME]: what is measured is kept in
.cache/conformance.json and not measured again, so that it can be stopped at any time.
"""

import argparse
import json
import math
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.conditions import describe_conditions
from tests.conformance.measure import LEAST, MOST_OPTIMISM, PRECISIONS, Entry, measure
from tests.conformance.network import NETWORKS, Network

ROOT = Path(__file__).parents[2]
PAGE, KEPT = ROOT / "docs" / "conformance.md", ROOT / ".cache" / "conformance.json"
EXAMPLES = ROOT / "examples"
FAMILIES = ("images", "sequences", "attention", "mixed", "onnx_forms")
HEAD = "| network | kind | precision | emulator dB | simulation dB | verdict | why |"


def list_networks() -> list[Network]:
    """Those that are generated, family by family."""
    for family in FAMILIES:
        import_module(f"tests.conformance.{family}")
    return list(NETWORKS.values())


def _list_all(models: list[Path], data: list[Path]) -> list[Network]:
    from tests.conformance.real import list_trained_networks

    return [
        *list_networks(),
        *list_trained_networks([*models, EXAMPLES / "models"], [*data, EXAMPLES / "data"]),
    ]


def _read_kept() -> dict[str, Entry]:
    rows = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else []
    entries = (Entry(**{**row, "lost": tuple(row["lost"]), "notes": tuple(row["notes"])}) for row in rows)
    return {f"{entry.network} {entry.precision}": entry for entry in entries}


def _keep(entries: dict[str, Entry]) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps([asdict(entry) for entry in entries.values()], indent=1), "utf-8")


def write_page(entries: list[Entry]) -> None:
    """The table behind what the page says about it."""
    preface = PAGE.read_text("utf-8").partition("## The table")[0]
    good = sum(entry.verdict == "right" for entry in entries)
    refused = sum(entry.verdict == "refused" for entry in entries)
    networks = len({entry.network for entry in entries})
    summary = (
        f"{networks} networks, {len(entries)} entries: {good} right, {refused} refused with the reason, "
        f"{sum(entry.verdict == 'poor, said' for entry in entries)} poor and said to be, "
        f"{sum(not entry.is_honest for entry in entries)} wrong without a word."
    )
    rows = "\n".join(map(_write_row, entries))
    table = f"{HEAD}\n{'|---' * 7}|\n{rows}\n{describe_conditions()}\n"
    PAGE.write_text(f"{preface}## The table\n\n{summary}\n\n{table}", "utf-8")


def _write_row(entry: Entry) -> str:
    why = entry.crashed or entry.refused or "; ".join(entry.lost)
    if not why and entry.verdict == "poor, said":
        why = next(note for note in entry.notes if " dB" in note)
    figures = " | ".join("" if math.isnan(db) else f"{db:.1f}" for db in (entry.emulator, entry.simulation))
    why = why.replace("|", "/").removeprefix("error")[:160]
    return f"| {entry.network} | {entry.kind} | {entry.precision} | {figures} | {entry.verdict} | {why} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of trained models")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--again", action="append", default=[], help="measure this network again")
    arguments = parser.parse_args()
    entries, measured = _read_kept(), dict[str, Entry]()
    for network in _list_all(arguments.models, arguments.data):
        for precision in PRECISIONS:
            key = f"{network.name} {precision}"
            if key not in entries or network.name in arguments.again:
                entries[key] = measure(network, precision)
                _keep(entries)
            measured[key] = entries[key]
            print(_write_row(entries[key]), flush=True)
    write_page(list(measured.values()))
    dishonest = [key for key, entry in measured.items() if not entry.is_honest]
    print(f"at least {LEAST} dB, at most {MOST_OPTIMISM:g} dB of optimism; wrong without a word: {dishonest}")
    return 1 if dishonest else 0


if __name__ == "__main__":
    sys.exit(main())
