import json

import pytest

from edgewright.backends.op_card import ParamCard, list_op_names, make_op_card
from edgewright.core.errors import UsageError
from edgewright.reports.op_card import as_json, as_text
from edgewright.tools.umbrella import main


def test_a_card_holds_what_the_class_says():
    card = make_op_card("PoolMax2d")
    assert card.meaning == "Largest value of each window. Padding never wins: it counts as minus infinity."
    assert [param.name for param in card.params] == ["filter_size", "stride", "pad_amount", "rounding_mode"]
    assert card.params[0] == ParamCard("filter_size", "tensor", "uint_32", is_required=True)
    assert card.params[3] == ParamCard(
        "rounding_mode", "scalar", "uint_32", False, "FLOOR", (("FLOOR", 0), ("CEIL", 1))
    )
    assert (card.encoding_rule, card.has_reference, card.cpu) == ("same as input", True, "engine")
    assert (card.htp_precision, card.traits) == ("8 or 16 bits", ("is_selection", "not has_even_ties_on_htp"))
    assert {"plain", "ceil"} <= set(card.samples)


@pytest.mark.parametrize("name", list_op_names())
def test_every_op_has_a_card_that_prints(name):
    card = make_op_card(name)
    assert card.meaning
    assert as_text(card).startswith(f"{name}\n  ")
    assert json.loads(as_json(card))["name"] == name


def test_a_card_as_text_lists_ports_and_parameters():
    lines = as_text(make_op_card("PoolMax2d")).splitlines()
    assert "  rounding_mode  scalar of uint_32, default FLOOR, one of FLOOR=0, CEIL=1" in lines
    assert "  filter_size    tensor of uint_32, required" in lines
    assert "CPU backend:     runs in the engine" in lines


def test_an_optional_input_is_called_optional():
    assert any(line.startswith("  in[2]") and line.endswith("optional") for line in _lines("Conv2d"))


def _lines(name):
    return as_text(make_op_card(name)).splitlines()


def test_an_unknown_op_is_guessed():
    with pytest.raises(UsageError, match=r"op 'PoolMax2D' is not one of the \d+ that are known") as caught:
        make_op_card("PoolMax2D")
    assert caught.value.do == "did you mean 'PoolMax2d'?"


def test_the_command_prints_the_card(capsys):
    assert main(["op", "PoolMax2d"]) == 0
    assert capsys.readouterr().out == as_text(make_op_card("PoolMax2d")) + "\n"


def test_the_command_prints_json(capsys):
    assert main(["op", "--json", "PoolMax2d"]) == 0
    assert json.loads(capsys.readouterr().out)["cpu"] == "engine"


def test_the_command_lists_all_ops(capsys):
    assert main(["op"]) == 0
    assert capsys.readouterr().out.splitlines() == list_op_names()
    assert main(["op", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == list_op_names()


def test_the_command_refuses_an_unknown_op(capsys):
    assert main(["op", "Nothing"]) == 2
    assert capsys.readouterr().err.startswith("error[usage]: op 'Nothing' is not one of the ")
