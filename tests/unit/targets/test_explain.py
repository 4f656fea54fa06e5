import json

import pytest

from edgewright.core.errors import UsageError
from edgewright.targets.error_codes import CODES, find_area
from edgewright.targets.explain import explain, list_known_codes
from edgewright.tools.umbrella import main


@pytest.mark.parametrize("entry", CODES, ids=lambda entry: str(entry.code))
def test_every_code_has_an_area_a_cause_and_a_fix(entry):
    found = explain(str(entry.code))
    assert found.origin == f"QNN, {find_area(entry.code)}"
    assert found.causes
    assert found.fixes
    assert found.name == entry.name


@pytest.mark.parametrize("spelled", ["5005", "0x138d", "0x138D", str((7 << 16) + 5005)])
def test_a_code_is_found_as_number_in_hex_and_inside_a_handle(spelled):
    assert explain(spelled).code == "5005"


def test_an_unlisted_code_of_a_known_part_says_the_part():
    found = explain("6123")
    assert (found.code, found.origin) == ("6123", "QNN, graphs")


@pytest.mark.parametrize("word", ["bad-input", "Unsupported-Op", "backend-crash"])
def test_codes_of_edgewright_are_explained_by_their_own_text(word):
    found = explain(word)
    assert found.origin == "Edgewright"
    assert found.causes[0].endswith((".", ":"))


def test_an_exit_code_of_several_errors_lists_them():
    assert [cause.partition(":")[0] for cause in explain("4").causes] == [
        *("not-built-yet", "unsupported-feature", "unsupported-op"),
    ]


@pytest.mark.parametrize("word", ["42", "bad-inputs", "", "99999", "-1", "0x", "13000000000000000000000"])
def test_what_is_no_code_is_a_usage_error(word):
    with pytest.raises(UsageError):
        explain(word)


def test_a_mistyped_code_is_guessed():
    with pytest.raises(UsageError) as found:
        explain("bad-inputs")
    assert found.value.do == "did you mean 'bad-input'?"


def test_numbers_outside_every_part_have_no_area():
    assert [find_area(number) for number in (0, 999, 13000, 16000, 31000)] == ["", "", "", "", ""]


def test_the_command_prints_the_page_and_the_list(capsys):
    assert main(["explain", "1002"]) == 0
    assert "Do:\n  - read the last lines of the log" in capsys.readouterr().out
    assert main(["explain", "--json", "1002"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == "1002"
    assert main(["explain", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {code for code, _ in list_known_codes()}


def test_the_targets_command_shows_chips(capsys):
    assert main(["targets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "SM8650 (Snapdragon 8 Gen 3, v75, SoC 57), 8 MB VTCM" in lines
    assert not any(line.startswith("SM8250") for line in lines)
    assert main(["targets", "SM8250", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["arch"] == 66
