"""Every op class spells its ports, parameters and enum values as QNN does; a failure says what to change."""

import dataclasses
import json
import re
from importlib.resources import files

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.numbers import DType
from edgewright.ir.op import REGISTRY, Op

TABLE = json.loads((files("edgewright") / "_data" / "ops.json").read_text())
NOT_QNN = {"SourceOp"}
OPS = sorted(set(REGISTRY) - NOT_QNN)
NUMBER = re.compile(r"[-\d.e\[\], ]+")


def params_of(op: type[Op]) -> dict[str, tuple[DType, bool]]:
    return {f.name: f.metadata["param"] for f in dataclasses.fields(op) if "param" in f.metadata}


def check(problems: list[str], name: str) -> None:
    """Fails with everything that an op spells differently, and where to change it."""
    where = f"class {REGISTRY[name].__name__} in {REGISTRY[name].__module__}"
    if problems:
        pytest.fail("\n".join([f"change {where}:", *(f"- {text}" for text in problems)]), pytrace=False)


@pytest.mark.parametrize("name", OPS)
def test_op_is_in_the_catalogue(name: str) -> None:
    check([f"rename it: QNN has no op '{name}'"] if name not in TABLE else [], name)


@pytest.mark.parametrize("name", OPS)
def test_params_have_the_catalogues_names_kinds_and_types(name: str) -> None:
    table = {row["name"]: row for row in TABLE[name]["params"]}
    ours = params_of(REGISTRY[name])
    problems = [
        f"remove or rename the field '{param}': QNN has {[*table]}" for param in set(ours) - set(table)
    ]
    required = {param for param, row in table.items() if row.get("required")}
    problems += [
        f"add the field '{param}', which QNN requires: {table[param]}" for param in required - set(ours)
    ]
    for param in set(ours) & set(table):
        dtype, is_tensor = ours[param]
        declared, kind = "tensor" if is_tensor else "scalar", table[param]["kind"]
        if declared != kind:
            problems.append(f"declare '{param}' with {kind}(), not {declared}()")
        if dtype.name not in table[param]["type"] and table[param]["type"] != "backend specific":
            problems.append(f"declare '{param}' as {table[param]['type']}, not as {dtype.name}")
    check(problems, name)


@pytest.mark.parametrize("name", OPS)
def test_ports_have_the_catalogues_names_and_required_flags(name: str) -> None:
    problems = []
    for kind in ("inputs", "outputs"):
        ours = [(port.name, port.is_required) for port in getattr(REGISTRY[name], kind)]
        table = [(row["name"], bool(row["required"])) for row in TABLE[name][kind]]
        if ours != table[: len(ours)]:
            problems.append(f"declare {kind} as Port(name, is_required) {table[: len(ours)]}, not {ours}")
        missing = [port for port, is_required in table[len(ours) :] if is_required]
        problems += [f"add the port '{port}' to {kind}: QNN requires it" for port in missing]
    check(problems, name)


@pytest.mark.parametrize("name", OPS)
def test_enum_params_have_the_catalogues_values(name: str) -> None:
    table = {row["name"]: row["enum"] for row in TABLE[name]["params"] if row.get("enum")}
    problems = []
    for field in dataclasses.fields(REGISTRY[name]):
        if field.name in table and isinstance(field.type, type) and hasattr(field.type, "__members__"):
            ours = {member: int(value) for member, value in field.type.__members__.items()}
            if ours != table[field.name]:
                problems.append(f"give {field.type.__name__} the members {table[field.name]}, not {ours}")
    check(problems, name)


@pytest.mark.parametrize("name", OPS)
def test_params_have_the_catalogues_defaults(name: str) -> None:
    table = {row["name"]: row.get("default") for row in TABLE[name]["params"]}
    problems = []
    for field in dataclasses.fields(REGISTRY[name]):
        number = NUMBER.fullmatch(str(table.get(field.name)))
        # None, or no default: whoever makes the op decides.
        if number and field.default is not None and field.default is not dataclasses.MISSING:
            default, ours = json.loads(number[0]), np.asarray(field.default, np.float64).tolist()
            if ours != default:
                problems.append(f"give '{field.name}' the default {default}, not {field.default}")
    check(problems, name)
