"""Opens a file together with what was measured of it elsewhere: a profile, samples."""

from dataclasses import replace
from pathlib import Path

from edgewright.config.view import ViewMeasures
from edgewright.core.errors import BadInput, Where
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.saving import is_stored
from edgewright.view.build_folders import find_built_model, is_build_folder, read_report
from edgewright.view.node_times import make_time_overlay, read_node_times
from edgewright.view.open_view import open_view
from edgewright.view.output_values import add_values
from edgewright.view.records import ViewModel


def open_measured(path: str, spec: InputSpec, measures: ViewMeasures) -> ViewModel:
    """The model in a file, with the times of a profile and the values of samples, where they are given."""
    viewed = open_view(path, spec)
    if measures.profile is not None:
        viewed = _add_times(viewed, Path(measures.profile))
    if measures.data is not None:
        viewed = add_values(viewed, _open_runnable(Path(path), spec), measures.data)
    return viewed


def _add_times(viewed: ViewModel, log: Path) -> ViewModel:
    times = read_node_times(log)
    overlays = dict(viewed.overlays)
    timed = 0
    for graph in viewed.graphs:
        overlay = make_time_overlay(graph, times)
        timed += len(overlay.values)
        if overlay.values:
            overlays[graph.name] = (overlay, *overlays.get(graph.name, ()))
    if not timed:
        raise BadInput(
            f"no op of the profile is a node of '{viewed.title}'",
            Where(file=str(log)),
            do="name a profile of this model, made with --profiling_level detailed",
        )
    return replace(viewed, overlays=overlays)


def _open_runnable(path: Path, spec: InputSpec) -> Model:
    if is_build_folder(path):
        return open_any_model(find_built_model(path, read_report(path)))
    if is_stored(path):
        return open_any_model(path)
    return convert_in_memory(ConversionRequest(path, spec))
