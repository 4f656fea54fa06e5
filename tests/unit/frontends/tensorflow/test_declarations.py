"""Every op against TensorFlow's declaration of it: inputs, attributes and words that it does not have."""

import pytest

from edgewright.core.errors import EdgewrightError
from edgewright.frontends.open_source import open_source
from edgewright.frontends.tensorflow.registry import TRANSLATIONS
from tests.hostile.tensorflow_cases import list_declared
from tests.unit.frontends.tensorflow.graph_writer import DECLARED

CASES = list(list_declared())
# Made here, of other ops.
OWN = {"Choice", "Loop"}
# Read before anything is translated, with errors of their own.
ENDS = (
    "PlaceholderWithDefault",
    "PartitionedCall",
    "StatefulPartitionedCall",
    "VarHandleOp",
    "ReadVariableOp",
)


def test_every_op_that_is_translated_is_declared():
    assert set(TRANSLATIONS) - OWN == set(DECLARED)


def test_what_an_op_does_not_declare_is_refused(tmp_path):
    assert len(CASES) > 650
    for case in CASES:
        path = tmp_path / "m.pb"
        path.write_bytes(case.files["in/m.pb"])
        with pytest.raises(EdgewrightError) as caught:
            open_source(path).build({})
        assert caught.value.exit_code in (3, 4), f"{case.name}: {caught.value}"
        if not case.name.startswith(ENDS):
            assert caught.value.__cause__ is None, case.name
