import re

import pytest

from edgewright.abi.libraries import find_libraries
from edgewright.backends.registry import BACKENDS, ON_DEVICES, find_backend
from edgewright.core.errors import EnvironmentProblem, UnsupportedFeature, UsageError


@pytest.mark.parametrize("form", ["lib/libQnn{}.so", "Qnn{}.dll", "libQnn{}.so.1", r"C:\x\Qnn{}.dll", "{}"])
@pytest.mark.parametrize("name", BACKENDS)
def test_every_known_library_is_found_or_answered_clearly(name, form):
    text = form.format(name)
    if name == "Gpu":
        check_gpu(text)
    elif BACKENDS[name]:
        # Libraries of a version, or of a deprecated way, are the same processor.
        processor = re.sub(r"(v\d+|altprep)stub", "", name.lower())
        assert find_backend(text).name.startswith(processor)
    else:
        assert name in ON_DEVICES
        with pytest.raises(UnsupportedFeature, match=f"backend '{name}' is .*, which only runs on a device"):
            find_backend(text)


def check_gpu(text):
    try:
        backend = find_backend(text)
    except EnvironmentProblem:
        with pytest.raises(EnvironmentProblem, match=r"no GPU was found|onnxruntime_ep_webgpu"):
            find_backend(text)
    else:
        assert backend.name.startswith("gpu (")


def test_the_library_names_of_a_backend_lead_to_it():
    backend = find_backend("cpu")
    assert [find_backend(name).name for name in backend.library_names] == ["cpu", "cpu"]


@pytest.mark.parametrize("text", ["", "cpux", "libQnn.so", "http", "libQnnHttp.so"])
def test_other_names_are_unknown(text):
    with pytest.raises(UsageError, match="is unknown, expected a QNN library"):
        find_backend(text)


def test_the_provider_of_htp_can_be_chosen_and_says_its_name():
    native = find_libraries() is not None
    assert find_backend("htp-sim").name == "htp (simulation)"
    assert find_backend("libQnnHtp.so").name.startswith("htp (native" if native else "htp (simulation")
    if native:
        assert find_backend("htp-native").name == "htp (native emulator, SoC 57)"
    else:
        with pytest.raises(EnvironmentProblem, match="onnxruntime-qnn"):
            find_backend("htp-native")


def test_a_deprecated_library_is_said_to_be_so(caplog):
    find_backend("libQnnHtpAltPrepStub.so")
    assert "libQnnHtp.so is used in its place" in caplog.text
