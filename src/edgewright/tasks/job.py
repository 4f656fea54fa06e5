"""What a task's function is given: its inputs, and the contents that they name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.core.numbers import Array
from edgewright.tasks.contents import Contents


@dataclass(frozen=True)
class Job:
    """One task at work, wherever that is."""

    inputs: Mapping[str, Any]
    contents: Contents

    def fetch_files(self, digest: str) -> Path:
        """A folder with the files of a hash; they must not be changed."""
        return self.contents.fetch_files(digest)

    def keep_files(self, folder: Path, names: Iterable[str]) -> str:
        """The hash of files that were made, for the answer; whoever reads that can fetch them."""
        return self.contents.share_files(folder, names)

    def keep_arrays(self, arrays: Mapping[str, Array]) -> str:
        """The same for arrays."""
        return self.contents.keep_arrays(arrays)

    def load_arrays(self, digest: str) -> dict[str, Array]:
        """Arrays that another task kept."""
        return self.contents.load_arrays(digest)
