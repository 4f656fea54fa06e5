"""Layouts of QNN's structs, and what is told from a library's version."""

import ctypes

import pytest

from edgewright.abi import htp_structs, structs, system_structs
from edgewright.abi.tables import BACKEND_TABLE, SIGNATURES, SYSTEM_TABLE
from edgewright.abi.versions import identify_version
from edgewright.core.errors import EnvironmentProblem

SIZES = {
    structs.Scalar: 16,
    structs.ScaleOffset: 8,
    structs.BwScaleOffset: 12,
    structs.AxisScaleOffset: 16,
    structs.BwAxisScaleOffset: 32,
    structs.BlockwiseExpansion: 40,
    structs.QuantizeParams: 40,
    structs.ClientBuffer: 16,
    structs.TensorV1: 112,
    structs.Tensor: 144,
    structs.Param: 160,
    structs.OpConfig: 80,
    structs.OperationName: 24,
    structs.Config: 16,
    structs.EventData: 24,
    htp_structs.HtpDeviceConfig: 16,
    htp_structs.HtpDeviceConfigNarrow: 12,
    htp_structs.HtpGraphConfig: 56,
    htp_structs.HtpContextConfig: 24,
    htp_structs.IrGraphConfig: 24,
    htp_structs.SaverConfig: 24,
    system_structs.GraphInfo: 88,
    system_structs.BinaryInfo: 144,
}
PLACES = {
    "id": 0,
    "name": 8,
    "type": 16,
    "data_type": 24,
    "quantize": 32,
    "rank": 72,
    "dims": 80,
    "memory": 96,
}


@pytest.mark.parametrize(("kind", "size"), SIZES.items(), ids=lambda item: getattr(item, "__name__", item))
def test_structs_have_the_documented_sizes(kind, size):
    assert ctypes.sizeof(kind) == size


@pytest.mark.parametrize(("field", "place"), PLACES.items())
def test_fields_of_a_tensor_are_where_they_are_documented(field, place):
    assert getattr(structs.TensorV1, field).offset == place


def test_functions_have_their_documented_places():
    assert (len(BACKEND_TABLE), len(set(BACKEND_TABLE))) == (69, 69)
    places = {"backendValidateOpConfig": 7, "graphAddNode": 18, "graphExecute": 21, "errorGetMessage": 48}
    assert {name: BACKEND_TABLE.index(name) for name in places} == places
    assert SYSTEM_TABLE.index("systemDlcCreateFromFile") == 8
    assert set(SIGNATURES) <= {*BACKEND_TABLE, *SYSTEM_TABLE}


@pytest.mark.parametrize(
    ("build", "sdk", "is_tested", "is_narrow"),
    [
        ("v2.51.0.260929181845", (2, 51), True, False),
        ("v2.40.1.25", (2, 40), False, True),
        ("", None, False, False),
    ],
)
def test_the_build_tells_sdk_and_layout(build, sdk, is_tested, is_narrow):
    found = identify_version(build, (2, 40, 0), (5, 51, 0))
    assert (found.sdk, found.is_tested, found.is_narrow) == (sdk, is_tested, is_narrow)


def test_another_core_api_is_refused():
    with pytest.raises(EnvironmentProblem, match=r"core API 3.0.0, expected 2.x"):
        identify_version("v3.0.0.1", (3, 0, 0), (6, 0, 0))
