"""Inference schemas: what `a | b` stands for, and what folders are called."""

import pytest

from edgewright.core.errors import LimitExceeded
from edgewright.sdk.evaluator.schemas import InferenceSchema, expand_schema, make_minimal_schemas


def test_minimal_mode_has_the_reference_and_32_combinations_with_the_names_of_the_guide():
    reference, *others = make_minimal_schemas(
        InferenceSchema(precision="quant", backend="htp"), {"act_bw": ("8",)}
    )
    assert (reference.name, reference.is_reference) == ("schema0_qnn_cpu_fp32", True)
    names = [schema.name for schema in others]
    assert len(set(names)) == len(names) == 32
    for name in (
        "symmetric_pcq",
        "symmetric_cle_pcq",
        "enhanced_cle_pcq_pqr",
        "tf_pcq",
        "adjusted",
        "tf_cle_pcq",
    ):
        assert f"schema1_qnn_{name}" in names
    assert {schema.converter_params["act_bw"] for schema in others} == {("8",)}


def test_alternatives_of_all_tables_are_combined_and_named():
    schema = InferenceSchema(
        precision="quant",
        number=2,
        converter_params={"param_quantizer": ("tf | enhanced",), "act_bw": ("8 | 16",)},
        backend_extensions={"vtcm_mb": ("4 | 8",)},
    )
    variants = expand_schema(schema)
    assert len(variants) == 8
    assert [item.name for item in variants][:1] == ["schema2_qnn_tf_act_bw_8_vtcm_mb_4"]
    assert len({item.name for item in variants}) == 8
    assert variants[-1].converter_params == {"param_quantizer": ("enhanced",), "act_bw": ("16",)}
    assert variants[-1].backend_extensions == {"vtcm_mb": ("8",)}


def test_lists_are_no_alternatives():
    (only,) = expand_schema(InferenceSchema(converter_params={"out_node": ("a", "b")}))
    assert only.converter_params == {"out_node": ("a", "b")}


def test_more_combinations_than_anyone_waits_for_are_refused():
    params = {f"p{n}": ("a | b",) for n in range(20)}
    with pytest.raises(LimitExceeded, match="1048576 combinations"):
        expand_schema(InferenceSchema(converter_params=params))
