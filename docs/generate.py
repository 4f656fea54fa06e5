"""Writes docs/reference from the code: python docs/generate.py [--check] [PAGE ...]."""

import argparse
import ast
import importlib
import inspect
import json
import re
import sys
import textwrap
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT))

import edgewright  # noqa: E402
from docs.guide_examples import examples_page  # noqa: E402 - after the path of the tests
from docs.op_datatypes import datatypes_page  # noqa: E402 - after the path of the tests
from edgewright.analyse.architecture.check import RULES  # noqa: E402
from edgewright.backends.op_card import list_op_names, make_op_card  # noqa: E402
from edgewright.core import errors  # noqa: E402
from edgewright.evaluate.plugins.plugin import (  # noqa: E402
    FILE,
    MEMORY,
    SECTIONS,
    Plugin,
    find_builtin_plugins,
)
from edgewright.frontends.onnx import registry as onnx_registry  # noqa: E402
from edgewright.frontends.pytorch import registry  # noqa: E402
from edgewright.targets.devices import list_devices  # noqa: E402
from edgewright.targets.error_codes import CODES  # noqa: E402
from edgewright.targets.soc import list_socs  # noqa: E402
from edgewright.tools.umbrella import COMMANDS  # noqa: E402
from tests.backend import onnx_suite, tensorflow_suite, tflite_suite  # noqa: E402

GENERATED = "<!-- Made by docs/generate.py; change the code, not this page. -->\n\n"


