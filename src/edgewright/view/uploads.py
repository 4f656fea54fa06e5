"""Files that a person opens from within the page: they stay on this machine, in a folder that is removed."""

import re
import tempfile
from io import BufferedIOBase
from pathlib import Path

from edgewright.core.errors import BadInput, UnsupportedFeature, shown
from edgewright.view.open_view import open_view
from edgewright.view.records import ViewModel

# More is opened by its path, without a copy.
LARGEST_UPLOAD = 1 << 30
_CHUNK = 1 << 20
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")
# Their code would run, if only in a worker: who wants that names the file on the command line.
_PROGRAMS = frozenset({".so", ".dll"})


class Uploads:
    """The files that were sent; each has a folder of its own, so that names never meet."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def open(self, name: str, body: BufferedIOBase, size: int) -> ViewModel:
        """The model in a file of that name."""
        plain = _UNFIT.sub("_", Path(name).name)[-120:].lstrip(".")
        if not plain:
            raise BadInput(f"the file is called '{shown(name)}', expected a name with a suffix")
        if Path(plain).suffix.lower() in _PROGRAMS:
            raise UnsupportedFeature(
                f"'{shown(name)}' is a program, which a page does not start",
                do=f"use edgewright view {shown(plain)}: a worker process composes its graphs",
            )
        if not 0 < size <= LARGEST_UPLOAD:
            raise BadInput(
                f"'{shown(name)}' has {size} bytes, a page takes up to {LARGEST_UPLOAD}",
                do=f"use edgewright view {shown(plain)}",
            )
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="edgewright-view-")
        place = Path(tempfile.mkdtemp(dir=self._folder.name)) / plain
        _copy(body, place, size)
        return open_view(place)

    def close(self) -> None:
        """Removes them all."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _copy(body: BufferedIOBase, place: Path, size: int) -> None:
    left = size
    with place.open("wb") as file:
        while left:
            chunk = body.read(min(left, _CHUNK))
            if not chunk:
                raise BadInput(f"the file ended after {size - left} of {size} bytes", do="open it again")
            file.write(chunk)
            left -= len(chunk)
