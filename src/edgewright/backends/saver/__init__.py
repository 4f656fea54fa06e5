"""The Saver backend: records the calls of a run instead of computing, and replays them elsewhere."""

from pathlib import Path

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.saver.recording import SaverSession
from edgewright.ir.graph import Graph

__all__ = ["SaverBackend"]


class SaverBackend:
    """Records into a folder; outputs of a recorded run are zeros, as the genuine Saver computes nothing."""

    name = "saver (recorded, not computed)"
    library_names = ("libQnnSaver.so", "QnnSaver.dll")

    def __init__(self, folder: Path | str = "saver_output") -> None:
        self._folder = Path(folder)

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session that records its calls."""
        return SaverSession(graph, options, self._folder)
