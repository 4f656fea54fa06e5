"""The inference schemas of a configuration: checked, chosen, and expanded to all their combinations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgewright.config.model_config import ModelConfig, SchemaSection
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.sdk.evaluator.schemas import (
    ARCHITECTURES,
    ENGINES,
    HOST,
    PRECISIONS,
    QNN,
    InferenceSchema,
    expand_schema,
)


@dataclass(frozen=True)
class SchemaChoice:
    """Which schemas of a configuration are run; all where nothing is said."""

    name: str | None = None
    tag: str | None = None
    # What runs those for another architecture.
    device: str = ""


def list_schemas(config: ModelConfig, choice: SchemaChoice) -> list[InferenceSchema]:
    """All schemas that are to be run, each combination for itself; what is wrong with them comes at once."""
    problems: list[EdgewrightError] = []
    schemas = []
    for number, section in enumerate(config.schemas):
        problems += _find_problems(section)
        schemas.append(_make_schema(section, number))
    if sum(schema.is_reference for schema in schemas) > 1:
        problems.append(config.schemas[-1].entry.wrong("several schemas say is_ref, expected one at most"))
    tags = [schema.tag for schema in schemas if schema.tag]
    for section in config.schemas:
        tag = section.texts.get("tag", "")
        if tags.count(tag) > 1:
            problems.append(section.entry.wrong(f"the tag '{shown(tag)}' is there {tags.count(tag)} times"))
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    schemas = [
        replace(schema, device=choice.device) if schema.target_arch != HOST else schema for schema in schemas
    ]
    chosen = _choose(schemas, choice)
    return [variant for schema in chosen for variant in expand_schema(schema)]


def _make_schema(section: SchemaSection, number: int) -> InferenceSchema:
    texts = section.texts
    engine = section.name
    return InferenceSchema(
        engine=engine,
        precision=texts.get("precision", "fp32"),
        backend=texts.get("backend", "cpu") if engine == QNN else "",
        target_arch=texts.get("target_arch", HOST),
        tag=texts.get("tag", ""),
        is_reference=section.is_ref,
        number=number,
        converter_params=section.tables["converter_params"],
        contextbin_params=section.tables["contextbin_params"],
        netrun_params=section.tables["netrun_params"],
        backend_extensions=section.tables["backend_extensions"],
    )


def _find_problems(section: SchemaSection) -> list[EdgewrightError]:
    known: dict[str, Sequence[str]] = {
        "name": ENGINES,
        "precision": PRECISIONS,
        "target_arch": ARCHITECTURES,
    }
    return [
        section.entry.wrong(
            f"{key} is '{shown(section.texts[key])}', expected one of: {', '.join(choices)}",
            do=did_you_mean(section.texts[key], choices),
        )
        for key, choices in known.items()
        if key in section.texts and section.texts[key] not in choices
    ]


def _choose(schemas: Sequence[InferenceSchema], choice: SchemaChoice) -> list[InferenceSchema]:
    chosen = [
        schema
        for schema in schemas
        if choice.name in {None, schema.engine} and choice.tag in {None, schema.tag}
    ]
    if not chosen:
        asked = " and ".join(
            f"{option} '{shown(value)}'"
            for option, value in (("-inference_schema", choice.name), ("-inference_schema_tag", choice.tag))
            if value is not None
        )
        listed = ", ".join(schema.tag or schema.engine for schema in schemas)
        raise UsageError(
            f"no inference schema is {asked}" if asked else "there are no inference schemas",
            do=f"it has {listed}" if listed else "add inference_schemas to the inference-engine section",
        )
    return chosen