def main() -> int:
    """Writes the pages, or with --check says which are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where a page is stale")
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="such as options.md; all where none is named"
    )
    options = parser.parse_args()
    stale = [name for name in options.pages or PAGES if _differs(name, PAGES[name]())]
    if options.check:
        for name in stale:
            print(f"docs/reference/{name} is stale: run 'make docs'")
        return 1 if stale else 0
    for name in stale:
        REFERENCE.mkdir(parents=True, exist_ok=True)
        (REFERENCE / name).write_text(GENERATED + PAGES[name]())
        print(f"wrote docs/reference/{name}")
    return 0


def _differs(name: str, text: str) -> bool:
    path = REFERENCE / name
    return not path.exists() or path.read_text() != GENERATED + text


@cache
def errors_page() -> str:
    """Every error class: code, exit code, meaning."""
    classes = [
        item
        for item in vars(errors).values()
        if inspect.isclass(item) and issubclass(item, errors.EdgewrightError)
    ]
    lines = [
        "# Errors\n",
        "Every error says what happened, where, and what to do. Tools end with the exit code.\n",
    ]
    for item in sorted(classes, key=lambda c: (c.exit_code, c.code)):
        title = f"## `{item.code}` (exit code {item.exit_code}): {item.__name__}"
        lines += [f"{title}\n\n{inspect.getdoc(item)}\n"]
    return "\n".join(lines)


@cache
def codes_page() -> str:
    """The codes of the QNN libraries: causes and fixes."""
    lines = [
        "# Codes of the QNN libraries\n",
        "What `edgewright explain CODE` says. A code is the lower half of the number that a call returns.\n",
    ]
    for entry in CODES:
        lines += [f"## {entry.code}: {entry.name}\n", f"Part: {entry.area}.\n"]
        lines += [
            *(f"- why: {cause}" for cause in entry.causes),
            *(f"- do: {fix}" for fix in entry.fixes),
            "",
        ]
    return "\n".join(lines)


@cache
def targets_page() -> str:
    """The chips that a context can be compiled for."""
    lines = [
        "# Targets\n",
        "Chips with a publicly known HTP; `--target` takes each of these names, numbers and architectures.\n",
        "| chip | market name | architecture | SoC numbers | VTCM (MB) |",
        "|---|---|---|---|---|",
    ]
    for chip in list_socs().values():
        if chip.has_htp:
            names = ", ".join(f"Snapdragon {name}" for name in chip.names)
            numbers = ", ".join(map(str, chip.soc_models))
            lines.append(f"| {chip.name} | {names} | v{chip.arch} | {numbers} | {chip.vtcm_mb or ''} |")
    lines += [
        "\n## Devices\n",
        "Phones, tablets, headsets and PCs that `--target` takes by name, with or without the maker's.\n",
        "| device | chip |",
        "|---|---|",
        *(f"| {device.name} | {str(device).partition(' has ')[2]} |" for device in list_devices().values()),
    ]
    return "\n".join(lines) + "\n"


@cache
def architecture_page() -> str:
    """The rules of the architecture check, from their declarations."""
    lines = [
        "# Rules of the architecture check\n",
        "What `qnn-architecture-checker`, `edgewright check` and the report of a build look for.\n",
        "Effects are documented or estimated from shapes; no cycles of an emulator, which are host time.\n",
    ]
    for rule in RULES.values():
        lines += [
            f"## `{rule.name}`\n",
            f"{rule.issue}\n",
            f"- why: {rule.reason}",
            f"- effect: {rule.effect}",
        ]
        lines += [f"- remedy: {rule.remedy}"]
        if rule.modify is not None:
            lines.append(f"- `--modify apply={rule.name}`: {rule.modification}. Tolerance: {rule.tolerance}")
        lines.append("")
    return "\n".join(lines)


@cache
def plugins_page() -> str:
    """The plugins of the accuracy evaluator, from their declarations."""
    plugins = find_builtin_plugins()
    counts = [sum(form in plugin.forms for plugin in plugins.values()) for form in (FILE, MEMORY)]
    lines = [
        "# Plugins of the accuracy evaluator\n",
        f"{len(plugins)} plugins; in the SDK's guide {counts[0]} are file-based, {counts[1]} memory-based.\n",
        "One code computes both: each runs in both forms, with the same result and all of its parameters.",
        "Where the forms have different defaults, both are given. *Ours*: not in the guide.\n",
    ]
    for kind, section in SECTIONS.items():
        lines.append(f"## {kind.capitalize()} plugins\n\nIn the section `{section}`.\n")
        for name in sorted(name for name, plugin in plugins.items() if plugin.kind == kind):
            lines += _describe_plugin(plugins[name])
    return "\n".join(lines)


def _describe_plugin(plugin: type[Plugin]) -> list[str]:
    """A heading, what it does, and a row for each parameter."""
    lines = [f"### `{plugin.name}`\n", f"{plugin.describe()} Form: {' and '.join(plugin.forms)}.\n"]
    parameters = plugin.list_parameters()
    if parameters:
        lines += ["| parameter | type | default | what it is |", "|---|---|---|---|"]
    for parameter in parameters:
        text = f"*Ours*: {parameter.text}" if parameter.is_ours else parameter.text
        default = parameter.describe_default()
        lines.append(f"| `{parameter.name}` | {parameter.kind.word} | {default} | {text} |")
    return [*lines, ""] if parameters else lines


def tools() -> dict[str, str]:
    """Every command that an installation has, with the module whose TOOL it is."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    sdk_tools = {name: entry.partition(":")[0] for name, entry in scripts.items() if name != "edgewright"}
    return {f"edgewright {name}": command.module for name, command in COMMANDS.items()} | sdk_tools


@cache
def options_page() -> str:
    """The help of every tool."""
    parts = ["# Tools and options\n"]
    for name, module in tools().items():
        loaded = importlib.import_module(module)
        # A tool whose features have options of their own has a help for each.
        features = getattr(loaded, "TOOLS", {"": loaded.TOOL})
        for feature, tool in features.items():
            title = f"{name} {feature}".strip()
            parts.append(f"## {title}\n\n```text\n{tool.help().rstrip()}\n```\n")
    return "\n".join(parts)


