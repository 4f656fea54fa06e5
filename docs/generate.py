"""Writes docs/reference from the code: python docs/generate.py [--check]."""

import argparse
import importlib
import inspect
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT))

from edgewright.backends.op_card import list_op_names, make_op_card  # noqa: E402 - after the path of the tests
from edgewright.core import errors  # noqa: E402
from edgewright.frontends.onnx import registry as onnx_registry  # noqa: E402
from edgewright.frontends.pytorch import registry  # noqa: E402
from edgewright.targets.error_codes import CODES  # noqa: E402
from edgewright.targets.soc import list_socs  # noqa: E402
from tests.backend import onnx_suite, tensorflow_suite, tflite_suite  # noqa: E402

TOOLS = {
    "qnn-onnx-converter": "edgewright.tools.qnn_onnx_converter",
    "qnn-pytorch-converter": "edgewright.tools.qnn_pytorch_converter",
    "qnn-tensorflow-converter": "edgewright.tools.qnn_tensorflow_converter",
    "qnn-tflite-converter": "edgewright.tools.qnn_tflite_converter",
    "qnn-net-run": "edgewright.tools.qnn_net_run",
    "qnn-throughput-net-run": "edgewright.tools.qnn_throughput_net_run",
    "qairt-converter": "edgewright.tools.qairt_converter",
    "qairt-quantizer": "edgewright.tools.qairt_quantizer",
    "qnn-context-binary-generator": "edgewright.tools.qnn_context_binary_generator",
    "qnn-context-binary-utility": "edgewright.tools.qnn_context_binary_utility",
    "qnn-model-lib-generator": "edgewright.tools.qnn_model_lib_generator",
    "qnn-op-package-generator": "edgewright.tools.qnn_op_package_generator",
    "qnn-profile-viewer": "edgewright.tools.qnn_profile_viewer",
    "qnn-platform-validator": "edgewright.tools.qnn_platform_validator",
    "envcheck": "edgewright.tools.envcheck",
    "check-python-dependency": "edgewright.tools.check_python_dependency",
    "edgewright inspect": "edgewright.tools.inspect_command",
    "edgewright convert": "edgewright.tools.convert_command",
    "edgewright quantize": "edgewright.tools.quantize_command",
    "edgewright run": "edgewright.tools.run_command",
    "edgewright profile": "edgewright.tools.profile_command",
    "edgewright sdk-root": "edgewright.tools.sdk_root_command",
    "edgewright check": "edgewright.tools.check_command",
    "edgewright export-ep-context": "edgewright.tools.export_ep_context_command",
    "edgewright targets": "edgewright.tools.targets_command",
    "edgewright explain": "edgewright.tools.explain_command",
    "edgewright op": "edgewright.tools.op_command",
    "edgewright doctor": "edgewright.tools.doctor_command",
}
PUBLIC = (
    *("convert", "quantize", "compare", "load", "compile", "load_context", "op_package"),
    *("select_backend", "profile", "check_backend_support", "validate_quantization_range"),
    *("QNNInference", "QNNProfiler", "QNNDebugger", "BackendSelector", "DynamicQuantization"),
    *("Model", "CompiledModel", "EdgewrightError"),
)
GENERATED = "<!-- Made by docs/generate.py; change the code, not this page. -->\n\n"


def main() -> int:
    """Writes the pages, or with --check says which are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    stale = [name for name, page in PAGES.items() if _differs(name, page())]
    if is_check:
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
    return "\n".join(lines) + "\n"


@cache
def options_page() -> str:
    """The help of every tool."""
    parts = ["# Tools and options\n"]
    for name, module in TOOLS.items():
        parts.append(f"## {name}\n\n```text\n{importlib.import_module(module).TOOL.help().rstrip()}\n```\n")
    return "\n".join(parts)


@cache
def api_page() -> str:
    """The public names of the package."""
    package = importlib.import_module("edgewright")
    parts = ["# Python API\n"]
    for name in PUBLIC:
        item = getattr(package, name)
        parts.append(f"## `edgewright.{name}`\n\n{_described(name, item)}\n")
    return "\n".join(parts)


def _described(name: str, item: object) -> str:
    if not inspect.isclass(item):
        return f"```python\n{name}{inspect.signature(item)}\n```\n\n{inspect.getdoc(item)}"
    public = {k: v for k, v in vars(item).items() if not k.startswith("_") and inspect.isfunction(v)}
    methods = [
        f"- `{k}{inspect.signature(v)}`: {(inspect.getdoc(v) or ' ').splitlines()[0]}"
        for k, v in public.items()
    ]
    return "\n".join([inspect.getdoc(item) or "", "", *methods])


@cache
def outcomes() -> list[onnx_suite.Outcome]:
    """How every case of ONNX's node suite goes."""
    return [onnx_suite.outcome(case) for case in onnx_suite.cases()]


@cache
def suite_page() -> str:
    """ONNX op by op: how many cases pass, and what the op becomes."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    becomes: dict[str, set[str]] = defaultdict(set)
    for found in outcomes():
        for name in found.onnx_ops[:1]:
            rows[name][found.kind] += 1
            becomes[name].update(found.qnn_ops)
    total = Counter(found.kind for found in outcomes())
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
    """QNN op by op: which ONNX ops become it, how the CPU backend runs it."""
    sources: dict[str, set[str]] = defaultdict(set)
    for found in outcomes():
        for name in found.qnn_ops:
            sources[name].update(found.onnx_ops[:1])
    cards = [make_op_card(name) for name in list_op_names()]
    how = Counter(card.cpu for card in cards)
    lines = [
        "# QNN ops: where they come from and how they run\n",
        (
            f"{len(cards)} ops: {how['engine']} run on ONNX Runtime, {how['reference']} in the numpy "
            f"reference, {how['no']} are known by signature and shape rule.\n"
        ),
        *_frontend_counts(),
        "| QNN op | CPU backend | from ONNX (as seen in the node suite) | parameters |",
        "|---|---|---|---|",
    ]
    for card in cards:
        params = " ".join(param.name for param in card.params)
        lines.append(f"| {card.name} | {card.cpu} | {' '.join(sorted(sources[card.name]))} | {params} |")
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
    names = {name for domain, name in onnx_registry.translated_ops() if not domain}
    passed = {found.onnx_ops[0] for found in outcomes() if found.kind in {"qnn", "source"}}
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


def _torch_programs() -> dict[str, int]:
    found: dict[str, int] = json.loads((ROOT / "tests/unit/frontends/pytorch/op_programs.json").read_text())
    return found


PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "qnn-codes.md": codes_page,
    "targets.md": targets_page,
    "options.md": options_page,
    "api.md": api_page,
    "onnx-node-suite.md": suite_page,
    "ops.md": ops_page,
    "tflite-ops.md": tflite_page,
    "pytorch-ops.md": pytorch_page,
    "tensorflow-ops.md": tensorflow_page,
}

if __name__ == "__main__":
    sys.exit(main())
