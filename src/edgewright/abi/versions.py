"""Which versions of the QNN libraries were tested, and what differs between them."""

import re
from dataclasses import dataclass

from edgewright.core.errors import EnvironmentProblem

CORE_MAJOR = 2
TESTED_SDKS: frozenset[tuple[int, int]] = frozenset({(2, 51)})
# The last SDK known to have the narrow layout of HTP's device configuration.
LAST_NARROW = (2, 40)
_BUILD = re.compile(r"v?(\d+)\.(\d+)\.")


@dataclass(frozen=True)
class LibraryVersion:
    """The version of one library."""

    build_id: str
    sdk: tuple[int, int] | None
    core: tuple[int, int, int]
    backend: tuple[int, int, int]

    @property
    def is_tested(self) -> bool:
        """Whether this SDK is in the table of tested ones."""
        return self.sdk in TESTED_SDKS

    @property
    def is_narrow(self) -> bool:
        """Whether HTP's device configuration has the older layout."""
        return self.sdk is not None and self.sdk <= LAST_NARROW


def identify_version(
    build_id: str, core: tuple[int, int, int], backend: tuple[int, int, int]
) -> LibraryVersion:
    """The version of a library; one of another core API is refused, because its structs differ."""
    if core[0] != CORE_MAJOR:
        raise EnvironmentProblem(
            f"the library has core API {'.'.join(map(str, core))}, expected {CORE_MAJOR}.x",
            do="install the tested wheel: pip install onnxruntime-qnn==2.7.0",
        )
    found = _BUILD.match(build_id)
    sdk = (int(found.group(1)), int(found.group(2))) if found else None
    return LibraryVersion(build_id, sdk, core, backend)
