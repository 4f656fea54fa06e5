"""The process that compiled op packages run in: reads requests from a socket, answers each."""

import sys
from typing import Any

from edgewright.abi.op_package import ConverterLibrary, PackageLibrary
from edgewright.abi.worker_process import answer_by, serve
from edgewright.backends.op_package.messages import CODEC
from edgewright.core.signals import leave_to_caller


class Host:
    """What a worker does; every public method is a request."""

    def __init__(self) -> None:
        self._package: PackageLibrary | None = None
        self._converter: ConverterLibrary | None = None

    def open(self, path: str, provider: str) -> Any:
        """Loads a package and returns its name and its ops."""
        # A worker has one package: a second request finds it open.
        self._package = self._package or PackageLibrary(path, provider)
        return self._package.operations()

    def open_converter(self, path: str) -> None:
        """Loads a library of output shapes."""
        self._converter = self._converter or ConverterLibrary(path)

    def run(self, **call: Any) -> Any:
        """Runs an op."""
        assert self._package is not None
        return self._package.run(**call)

    def outputs(self, **call: Any) -> Any:
        """Shapes and types of an op's outputs."""
        assert self._converter is not None
        return self._converter.outputs(**call)


def main(descriptor: int) -> None:
    """Serves requests until the caller is gone."""
    leave_to_caller()
    host = Host()
    serve(descriptor, CODEC, lambda name, arguments: answer_by(host, name, arguments))


if __name__ == "__main__":
    main(int(sys.argv[1]))
