"""Every op as LiteRT computes it: small models beside what LiteRT made of them."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.frontends.tflite.load import TfliteSource
from edgewright.frontends.tflite.reader import TfliteFile
from edgewright.frontends.tflite.registry import TRANSLATIONS
from edgewright.ops import reference
from tests.unit.frontends.tflite.cases import Case, float_cases
from tests.unit.frontends.tflite.quantized_cases import quantized_cases

CASES = [*float_cases(), *quantized_cases()]
RECORDED = np.load(Path(__file__).with_name("recorded.npz"))
# Ops that other tests are about, or that are no computation.
ELSEWHERE = frozenset(
    {"IF", "WHILE", "CALL", "CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}
    | {
        "STABLEHLO_COMPOSITE",
        "SVDF",
        "Convolution2DTransposeBias",
        "WHERE",
        "RANGE",
        "BROADCAST_ARGS",
        "BITWISE_XOR",
    }
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_engine_computes_what_litert_computes(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(case.data)
    found = ew.convert(path).run(case.inputs)
    check(case, list(found.values()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_reference_computes_what_litert_computes(case: Case) -> None:
    graph = TfliteSource(TfliteFile(memoryview(case.data))).build({}).graph
    found = reference.run(graph, case.inputs)
    real = [decoded(array, graph.types[name].encoding) for name, array in found.items()]
    check(case, real)


def test_every_translation_has_a_case() -> None:
    used = {
        operator.op
        for case in CASES
        for graph in TfliteFile(memoryview(case.data)).subgraphs
        for operator in graph.operators
    }
    assert set(TRANSLATIONS) - used - ELSEWHERE == set()


def decoded(array, encoding):
    return array if encoding is None else encoding.decode(array)


def check(case: Case, found: list[np.ndarray]) -> None:
    tensors = TfliteFile(memoryview(case.data)).subgraphs[0]
    results = [tensors.tensors[index] for index in tensors.outputs]
    for place, (array, tensor) in enumerate(zip(found, results, strict=True)):
        wanted = RECORDED[f"{case.name}:0/{place}"]
        assert array.shape == wanted.shape
        if tensor.quantization is not None:
            scale, zero = tensor.quantization.scales[0], tensor.quantization.zeros[0]
            steps = np.rint(array / scale) + zero - wanted
            assert np.abs(steps).max() <= case.tolerance
        elif wanted.dtype.kind == "f":
            room = case.tolerance * max(float(np.abs(wanted).max()), 1e-9)
            np.testing.assert_allclose(array, wanted, rtol=0, atol=room)
        else:
            np.testing.assert_array_equal(array, wanted)
            assert array.dtype == wanted.dtype