@cache
def api_page() -> str:
    """The public names of the package: functions, then classes."""
    items = {name: getattr(edgewright, name) for name in sorted(edgewright.__all__)}
    names = sorted(items, key=lambda name: inspect.isclass(items[name]))
    sections = [f"## `edgewright.{name}`\n\n{_describe(items[name])}\n" for name in names]
    return "\n".join(["# Python API\n", *sections])


def _describe(item: Any) -> str:
    if inspect.ismodule(item):
        functions = [
            part
            for _, part in inspect.getmembers(item, inspect.isfunction)
            if part.__module__ == item.__name__
        ]
        return "\n\n".join([inspect.getdoc(item) or "", *map(_describe, functions)])
    definition = _definition(item)
    if isinstance(definition, ast.FunctionDef):
        return f"```python\n{_signature(definition)}\n```\n\n{inspect.getdoc(item)}"
    return "\n".join([inspect.getdoc(item) or "", "", *_members(definition)])


def _definition(item: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(item))).body[0]


def _members(definition: ast.ClassDef) -> Iterator[str]:
    """The public fields and methods of a class, in the words of its source."""
    for child in definition.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield f"- `{name}: {ast.unparse(child.annotation)}`"
            case ast.FunctionDef(name=name) if not name.startswith("_"):
                is_property = "property" in map(ast.unparse, child.decorator_list)
                line = (ast.get_docstring(child) or "").partition("\n")[0]
                yield f"- `{name if is_property else _signature(child, width=1000)}`: {line}"


def _signature(definition: ast.FunctionDef, width: int = 100) -> str:
    """The signature in one line, or an argument a line where that is wider."""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(definition.args))
    arrow = f" -> {ast.unparse(definition.returns)}" if definition.returns else ""
    line = f"{definition.name}({arguments}){arrow}"
    if len(line) <= width:
        return line
    return "\n".join([f"{definition.name}(", *_wrap(arguments), f"){arrow}"])


def _wrap(arguments: str) -> Iterator[str]:
    """The arguments a line each: split at the commas that are in no brackets."""
    start = depth = 0
    for place, letter in enumerate(f"{arguments},"):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            yield f"    {arguments[start:place].strip()},"
            start = place + 1


