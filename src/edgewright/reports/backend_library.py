"""What was made by `edgewright backend-library`."""

from edgewright.core.page import Block
from edgewright.sdk.backend_library import BackendLibrary


def make_page(made: BackendLibrary) -> list[Block]:
    """The report: the files, what computes in them, and how they are used."""
    return [
        *(f"wrote {file}" for file in made.files),
        f"it computes with edgewright {made.version} of {made.python}; EDGEWRIGHT_PYTHON names another one",
        f"next: load {made.files[0]} where a program asks for a QNN backend (backend_path in ONNX Runtime)",
    ]
