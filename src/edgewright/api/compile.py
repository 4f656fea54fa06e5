"""Compiles models for a chip: what `ew.compile` is."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from edgewright.artifacts.file_kinds import CONTEXT, refuse_other_kinds
from edgewright.config.backend_config import GraphSettings
from edgewright.core.errors import UsageError, shown
from edgewright.core.files import write_whole
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitize_name
from edgewright.model.model import Model
from edgewright.model.saving import FORMATS, load_graph
from edgewright.run.compiled_model import CompiledModel, load_context
from edgewright.run.context.compile import WITHOUT_CHIP, CompileOrder, compile_graphs, find_provider
from edgewright.run.context.config import DEFAULT_TARGET, find_target, read_backend_config
from edgewright.targets.soc import find_soc

NOT_CONTEXTS = FORMATS.keys() - {""}
Compilable = Model | str | Path


def compile(  # noqa: A001, PLR0913 - named after torch.compile; all but two are keyword-only
    model: Compilable | Mapping[str, Compilable],
    path: Path | str,
    *,
    target: str | None = None,
    backend: str = "htp",
    optimization_level: int | None = None,
    vtcm_mb: int | None = None,
    config_file: str | None = None,
) -> CompiledModel:
    """Writes a context binary and returns it, ready to run.

    Args:
        model: a model or a converted file, or several of them by graph name.
        path: the context binary to write.
        target: the chip: SM8650, 'Snapdragon 8 Gen 3', v75, a SoC number, or a device such as 'Galaxy S24'.
        backend: htp (genuine where its wheel is installed, else simulated), htp-native, htp-sim, gpu or cpu.
        optimization_level: 1 to 3: how hard the compiler tries.
        vtcm_mb: megabytes of the chip's fast memory that each graph may use; 0 for all.
        config_file: a backend configuration file, as for qnn-context-binary-generator.
    """
    _check_path(Path(path))
    provider = find_provider(backend)
    config = read_backend_config(config_file, provider.partition("-")[0])
    if vtcm_mb is not None:
        config = replace(config, graphs=(*config.graphs, GraphSettings(vtcm_mb=vtcm_mb)))
    chip = None if provider in WITHOUT_CHIP else find_target(target, config)
    order = CompileOrder(provider, chip or find_soc(DEFAULT_TARGET), config, optimization_level)
    named = model if isinstance(model, Mapping) else {Path(path).stem: model}
    graphs = [_rename_graph(_require_graph(each), name) for name, each in named.items()]
    write_whole(path, compile_graphs(graphs, order).chunks())
    return load_context(path)


def _check_path(path: Path) -> None:
    if path.suffix in NOT_CONTEXTS:
        raise UsageError(
            f"'{shown(path)}' has the suffix of another kind of file, expected .bin for a context binary",
            do=f"name it {shown(path.with_suffix('.bin').name)}; model.save writes {path.suffix} files",
        )
    refuse_other_kinds([(path, CONTEXT)])


def _require_graph(model: Compilable) -> Graph:
    return model.fixed_graph() if isinstance(model, Model) else load_graph(model)


def _rename_graph(graph: Graph, name: str) -> Graph:
    copy = graph.copy()
    copy.name = sanitize_name(name)
    return copy
