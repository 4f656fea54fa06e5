"""Values that no option takes: one clean error or a result, for every option that every tool declares."""

import importlib
import pkgutil

import pytest

import edgewright.tools
from edgewright.tools.tool import Tool
from tests.hostile.case import Runner, check
from tests.hostile.option_cases import COMMANDS, list_cases

# Tools that take no values, that serve or talk without an end, or whose features have options of their own.
LEFT_OUT = {
    *("doctor_command", "sdk_root_command", "envcheck", "check_python_dependency", "qnn_platform_validator"),
    *("qnn_netron", "llm_chat_command", "qnn_accuracy_debugger"),
}
QUICK = ("qnn_architecture_checker", "convert_command")
# Of ten values that are tried, so many share an option in the slow tests.
SHARE = 5


@pytest.fixture(scope="module")
def runner():
    started = Runner()
    yield started
    started.close()


def list_modules():
    return [
        pytest.param(module, marks=pytest.mark.slow if module in QUICK else pytest.mark.exhaustive)
        for module in COMMANDS
    ]


@pytest.mark.parametrize("module", list_modules())
def test_a_value_that_no_option_takes_is_one_clean_error_or_harmless(module, runner, tmp_path):
    for number, case in enumerate(list_cases(module, SHARE)):
        (tmp_path / str(number)).mkdir()
        check(case, runner, tmp_path / str(number))


def test_every_tool_that_takes_options_is_tried():
    modules = [module.name for module in pkgutil.iter_modules(edgewright.tools.__path__)]
    found = {name for name in modules if "TOOL" in vars(importlib.import_module(f"edgewright.tools.{name}"))}
    tools = {
        name for name in found if isinstance(importlib.import_module(f"edgewright.tools.{name}").TOOL, Tool)
    }
    assert tools - LEFT_OUT == set(COMMANDS) & tools
    assert set(COMMANDS) <= set(modules)
