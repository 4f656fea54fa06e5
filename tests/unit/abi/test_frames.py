"""The worker's protocol carries records, arrays and errors, and nothing else comes back."""

import socket
import threading

import numpy as np
import pytest

from edgewright.abi.frames import Closed, receive, send
from edgewright.backends.qnn.messages import CODEC
from edgewright.backends.qnn.options import GraphOptions, HtpOptions, Priority
from edgewright.core.errors import BackendCrash, Problems, UnsupportedOp, Where
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnTensor, TensorKind


def through(value):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=send, args=(ours.sendall, CODEC, value))
        sender.start()
        found = receive(theirs.recv_into, CODEC)
        sender.join()
    return found


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        -0.5,
        "text \u00fc",
        True,
        [1, [2, "x"]],
        (1, (2,)),
        {"a": {"b": (1, 2)}, "c": []},
        HtpOptions(graphs={"g": GraphOptions(vtcm_mb=8)}, priority=Priority.HIGH),
        Encoding((0.1, 1e-30), (-128, 0), 1, 4),
        DType.SFIXED_POINT_8,
    ],
)
def test_values_come_back_as_they_were(value):
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.bool_, np.float64])
@pytest.mark.parametrize("shape", [(0,), (3, 5), (1, 1000, 700)])
def test_arrays_of_any_size_come_back(dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    found = through({"x": array, "y": array.T})
    np.testing.assert_array_equal(found["x"], array)
    np.testing.assert_array_equal(found["y"], array.T)
    assert found["x"].dtype == array.dtype


def test_a_tensor_keeps_its_data_and_encoding():
    tensor = QnnTensor(
        "w", TensorKind.STATIC, DType.SFIXED_POINT_8, (2,), Encoding((1.0,), (0,)), np.int8([1, 2])
    )
    found = through(tensor)
    assert (found.name, found.kind, found.dims, found.encoding) == ("w", tensor.kind, (2,), tensor.encoding)
    np.testing.assert_array_equal(found.data, tensor.data)


def test_errors_come_back_as_errors():
    both = Problems([UnsupportedOp("a", Where(node="n"), "b"), BackendCrash("c")])
    found = through(both)
    assert isinstance(found, Problems)
    assert str(found) == str(both)
    assert found.exit_code == 4


def test_a_class_that_is_not_in_the_set_cannot_come_back():
    class Stranger(HtpOptions):
        pass

    with pytest.raises(KeyError):
        through(Stranger())


def test_the_end_of_the_other_process_is_reported():
    ours, theirs = socket.socketpair()
    ours.sendall(b"\x05")
    ours.close()
    with theirs, pytest.raises(Closed):
        receive(theirs.recv_into, CODEC)
