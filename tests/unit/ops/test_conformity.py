"""Every op class spells its ports, parameters and enum values as QNN does."""

import dataclasses
import json
from importlib.resources import files

import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.numbers import DType
from edgewright.ir.op import REGISTRY, Op

TABLE = json.loads((files("edgewright") / "_data" / "ops.json").read_text())
NOT_QNN = {"SourceOp"}
OPS = sorted(set(REGISTRY) - NOT_QNN)


def params_of(op: type[Op]) -> dict[str, tuple[DType, bool]]:
    return {f.name: f.metadata["param"] for f in dataclasses.fields(op) if "param" in f.metadata}


@pytest.mark.parametrize("name", OPS)
def test_op_is_in_the_catalogue(name: str) -> None:
    assert name in TABLE


@pytest.mark.parametrize("name", OPS)
def test_params_have_the_catalogues_names_kinds_and_types(name: str) -> None:
    table = {p["name"]: p for p in TABLE[name]["params"]}
    ours = params_of(REGISTRY[name])
    assert set(ours) <= set(table)
    assert {p for p, row in table.items() if row.get("required")} <= set(ours)
    for param, (dtype, is_tensor) in ours.items():
        row = table[param]
        assert row["kind"] == ("tensor" if is_tensor else "scalar"), param
        assert row["type"] in {dtype.name, "backend specific"} or dtype.name in row["type"], param


@pytest.mark.parametrize("name", OPS)
def test_ports_have_the_catalogues_names_and_required_flags(name: str) -> None:
    for ours, table in (
        (REGISTRY[name].inputs, TABLE[name]["inputs"]),
        (REGISTRY[name].outputs, TABLE[name]["outputs"]),
    ):
        assert [port.name for port in ours] == [row["name"] for row in table][: len(ours)]
        assert [port.is_required for port in ours] == [bool(row["required"]) for row in table][: len(ours)]
        assert not any(row["required"] for row in table[len(ours) :])


@pytest.mark.parametrize("name", OPS)
def test_enum_params_have_the_catalogues_values(name: str) -> None:
    table = {p["name"]: p["enum"] for p in TABLE[name]["params"] if p.get("enum")}
    for field in dataclasses.fields(REGISTRY[name]):
        if field.name in table and isinstance(field.type, type) and hasattr(field.type, "__members__"):
            assert {k: int(v) for k, v in field.type.__members__.items()} == table[field.name]
