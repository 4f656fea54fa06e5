"""Model libraries in the worker: composed through the genuine function table."""

from collections.abc import Sequence
from ctypes import c_void_p

from edgewright.abi.model_library import GraphConfigInfo, GraphInfo, ModelLibrary, Refused, Unloadable
from edgewright.backends.qnn.library import Library
from edgewright.core.errors import BackendCrash, EnvironmentProblem, Where, shown


def opened_library(path: str, prefix: str) -> ModelLibrary:
    """The model library, loaded."""
    try:
        return ModelLibrary(path, prefix)
    except Unloadable as problem:
        raise EnvironmentProblem(
            f"the library cannot be used: {shown(problem, 400)}",
            Where(file=path),
            do=f"build it with qnn-model-lib-generator, and name its prefix (--model_prefix, now {prefix})",
        ) from None


def composed(
    model: ModelLibrary, library: Library, context: c_void_p, configs: Sequence[GraphConfigInfo]
) -> list[GraphInfo]:
    """What the model library built; an error of the backend includes its last log lines."""
    try:
        return model.compose(library.backend, library.interface.table, context, configs)
    except Refused as problem:
        said = [text for level, text in library.lines if level == 1][-3:]
        raise BackendCrash(
            f"the library could not compose its graphs on {library.path.name}: {problem}"
            + (f"; its log says: {' | '.join(said)}" if said else ""),
            do="run its model_net.json, whose graph is adapted to the backend",
        ) from None
