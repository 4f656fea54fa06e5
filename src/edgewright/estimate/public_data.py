"""The public measurements that come with the package: networks, their layers, times on chips."""

import csv
import gzip
import io
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from edgewright.estimate.work import Layer, Network

SOURCE = "qai-hub-models 0.65.0 (perf.yaml files, BSD-3-Clause, Qualcomm Technologies, Inc.)"
RELEASE = "0.65.0"
# Which way to the chip a time is taken from where several were measured: those that our files take first.
RUNTIMES = ("qnn_dlc", "qnn_context_binary", "precompiled_qnn_onnx", "onnx", "tflite")
# Kinds of the public records that are one of ours under another name; "free" ones cost nothing by themselves.
_KINDS = {
    "conv": "product",
    "deconv": "product",
    "fc": "product",
    "gconv": "grouped",
    "dw": "depthwise",
    "matmul": "attention",
    "norm": "statistics",
    "softmax": "statistics",
    "unary": "curve",
    "transpose": "transpose",
    "act": "free",
    "other": "free",
}
_PLACEMENTS = ("cat", "stack")


@dataclass(frozen=True)
class Chip:
    """A chip with measurements."""

    # As `edgewright targets` lists it, and as QNN numbers it.
    name: str
    soc_model: int
    arch: int
    devices: tuple[str, ...]
    # Other numbers and names of the same silicon.
    soc_models: tuple[int, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """One public time."""

    network: str
    precision: str
    soc_model: int
    runtime: str
    microseconds: float


@cache
def list_chips() -> dict[int, Chip]:
    """The chips with measurements by their SoC numbers."""
    table = json.loads(_read("chips.json"))
    return {
        entry["soc_model"]: Chip(
            entry["name"],
            entry["soc_model"],
            entry["arch"],
            tuple(entry["devices"]),
            tuple(entry["soc_models"]),
        )
        for entry in table
    }


@cache
def read_networks() -> dict[str, Network]:
    """The networks whose layers are known."""
    return {name: _read_network(record) for name, record in _read_records().items()}


@cache
def read_measurements() -> tuple[Measurement, ...]:
    """All times of networks that ran on the NPU alone."""
    rows = csv.DictReader(io.StringIO(_read("measurements.csv.gz")))
    return tuple(
        Measurement(
            row["network"],
            row["precision"],
            int(row["soc_model"]),
            row["runtime"],
            float(row["microseconds"]),
        )
        for row in rows
    )


@cache
def read_times() -> dict[tuple[str, str, int], Measurement]:
    """One time for each network, precision and chip: of the first runtime that has one."""
    order = {runtime: place for place, runtime in enumerate(RUNTIMES)}
    best: dict[tuple[str, str, int], Measurement] = {}
    for row in read_measurements():
        if row.runtime not in order:
            continue
        key = (row.network, row.precision, row.soc_model)
        if key not in best or order[row.runtime] < order[best[key].runtime]:
            best[key] = row
    return best


def _read_records() -> dict[str, Any]:
    records: dict[str, Any] = json.loads(_read("layers.json.gz"))
    return records


def _read_network(record: dict[str, Any]) -> Network:
    layers = []
    follows_constant = False
    for number, op in enumerate(record["ops"]):
        kind = _KINDS.get(op["kind"], "elements")
        # What reads weights only, and a transpose of it, is computed before the network runs.
        is_constant = op["i"] == 0 or (follows_constant and kind == "transpose")
        follows_constant = op["i"] == 0
        is_empty_pad = op["op"] == "constant_pad_nd" and op["i"] == op["o"]
        if is_constant or is_empty_pad or kind == "free":
            continue
        if op["op"] in _PLACEMENTS:
            kind = "placement"
        layers.append(
            Layer(
                f"{op['op']}_{number}",
                op["op"],
                kind,
                *(op["i"], op["o"], op["w"], op["macs"]),
                (op.get("cin", 1), op.get("cout", 1)),
                op.get("g", 1),
            )
        )
    clamps = sum(op["kind"] == "act" for op in record["ops"])
    return Network(tuple(layers), record["io_in"], record["io_out"], clamps)


def _read(name: str) -> str:
    data = (files("edgewright.estimate") / "_data" / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
