"""The option that names another machine to run on."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup

DEVICE = opt(
    metavar="ADDRESS",
    example="--device ssh://user@board",
    help="run on another machine: ssh://USER@HOST[:PORT] or adb://SERIAL; ?tools=FOLDER names where its "
    "qnn-net-run is, &folder=FOLDER where files go there, &limit=SECONDS how long a run may take",
)


@dataclass(frozen=True)
class RunDevice(OptionGroup):
    """The machine that runs the model."""

    title = "Device"

    device: str | None = DEVICE
