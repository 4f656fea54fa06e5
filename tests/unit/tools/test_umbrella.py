import importlib

import pytest

from edgewright.tools.tool import Tool
from edgewright.tools.umbrella import COMMANDS, main


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(words, capsys):
    assert main(words) == 0
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name}" in out
        assert command.summary in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_tool_with_help_and_examples(name, capsys):
    tool = importlib.import_module(COMMANDS[name].module).TOOL
    assert isinstance(tool, Tool)
    assert (tool.name, bool(tool.examples)) == (f"edgewright {name}", True)
    assert main(["help", name]) == main([name, "--help"]) == 0
    assert f"usage: edgewright {name}" in capsys.readouterr().out


def test_a_mistyped_command_is_guessed(capsys):
    assert main(["docter"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error[usage]: command 'docter' is unknown, expected one of: ")
    assert err.endswith("\n  do:    did you mean 'doctor'?\n")


def test_an_option_in_place_of_a_command_is_called_an_option(capsys):
    assert main(["--vresion"]) == 2
    assert "option '--vresion' is unknown" in capsys.readouterr().err


def test_the_version_is_shown(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("edgewright ")
