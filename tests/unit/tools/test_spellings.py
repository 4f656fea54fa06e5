"""Every field that a message names is spelled by the tools that have an option for it."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import edgewright.tools
from edgewright.tools.tool import Tool

MODULES = [
    importlib.import_module(f"edgewright.tools.{m.name}")
    for m in pkgutil.iter_modules(edgewright.tools.__path__)
]
TOOLS: list[Tool] = [module.TOOL for module in MODULES if hasattr(module, "TOOL")]
SOURCES = [path.read_text() for path in Path(edgewright.__file__).parent.rglob("*.py")]
FIELDS = sorted({name for text in SOURCES for name in re.findall(r"(?:spell|has)_option\([\"'](\w+)", text)})


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_one_option_of_each_tool_that_has_it(field: str) -> None:
    flags = [
        [
            option.name
            for group in tool.groups
            for name, option in group.options().items()
            if field == (option.fills or name)
        ]
        for tool in TOOLS
    ]
    assert max(map(len, flags)) == 1


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_flags_of_fields_are_those_of_the_tool(tool: Tool) -> None:
    flags = {flag for group in tool.groups for option in group.options().values() for flag in option.flags}
    assert set(tool.spellings().values()) <= flags
