"""Every op against its declaration: a count or an option that TFLite does not have is one clear error."""

import pytest

import edgewright.frontends.tflite  # noqa: F401 - it registers its translations
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.open_source import open_source
from edgewright.frontends.tflite.codes import BUILTINS
from edgewright.frontends.tflite.declarations import ARITIES
from edgewright.frontends.tflite.registry import TRANSLATIONS
from tests.hostile.tflite_cases import list_declared

CASES = list(list_declared())


def test_every_op_that_is_translated_is_declared():
    assert {op for op in TRANSLATIONS if op in BUILTINS} == set(ARITIES)


def test_what_an_op_does_not_declare_is_refused(tmp_path):
    assert len(CASES) > 450
    for case in CASES:
        path = tmp_path / "m.tflite"
        path.write_bytes(case.files["in/m.tflite"])
        with pytest.raises(EdgewrightError, match=r"are given, expected|, expected -?\d+ to") as caught:
            open_source(path).build({})
        assert caught.value.exit_code == 3, f"{case.name}: {caught.value}"
        assert caught.value.__cause__ is None, case.name
