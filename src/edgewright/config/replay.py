"""The options of `edgewright replay`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class Recording(OptionGroup):
    """What is replayed, and where."""

    title = "Recording"

    folder: str = opt("FOLDER", help="what --backend libQnnSaver.so recorded into")
    backend: str = opt(
        default="cpu", metavar="NAME", help="the backend that computes: cpu, htp, htp-sim or htp-native"
    )
    output_dir: str = opt(
        also="-o", default="output", metavar="FOLDER", help="where the outputs go, as Result_N/NAME.raw"
    )
