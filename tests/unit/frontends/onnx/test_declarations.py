"""Every op against ONNX's own schema: a count, a kind of attribute or a missing one that it does not have."""

import onnx
import pytest
from onnx import helper as h

import edgewright.frontends.onnx  # noqa: F401 - it registers its translations
from edgewright.core.errors import EdgewrightError
from edgewright.frontends.onnx.registry import TRANSLATIONS
from edgewright.frontends.open_source import open_source
from tests.hostile.onnx_cases import model

OPSET = onnx.defs.onnx_opset_version()
A = onnx.AttributeProto
# Attributes of another kind than the one that is declared.
OTHERS = {
    A.INT: "word",
    A.INTS: "word",
    A.FLOAT: "word",
    A.FLOATS: "word",
    A.STRING: 7,
    A.TENSOR: 7,
    A.GRAPH: 7,
}
VALUES = {A.INT: 1, A.INTS: [1, 1], A.FLOAT: 1.0, A.FLOATS: [1.0], A.STRING: "x", A.STRINGS: ["x"]}


def list_schemas():
    for domain, name in TRANSLATIONS:
        if not domain and onnx.defs.has(name):
            yield onnx.defs.get_schema(name, OPSET)


def list_cases():
    for schema in list_schemas():
        required = [n for n, a in schema.attributes.items() if a.required]
        given = {n: VALUES.get(schema.attributes[n].type.value, 1) for n in required}
        least, most = schema.min_input, schema.max_input
        outputs = [f"y{n}" if n else "y" for n in range(max(schema.min_output, 1))]

        def make(count, attributes, op=schema.name, made=outputs):
            return model([h.make_node(op, ["x"] * count, made, **attributes)], opset=OPSET)

        if least:
            yield f"{schema.name} of {least - 1} inputs", make(least - 1, given)
        if most < 40:
            yield f"{schema.name} of {most + 1} inputs", make(most + 1, given)
        for name in required:
            rest = {key: value for key, value in given.items() if key != name}
            yield f"{schema.name} without {name}", make(least, rest)
        for name, attribute in schema.attributes.items():
            if attribute.type.value in OTHERS:
                yield (
                    f"{schema.name} with another {name}",
                    make(least, {**given, name: OTHERS[attribute.type.value]}),
                )


CASES = list(list_cases())


def test_what_an_op_does_not_declare_is_refused():
    assert len(CASES) > 500
    for name, proto in CASES:
        with pytest.raises(EdgewrightError) as caught:
            open_source(proto).build({})
        assert caught.value.exit_code == 3, f"{name}: {caught.value}"
        assert caught.value.__cause__ is None, name


def test_an_attribute_that_nobody_knows_does_no_harm():
    proto = model([h.make_node("Relu", ["x"], ["y"], extra=7, more="words")])
    assert open_source(proto).build({}).is_complete
