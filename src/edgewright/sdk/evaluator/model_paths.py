"""Where the model of an evaluation lies: its own path, or one below the model zoo."""

import os
from pathlib import Path

from edgewright.core.errors import BadInput, shown

# The guide names both, for one thing; where neither is set, its default.
VARIABLES = ("QNN_MODEL_ZOO", "MODEL_ZOO_PATH")
DEFAULT_ZOO = "/home/model_zoo"


def find_model(path: str, base: Path | None = None) -> str:
    """A model's path: as it is, else below the folder of the configuration, else below the model zoo."""
    given = Path(path)
    zoos = [Path(os.environ[name]) for name in VARIABLES if os.environ.get(name)] or [Path(DEFAULT_ZOO)]
    places = (
        [given]
        if given.is_absolute()
        else [given, *([base / given] if base else []), *(z / given for z in zoos)]
    )
    for place in places:
        if place.exists():
            return str(place)
    looked = "" if given.is_absolute() else f"; looked in {', '.join(shown(zoo) for zoo in zoos)} too"
    raise BadInput(
        f"there is no model '{shown(path)}'{looked}",
        do="" if given.is_absolute() else f"give its full path, or set {' or '.join(VARIABLES)}",
    )