@cache
def suite_page() -> str:
    """ONNX op by op: how many cases pass, and what the op becomes."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    becomes: dict[str, set[str]] = defaultdict(set)
    for found in onnx_suite.node_outcomes():
        for name in found.onnx_ops[:1]:
            rows[name][found.kind] += 1
            becomes[name].update(found.qnn_ops)
    total = Counter(found.kind for found in onnx_suite.node_outcomes())
    lines = [
        "# ONNX's node suite on Edgewright\n",
        _summary(total),
        "\n| ONNX op | cases | QNN ops only | with source ops | refused | other | becomes |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, counts in sorted(rows.items()):
        other = counts.total() - counts["qnn"] - counts["source"] - counts["refused"]
        cells = [
            name,
            counts.total(),
            counts["qnn"],
            counts["source"],
            counts["refused"],
            other,
            " ".join(sorted(becomes[name])),
        ]
        lines.append("| " + " | ".join(str(cell or "") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _summary(total: Counter[str]) -> str:
    passed = total["qnn"] + total["source"]
    return (
        f"{total.total()} cases at their own tolerances: {passed} pass, {total['qnn']} of them with QNN ops "
        f"only; {total['refused']} are refused with the code `unsupported-op`; "
        f"{total.total() - passed - total['refused']} fail otherwise.\n"
    )


@cache
def ops_page() -> str:
    """QNN op by op: which ONNX ops become it, how backends run it, and what is true of it."""
    sources: dict[str, set[str]] = defaultdict(set)
    for found in onnx_suite.node_outcomes():
        for name in found.qnn_ops:
            sources[name].update(found.onnx_ops[:1])
    cards = [make_op_card(name) for name in list_op_names()]
    how = Counter(card.cpu for card in cards)
    lines = [
        "# QNN ops: where they come from and how they run\n",
        (
            f"{len(cards)} ops: {how['engine']} run on ONNX Runtime, {how['reference']} in the numpy "
            "reference; [what each does in each datatype](op-datatypes.md).\n"
        ),
        *_frontend_counts(),
        "| QNN op | CPU backend | quantized for HTP | traits | from ONNX (in the node suite) | parameters |",
        "|---|---|---|---|---|---|",
    ]
    for card in cards:
        params = " ".join(param.name for param in card.params)
        cells = (card.name, card.cpu, card.htp_precision, " ".join(card.traits))
        lines.append(f"| {' | '.join(cells)} | {' '.join(sorted(sources[card.name]))} | {params} |")
    return "\n".join(lines) + "\n"


def _frontend_counts() -> list[str]:
    """How many ops each frontend translates, and how many of them its framework has confirmed."""
    programs = _torch_programs()
    torch_ops = registry.translated_ops()
    rows = [
        ("ONNX", "ONNX's node suite", _onnx_counts(), "onnx-node-suite.md"),
        ("TFLite", "LiteRT", _counted(tflite_suite.translated()), "tflite-ops.md"),
        ("TensorFlow", "TensorFlow", _counted(tensorflow_suite.translated()), "tensorflow-ops.md"),
        (
            *("PyTorch", "torch"),
            (len(torch_ops), sum(name in programs for name in torch_ops)),
            "pytorch-ops.md",
        ),
    ]
    head = [
        "| source | ops translated | held against its own framework | by | op by op |",
        "|---|---|---|---|---|",
    ]
    return [
        *head,
        *(f"| {name} | {ops} | {held} | {by} | [{page}]({page}) |" for name, by, (ops, held), page in rows),
        "",
    ]


def _onnx_counts() -> tuple[int, int]:
    names = {name for domain, name in onnx_registry.TRANSLATIONS if not domain}
    passed = {found.onnx_ops[0] for found in onnx_suite.node_outcomes() if found.kind in {"qnn", "source"}}
    return len(names), len(names & passed)


def _counted(found: list[tflite_suite.TranslatedOp]) -> tuple[int, int]:
    return len(found), sum(item.cases > 0 for item in found)


def tflite_page() -> str:
    """TFLite op by op: how many models are held against LiteRT, and what the op becomes."""
    return _translated_page("TFLite", "LiteRT", "models", tflite_suite.translated())


def tensorflow_page() -> str:
    """TensorFlow op by op: how many graphs are held against TensorFlow, and what the op becomes."""
    return _translated_page("TensorFlow", "TensorFlow", "graphs", tensorflow_suite.translated())


def _translated_page(source: str, judge: str, kind: str, found: list[tflite_suite.TranslatedOp]) -> str:
    lines = [
        f"# {source} ops\n",
        (
            f"{len(found)} ops are translated; {sum(item.cases > 0 for item in found)} of them are held "
            f"against what {judge} computes, in the number of small {kind} that the table gives.\n"
        ),
        f"| {source} op | {kind} | becomes |",
        "|---|---|---|",
    ]
    lines += [f"| {item.name} | {item.cases or ''} | {' '.join(item.becomes)} |" for item in found]
    return "\n".join(lines) + "\n"


def pytorch_page() -> str:
    """ATen op by op: how many programs of the tests are held against torch."""
    programs = _torch_programs()
    names = registry.translated_ops()
    lines = [
        "# PyTorch ops\n",
        (
            f"{len(names)} ops have a translation; {sum(name in programs for name in names)} of them are "
            "held against what torch computes, in the number of programs that the table gives. Other ops are "
            "taken apart by torch's own definitions, and their parts are translated.\n"
        ),
        "| op | programs |",
        "|---|---|",
    ]
    lines += [f"| {name} | {programs.get(name, '')} |" for name in names]
    return "\n".join(lines) + "\n"


@cache
def torch_samples_page() -> str:
    """PyTorch's own samples op by op, as tests/backend/test_torch_suite.py holds them."""
    record = json.loads((ROOT / "tests/backend/torch_samples.json").read_text())
    ops: dict[str, dict[str, Any]] = record["ops"]
    kinds = Counter(item["kind"] for item in ops.values())
    lines = [
        "# PyTorch's own samples on Edgewright\n",
        (
            f"torch {record['torch']} has samples of {len(ops)} ops and variants of ops (OpInfo). Up to "
            f"{record['samples']} of each, spread over all, are traced, converted, run and compared with "
            f"torch, to a part of 10,000 of the output's range. {len(ops) - kinds['left out']} can be tried: "
            f"**{kinds['match']} match, {kinds['partly']} match in some samples and are refused in others, "
            f"{kinds['refused']} are refused, {kinds['wrong'] + kinds['crash']} are wrong.** Complex results "
            "are compared as pairs of real numbers.\n"
        ),
    ]
    titles = {"refused": "Refused", "partly": "Refused in some samples", "left out": "Not tried"}
    for kind, title in titles.items():
        chosen = {op: item["why"] for op, item in ops.items() if item["kind"] == kind}
        rows = [f"| {op} | {_cell('; '.join(why))} |" for op, why in chosen.items()]
        lines += [f"## {title}\n", "| op | why |", "|---|---|", *rows, ""]
    matching = ", ".join(op for op, item in ops.items() if item["kind"] == "match")
    return "\n".join([*lines, "## Match\n", *textwrap.wrap(matching, 120)]) + "\n"


