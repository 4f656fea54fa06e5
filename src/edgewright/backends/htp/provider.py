"""Which provider `htp` and libQnnHtp.so mean on this machine."""

import logging

from edgewright.abi.libraries import find_libraries, has_htp
from edgewright.backends.base import Backend
from edgewright.backends.htp import HtpSimBackend

log = logging.getLogger(__name__)


def htp_backend() -> Backend:
    """The genuine library where it is installed and can run, else the simulation; its name says which."""
    if find_libraries() is None:
        log.info("htp is the simulation: the wheel 'onnxruntime-qnn' is not installed")
        return HtpSimBackend()
    if not has_htp():
        log.info("htp is the simulation: this machine has no HTP, and the libraries for Arm no emulator")
        return HtpSimBackend()
    from edgewright.backends.qnn.backend import HtpNativeBackend  # not needed by the simulation

    return HtpNativeBackend()
