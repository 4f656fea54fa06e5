"""Opens a file together with what was measured of it elsewhere: a profile, samples."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewright.core.errors import BadInput, Where
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.view.build_folders import find_built_model, is_build_folder, read_report
from edgewright.view.open_view import open_view
from edgewright.view.records import ViewModel

if TYPE_CHECKING:
    from edgewright.model.model import Model


def open_measured(
    model: Path | str | Any,
    spec: InputSpec | None = None,
    *,
    profile: Path | str | None = None,
    data: Any = None,
) -> ViewModel:
    """A file or a model in memory, with times and values where a profile and samples are given."""
    viewed = open_view(model, spec)
    if profile is not None:
        viewed = _add_times(viewed, Path(profile))
    if data is not None:
        # Engines take a second to import: only where they run something.
        from edgewright.view.output_values import add_values

        viewed = add_values(viewed, _open_runnable(model, spec or InputSpec()), data)
    return viewed


def _add_times(viewed: ViewModel, log: Path) -> ViewModel:
    from edgewright.view.node_times import make_time_overlay, read_node_times

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


def _open_runnable(model: Path | str | Any, spec: InputSpec) -> "Model":
    from edgewright.frontends.conversion import ConversionRequest
    from edgewright.model.convert import convert_in_memory
    from edgewright.model.open_model import open_any_model
    from edgewright.model.saving import is_stored

    if not isinstance(model, str | Path):
        return open_any_model(model)
    path = Path(model)
    if is_build_folder(path):
        return open_any_model(find_built_model(path, read_report(path)))
    if is_stored(path):
        return open_any_model(path)
    return convert_in_memory(ConversionRequest(path, spec))