@cache
def keras_page() -> str:
    """Keras layer by layer, as benchmarks/keras_layers.py recorded it."""
    record = json.loads((ROOT / "benchmarks/keras_layers.json").read_text())
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    forms = ("SavedModel", "TFLite")
    counts = {form: Counter(row[form]["kind"] for row in record["cases"]) for form in forms}
    lines = [
        "# Keras on Edgewright\n",
        (
            "Every layer of Keras in small models and the smallest architecture of each family of "
            "`keras.applications`, with random weights: exported, converted without TensorFlow, run, and "
            "compared with Keras to a part of 10,000 of the output's range. Recorded "
            f"{record['date']} with {versions}; `make keras` records it anew.\n"
        ),
        *(
            f"- {form}: {c['match']} match, {c['refused']} are refused, {c['wrong'] + c['crash']} are wrong; "
            f"{c['left out']} could not be written in this format"
            for form, c in counts.items()
        ),
        "\n| layer | model | SavedModel | TFLite |",
        "|---|---|---|---|",
    ]
    for row in record["cases"]:
        cells = [_cell(f"{row[form]['kind']}: {row[form]['detail']}".removesuffix(": ")) for form in forms]
        lines.append(f"| {row['layer']} | {_cell(row['variant'])} | {cells[0]} | {cells[1]} |")
    lines += ["\n## Not tried\n", "| layer | why |", "|---|---|"]
    lines += [f"| {layer} | {why} |" for layer, why in record["left_out"].items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _torch_programs() -> dict[str, int]:
    found: dict[str, int] = json.loads((ROOT / "tests/unit/frontends/pytorch/op_programs.json").read_text())
    return found


PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "qnn-codes.md": codes_page,
    "targets.md": targets_page,
    "architecture-rules.md": architecture_page,
    "plugins.md": plugins_page,
    "options.md": options_page,
    "api.md": api_page,
    "onnx-node-suite.md": suite_page,
    "ops.md": ops_page,
    "op-datatypes.md": datatypes_page,
    "guide-examples.md": examples_page,
    "tflite-ops.md": tflite_page,
    "pytorch-ops.md": pytorch_page,
    "pytorch-samples.md": torch_samples_page,
    "tensorflow-ops.md": tensorflow_page,
    "keras-layers.md": keras_page,
}

if __name__ == "__main__":
    sys.exit(main())
