"""What backend configuration files ask for, whichever of their three forms they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edgewright.config.backend_keys import CONFIG_KEYS, check_keys
from edgewright.config.gpu_settings import GpuSettings, read_gpu_settings
from edgewright.config.run_settings import RunSettings, read_run_settings
from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where, shown

_KEPT = ("vtcm_mb", "fp16_relaxed_precision", "hvx_threads", "O", "dlbc")


@dataclass(frozen=True)
class GraphSettings:
    """How graphs are compiled; None leaves a choice to the backend. Without names it is for all graphs."""

    names: tuple[str, ...] = ()
    vtcm_mb: int | None = None
    fp16_relaxed_precision: bool | None = None
    hvx_threads: int | None = None
    optimization_level: int | None = None
    dlbc: bool | None = None

    def over(self, other: "GraphSettings") -> "GraphSettings":
        """These settings, with the other's where these leave a choice."""
        given = {name: value for name, value in vars(self).items() if value is not None and name != "names"}
        return replace(other, **given)

    def as_numbers(self) -> dict[str, int]:
        """What is set, as whole numbers by name."""
        return {name: int(v) for name, v in vars(self).items() if name != "names" and v is not None}


@dataclass(frozen=True)
class BackendConfig:
    """All that the files say and that has a meaning here; None and () where they say nothing."""

    extensions_file: str | None = None
    soc_model: int | None = None
    dsp_arch: str | None = None
    graphs: tuple[GraphSettings, ...] = ()
    is_weight_sharing: bool = False
    priority: str | None = None
    enable_graphs: tuple[str, ...] = ()
    is_strict: bool = False
    is_linting: bool = False
    threads: int = 0
    gpu: GpuSettings = field(default_factory=GpuSettings)
    running: RunSettings = field(default_factory=RunSettings)
    # Keys that were given and do nothing here, a sentence each.
    notes: tuple[str, ...] = ()

    def settings_for(self, graph: str) -> GraphSettings:
        """The settings of one graph; later ones come first."""
        found = GraphSettings()
        for settings in self.graphs:
            if not settings.names or graph in settings.names:
                found = settings.over(found)
        return found

    def with_extensions(self, inner: "BackendConfig") -> "BackendConfig":
        """This file together with the one that it names."""
        return replace(
            inner,
            extensions_file=self.extensions_file,
            priority=self.priority,
            enable_graphs=self.enable_graphs,
            is_strict=self.is_strict,
            running=self.running,
            graphs=(*self.graphs, *inner.graphs),
            soc_model=inner.soc_model if inner.soc_model is not None else self.soc_model,
            dsp_arch=inner.dsp_arch or self.dsp_arch,
            is_weight_sharing=inner.is_weight_sharing or self.is_weight_sharing,
            threads=inner.threads or self.threads,
            gpu=inner.gpu if inner.gpu != GpuSettings() else self.gpu,
            notes=(*self.notes, *inner.notes),
        )


def read_settings(document: Any, file: str, backend: str) -> BackendConfig:
    """The configuration in a JSON document.

    Args:
        document: what the file holds.
        file: its name, for messages.
        backend: htp, cpu or gpu: which section of the course's form counts.
    """
    where = Where(file=file)
    found = list(check_keys(document, CONFIG_KEYS, where))
    problems = [item for item in found if isinstance(item, EdgewrightError)]
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    notes = tuple(dict.fromkeys(item for item in found if isinstance(item, str)))
    return _Reading(document, where, backend).config(notes)


class _Reading:
    def __init__(self, document: dict[str, Any], where: Where, backend: str) -> None:
        self._document = document
        self._where = where
        self._backend = backend

    def config(self, notes: Sequence[str]) -> BackendConfig:
        context = self._document.get("context_configs", {})
        device = self._device()
        course = self._document.get(f"{self._backend}_config", {})
        is_gpu = self._backend == "gpu"
        return BackendConfig(
            extensions_file=self._document.get("backend_extensions", {}).get("config_file_path"),
            soc_model=_take_first(device | course, "soc_model", "soc_id"),
            dsp_arch=(device | course).get("dsp_arch"),
            graphs=(*self._graphs(), *([] if is_gpu else _read_course_settings(course))),
            is_weight_sharing=any(
                item.get("weight_sharing_enabled") for item in self._list_objects("context")
            ),
            priority=context.get("context_priority"),
            enable_graphs=tuple(context.get("enable_graphs", ())),
            is_strict=context.get("cache_compatibility_mode", "").lower() == "strict",
            is_linting=device.get("profiling_level") == "linting",
            threads=course.get("num_threads", 0) if self._backend == "cpu" else 0,
            gpu=read_gpu_settings(course) if is_gpu else GpuSettings(),
            running=read_run_settings(self._document),
            notes=(*self._of_our_sections(notes), *self._find_unnamed(), *self._other_sections()),
        )

    def _list_objects(self, key: str) -> list[dict[str, Any]]:
        found = self._document.get(key, [])
        return found if isinstance(found, list) else [found]

    def _device(self) -> dict[str, Any]:
        devices = self._list_objects("devices")
        if len(devices) > 1:
            raise BadInput(
                f"'devices' has {len(devices)} entries, a context is made for one",
                self._where,
                do="keep the device that the context is for",
            )
        return devices[0] if devices else {}

    def _graphs(self) -> list[GraphSettings]:
        return [
            _read_graph_settings(item) for item in self._list_objects("graphs") if item.get("graph_names")
        ]

    def _find_unnamed(self) -> list[str]:
        """Guide 4625: settings of graphs count only where graph_names names one."""
        idle = [item for item in self._list_objects("graphs") if not item.get("graph_names")]
        return ["settings in 'graphs' have no effect: 'graph_names' names no graph"] if idle else []

    def _other_sections(self) -> list[str]:
        return [f"section '{key}' has no effect: the backend is {self._backend}" for key in self._others()]

    def _of_our_sections(self, notes: Sequence[str]) -> list[str]:
        return [note for note in notes if not any(note.startswith(f"key '{key}.") for key in self._others())]

    def _others(self) -> list[str]:
        sections = ("htp_config", "gpu_config", "cpu_config")
        return [key for key in sections if key in self._document and key != f"{self._backend}_config"]


def _read_graph_settings(item: Mapping[str, Any]) -> GraphSettings:
    kept = {key: item[key] for key in _KEPT if key in item}
    level = kept.pop("O", None)
    for key in ("fp16_relaxed_precision", "dlbc"):
        kept |= {key: bool(kept[key])} if key in kept else {}
    return GraphSettings(tuple(item.get("graph_names", ())), optimization_level=level, **kept)


def _read_course_settings(course: Mapping[str, Any]) -> list[GraphSettings]:
    """The course's form names no graphs: its settings are for all."""
    found = GraphSettings(
        vtcm_mb=course.get("vtcm_mb"),
        fp16_relaxed_precision=True if course.get("precision_mode", "").lower() == "fp16" else None,
        optimization_level=course.get("optimization_level"),
    )
    return [found] if found.as_numbers() else []


def _take_first(values: Mapping[str, Any], *keys: str) -> int | None:
    found = {key: values[key] for key in keys if key in values}
    if len(set(found.values())) > 1:
        raise BadInput(f"two chips are named: {shown(found)}", do="keep one of them")
    return next(iter(found.values()), None)
