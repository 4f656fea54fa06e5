"""What a plugin is: a name, declared parameters and one computation, whether on files or in memory."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, dataclass_transform

from edgewright.core.errors import EdgewrightError, Problems, UsageError, Where, shown
from edgewright.core.registry import Registry, import_families
from edgewright.core.words import did_you_mean
from edgewright.evaluate.plugins.parameters import Parameter, declare, read_parameter
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample, locate_in_sample

DATASET, PREPROCESSING, POSTPROCESSING, METRIC = "dataset", "preprocessing", "postprocessing", "metric"
FILE, MEMORY = "file", "memory"
FAMILIES = (
    *("arrays", "centers", "classification", "coco", "detection", "faces"),
    *("filtering", "images", "plates", "squad", "tokens", "translation"),
)


@dataclass_transform(field_specifiers=(declare,), kw_only_default=True, frozen_default=True)
class Plugin:
    """A stage of an evaluation; a subclass declares its parameters as attributes, with type and default."""

    # Its name in configurations; the class's own where it says none.
    name: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    # The forms in which the guide lists it; it runs in both.
    forms: ClassVar[tuple[str, ...]] = (FILE, MEMORY)
    is_custom: ClassVar[bool] = False

    def __init_subclass__(cls, **terms: Any) -> None:
        super().__init_subclass__(**terms)
        if "name" not in vars(cls):
            cls.name = cls.__name__
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def list_parameters(cls) -> list[Parameter]:
        """Its parameters in the order of their declaration."""
        return [read_parameter(item) for item in fields(cls)]  # type: ignore[arg-type]

    @classmethod
    def describe(cls) -> str:
        """The first sentence of its documentation."""
        return (cls.__doc__ or "").strip().split("\n\n", maxsplit=1)[0].replace("\n", " ")

    @classmethod
    def open(cls, given: Mapping[str, Any], *, is_memory: bool = False) -> "Plugin":
        """A plugin with parameters as a configuration says them; all that is wrong with them at once."""
        known = {parameter.name: parameter for parameter in cls.list_parameters()}
        # YAML writers use both; the guide has both.
        spelled = {name.replace("-", "_"): name for name in known}
        values, problems = {}, []
        for name, value in given.items():
            parameter = known.get(spelled.get(str(name).replace("-", "_"), ""))
            if parameter is None:
                problems.append(cls._refuse_name(str(name), list(known)))
                continue
            try:
                values[parameter.field] = parameter.read(value)
            except ValueError as problem:
                what = (
                    f"parameter '{parameter.name}' of the plugin '{cls.name}' is '{shown(value)}', {problem}"
                )
                problems.append(UsageError(what))
                values[parameter.field] = None
        for parameter in known.values():
            default = parameter.find_default(is_memory)
            if parameter.field not in values and default is MISSING:
                what = f"the plugin '{cls.name}' needs the parameter '{parameter.name}': {parameter.text}"
                problems.append(UsageError(what))
            values.setdefault(parameter.field, default)
        if problems:
            raise Problems(problems)
        plugin = cls(**values)
        plugin.check()
        return plugin

    @classmethod
    def _refuse_name(cls, name: str, known: Sequence[str]) -> UsageError:
        listed = f"it has {', '.join(known)}" if known else "it has none"
        return UsageError(
            f"the plugin '{cls.name}' has no parameter '{shown(name, 60)}'",
            do=did_you_mean(name, known, listed),
        )

    def check(self) -> None:
        """Refuses parameters that do not go together; UsageError says why."""


class DatasetPlugin(Plugin):
    """Changes the data set before anything is read from it."""

    kind = DATASET

    @abstractmethod
    def transform(self, dataset: Dataset, context: Context) -> Dataset:
        """Another data set."""


class Processor(Plugin):
    """Changes samples, one by one or all of them."""

    def compute(self, sample: Sample, context: Context) -> Sample:
        """One sample one step further."""
        raise NotImplementedError

    def process(self, samples: Iterable[Sample], context: Context) -> Iterator[Sample]:
        """All samples one step further; a plugin that joins or splits samples has its own."""
        for sample in samples:
            try:
                result = self.compute(sample, context)
            except EdgewrightError as problem:
                raise locate_in_sample(problem, sample, self.name) from problem.__cause__
            yield result


class PreprocessingPlugin(Processor):
    """Changes samples before the model takes them."""

    kind = PREPROCESSING


class PostprocessingPlugin(Processor):
    """Changes what the model gives; ``values`` of a sample are the model's outputs in their order."""

    kind = POSTPROCESSING


class MetricPlugin(Plugin):
    """Figures of what a model gives, after postprocessing."""

    kind = METRIC

    @abstractmethod
    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """Figures by name."""


PLUGINS: Registry[str, type[Plugin]] = Registry("plugin")


def register(plugin: type[Plugin]) -> type[Plugin]:
    """Makes a plugin known under its name."""
    PLUGINS.add(plugin.name, plugin)
    return plugin


def find_builtin_plugins() -> Mapping[str, type[Plugin]]:
    """Those of the guide, by name."""
    import_families("edgewright.evaluate.plugins", *FAMILIES)
    return PLUGINS


@dataclass(frozen=True)
class Step:
    """A plugin as a configuration names it."""

    name: str
    params: Mapping[str, Any]
    kind: str


def open_plugins(
    steps: Sequence[Step], known: Mapping[str, type[Plugin]], *, is_memory: bool = False
) -> list[Plugin]:
    """The plugins of a configuration; everything that is wrong with any of them is one error."""
    opened: list[Plugin] = []
    problems: list[EdgewrightError] = []
    for place, step in enumerate(steps, 1):
        try:
            opened.append(_find_plugin(step, known).open(step.params, is_memory=is_memory))
        except EdgewrightError as problem:
            where = Where(detail=f"{step.kind} plugin {place}, '{shown(step.name, 60)}'")
            each = getattr(problem, "errors", (problem,))
            problems += [type(error)(error.what, error.where or where, error.do) for error in each]
    if problems:
        raise Problems(problems)
    return opened


def _find_plugin(step: Step, known: Mapping[str, type[Plugin]]) -> type[Plugin]:
    plugin = known.get(step.name)
    if plugin is None:
        raise UsageError(
            f"there is no plugin '{shown(step.name, 60)}'",
            do=did_you_mean(
                step.name,
                known,
                "docs/reference/plugins.md lists them; CUSTOM_PLUGIN_PATH names the folder of your own",
            ),
        )
    if plugin.kind != step.kind:
        raise UsageError(
            f"'{plugin.name}' is a {plugin.kind} plugin, expected a {step.kind} plugin",
            do=f"move it to the {SECTIONS[plugin.kind]} section",
        )
    return plugin


SECTIONS = {
    DATASET: "dataset",
    PREPROCESSING: "processing: preprocessing",
    POSTPROCESSING: "processing: postprocessing",
    METRIC: "evaluator: metrics",
}
