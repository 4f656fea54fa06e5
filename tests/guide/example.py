"""One example of the guide: where it stands, what runs it, and what must come of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

GUIDE, COURSE = "guide", "course"


@dataclass(frozen=True)
class Example:
    """An example: commands that a test runs, or the test that runs it elsewhere, or why nothing can.

    `lines` are those of its block. `run` holds commands as a user types them, one a line, with our models
    in the place of the guide's; `files` are written before, `needs` names what the test prepares. `shell`
    gives the text to bash instead of calling the tools in this process.
    """

    lines: tuple[int, int]
    what: str
    run: str = ""
    needs: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    leaves: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    code: int = 0
    shell: bool = False
    mark: str = ""
    test: str = ""
    why: str = ""
    book: str = GUIDE

    @property
    def id(self) -> str:
        """Such as guide-2180."""
        return f"{self.book}-{self.lines[0]}"


def shown(first: int, last: int, what: str) -> Example:
    """A block that lists options: each of them is parsed by the test of all options."""
    return Example((first, last), what, test="tests/unit/config/test_flags.py")


def absent(first: int, last: int, what: str, why: str) -> Example:
    """A block that nothing here can run."""
    return Example((first, last), what, why=why)
