"""Makes the tables of edgewright/estimate/_data from public records: python generate_latencies.py FOLDER.

FOLDER holds perf.csv.gz (one row a record of qai-hub-models) and layers.json.gz (networks as lists of ops).
Kept: times on the NPU alone, one for each job; times of language models; the layers as they are.
"""

import csv
import gzip
import io
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

HERE = Path(__file__).parent.parent / "estimate" / "_data"
# Chips by SoC number: the name that `edgewright targets` lists, and numbers of the same silicon.
CHIPS: dict[int, tuple[str, tuple[int, ...]]] = {
    36: ("SM8450", ()),
    39: ("SA8295", ()),
    43: ("SM8550", (66,)),
    52: ("SA8255", ()),
    57: ("SM8650", ()),
    60: ("SC8380XP", ()),
    67: ("SA7255", ()),
    69: ("SM8750", ()),
    77: ("QCS9075", ()),
    78: ("QCM6690", ()),
    82: ("QCS8275", ()),
    86: ("SM7750", ()),
    87: ("SM8850", ()),
    88: ("SC8480XP", ()),
    93: ("QCM6490", (35,)),
    103: ("SM8975", ()),
    113: ("SM8950", ()),
}
Row = dict[str, str]


def main(folder: Path) -> None:
    """Writes all tables."""
    with gzip.open(folder / "perf.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = name_networks(rows)
    write_csv(
        "measurements.csv.gz",
        ("network", "precision", "soc_model", "runtime", "microseconds"),
        list_times(rows, names),
    )
    write_csv(
        "llm.csv.gz",
        (
            "model",
            "precision",
            "runtime",
            "soc_model",
            "context",
            "tokens_per_s",
            "ttft_min_ms",
            "ttft_max_ms",
        ),
        list_llm_rows(rows),
    )
    (HERE / "chips.json").write_text(json.dumps(list_chips(rows), indent=1) + "\n", "utf-8")
    layers = json.dumps(
        json.loads(gzip.decompress((folder / "layers.json.gz").read_bytes())), separators=(",", ":")
    )
    (HERE / "layers.json.gz").write_bytes(gzip.compress(layers.encode(), 9, mtime=0))


def name_networks(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """The model's name, with its component's where it has several."""
    parts = defaultdict(set)
    for row in rows:
        parts[row["model"]].add(row["component"])
    return {
        (model, part): model if len(components) == 1 else f"{model}:{part}"
        for model, components in parts.items()
        for part in components
    }


def list_times(rows: Iterable[Row], names: dict[tuple[str, str], str]) -> list[tuple[str, ...]]:
    """The median time by network, precision, chip and runtime; a job that is listed twice counts once."""
    jobs = {
        row["job_id"]: row
        for row in reversed(list(rows))
        if row["inference_us"] and row["compute_unit"] == "NPU" and row["layers_npu"] == row["layers_total"]
    }
    times = defaultdict(list)
    for row in jobs.values():
        key = (names[row["model"], row["component"]], row["precision"], row["soc_model"], row["runtime"])
        times[key].append(float(row["inference_us"]))
    return sorted((*key, f"{statistics.median(values):g}") for key, values in times.items())


def list_llm_rows(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Rows of language models that produced tokens."""
    keys = ("llm_context", "llm_tokens_per_s", "llm_ttft_min_ms", "llm_ttft_max_ms")
    llm_rows = {
        (
            row["model"],
            row["precision"],
            row["runtime"],
            row["soc_model"],
            *(f"{float(row[key]):g}" for key in keys),
        )
        for row in rows
        if row["llm_tokens_per_s"] and float(row["llm_tokens_per_s"]) > 0
    }
    return sorted(llm_rows)


def list_chips(rows: Iterable[Row]) -> list[dict[str, object]]:
    """The chips with the devices that were measured."""
    devices, archs = defaultdict(set), {}
    for row in rows:
        devices[int(row["soc_model"])].add(row["device"])
        archs[int(row["soc_model"])] = int(row["htp_version"])
    return [
        {
            "name": name,
            "soc_model": number,
            "arch": archs[number],
            "devices": sorted(devices[number]),
            "soc_models": others,
        }
        for number, (name, others) in CHIPS.items()
    ]


def write_csv(name: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes a compressed table that is the same bytes for the same rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([headers, *rows])
    (HERE / name).write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
