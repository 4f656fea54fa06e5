"""The XML of op packages: what is read from it, and what is refused."""

import pytest

from edgewright.artifacts.op_package.reader import read
from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from tests.cli.op_packages import XML


def parsed(tmp_path, text):
    (tmp_path / "p.xml").write_text(text)
    return read(tmp_path / "p.xml")


def test_an_op_has_its_ports_parameters_and_backends(tmp_path):
    package = parsed(tmp_path, XML)
    (op,) = package.ops
    assert (package.name, op.name, op.backends) == ("Strange", "Wobble", ("CPU",))
    assert [(p.name, p.dtype, p.is_tensor, p.is_mandatory, p.default) for p in op.params] == [
        ("factor", DType.FLOAT_32, False, True, None),
        ("shifts", DType.UINT_32, True, False, [1, 2]),
    ]


def test_words_of_an_enumeration_stand_for_their_places(tmp_path):
    words = "<Enumeration><Enum>NEAR</Enum><Enum>FAR</Enum></Enumeration><Default>FAR</Default>"
    text = XML.replace("<Default>{1, 2}</Default>", words)
    param = parsed(tmp_path, text).ops[0].params[1]
    assert (param.words, param.default) == (("NEAR", "FAR"), 1)


def test_a_supplemental_list_adds_a_backend(tmp_path):
    more = "<SupplementalOpDefList Backend='HTP'><SupportedOps><OpName>Wobble</OpName></SupportedOps>"
    text = XML.replace("</OpDefCollection>", f"{more}</SupplementalOpDefList></OpDefCollection>")
    assert parsed(tmp_path, text).ops[0].backends == ("CPU", "HTP")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("OpDefCollection", "Other", "the root is 'Other', expected 'OpDefCollection'"),
        ("<Name>Wobble</Name>", "<Name>Wob ble</Name>", "the Name of an OpDef is 'Wob ble'"),
        ("<Name>Wobble</Name>", "<Name>../../x</Name>", "expected letters, digits and '_'"),
        ('PackageName="Strange"', 'PackageName="S;system()"', "attribute PackageName is 'S;system()'"),
        ("QNN_DATATYPE_UINT_32", "QNN_DATATYPE_UINT_33", "which QNN does not have"),
        ("<Rank>SCALAR</Rank>", "<Rank>9D</Rank>", "has the Rank '9D'"),
        (">CPU<", ">TPU<", "SupportedBackend is 'TPU'"),
        ("<Mandatory>true", "<Mandatory>perhaps", "Mandatory is 'perhaps', expected true or false"),
        ("<Name>shifts</Name>", "<Name>factor</Name>", "2 times 'factor'"),
        ("</OpDefCollection>", "", "the XML is damaged"),
        (
            "<OpDefCollection",
            '<!DOCTYPE x [<!ENTITY a "b">]><OpDefCollection',
            "declares a DTD or entities",
        ),
    ],
)
def test_what_does_not_fit_is_one_error(tmp_path, old, new, words):
    text = XML.replace(old, new) if old != "</OpDefCollection>" else XML.replace(old, new, 1)
    with pytest.raises(BadInput) as caught:
        parsed(tmp_path, text)
    assert words in str(caught.value)
