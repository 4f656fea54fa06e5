"""Runs an ONNX file on arrays in ONNX Runtime's QNN provider: python run_ep_context.py MODEL IN.npz OUT.npz.

A process of its own: the provider's libraries print, keep state for a process and end with it.
"""

import sys

import numpy as np
import onnxruntime
import onnxruntime_qnn

NAME = "QNNExecutionProvider"


def main(model: str, given: str, found: str, *flags: str) -> None:
    """Every array of the input file is one run of the model's only input; outputs are kept by its name.

    With --named, the arrays are the inputs of one run, and its outputs are kept by their names.
    """
    onnxruntime.register_execution_provider_library(NAME, onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]
    options = onnxruntime.SessionOptions()
    if "--all-on-qnn" in flags:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices(devices[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
    session = onnxruntime.InferenceSession(model, options)
    if "--named" in flags:
        names = [item.name for item in session.get_outputs()]
        np.savez(found, **dict(zip(names, session.run(None, dict(np.load(given))), strict=True)))
        return
    (name,) = (item.name for item in session.get_inputs())
    runs = {key: session.run(None, {name: array})[0] for key, array in np.load(given).items()}
    np.savez(found, **runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
