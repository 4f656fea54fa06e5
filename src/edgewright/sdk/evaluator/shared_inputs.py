"""What tasks of an evaluation are given: inputs and files of options by content, wherever they lie."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from edgewright.config.group import OptionGroup
from edgewright.core.files import write_whole
from edgewright.core.plain import from_plain, to_plain
from edgewright.model.shared_files import Share, locate_shared, share_model, share_path
from edgewright.sdk.converter import ConverterOptions
from edgewright.sdk.evaluator.inputs import InputRow
from edgewright.tasks.job import Job

# Options whose values are files that a converter reads, by how their help calls the value.
_FILES = frozenset({"FILE", "LIB", "LIB[,LIB]"})
# Files that are handed over in ways of their own, or written.
_OTHERS = frozenset({"input_network", "input_list", "dump_custom_io_config_template", "dump_relay"})


def share_rows(rows: Sequence[InputRow], share: Share) -> dict[str, Any]:
    """Rows of an input list: the hash of their files, and where each is among them."""
    files = [path for row in rows for path in row.values()]
    folder = Path(os.path.commonpath([path.parent for path in files]))
    named = [{name: path.relative_to(folder).as_posix() for name, path in row.items()} for row in rows]
    return {"content": share(folder, sorted({name for row in named for name in row.values()})), "rows": named}


def write_list(shared: Mapping[str, Any], fetch: Callable[[str], Path], target: Path) -> Path:
    """The input list of rows that were shared, for whoever reads such a list."""
    folder = fetch(shared["content"])
    lines = [" ".join(f"{name}:={folder / file}" for name, file in row.items()) for row in shared["rows"]]
    write_whole(target, ["\n".join([*lines, ""]).encode()])
    return target


def share_options(options: ConverterOptions, share: Share) -> dict[str, Any]:
    """Options of a converter as JSON, without source and calibration; the files that they name by content."""
    plain = to_plain(_drop_places(options))
    places = {}
    for group, name, texts in _iterate_files(options):
        places[f"{group}.{name}"] = [share_path(Path(text), share) for text in texts]
    return {"options": plain, "files": places}


def read_options(shared: Mapping[str, Any], fetch: Callable[[str], Path]) -> ConverterOptions:
    """Options that were shared, with the files where this machine has them."""
    options = from_plain(ConverterOptions, shared["options"])
    for place, files in shared["files"].items():
        group, _, name = place.partition(".")
        paths = tuple(str(locate_shared(file, fetch)) for file in files)
        before = getattr(options, group)
        value: Any = paths if isinstance(getattr(before, name), tuple) else paths[0]
        options = replace(options, **{group: replace(before, **{name: value})})
    return options


def share_source(path: str, share: Share) -> dict[str, str]:
    """The source model, with the files of its weights."""
    return share_model(Path(path), share)


def place_source(options: ConverterOptions, job: Job) -> ConverterOptions:
    """The options with the source model where this machine has it."""
    path = locate_shared(job.inputs["model"], job.fetch_files)
    return replace(options, source=replace(options.source, input_network=str(path)))


def _drop_places(options: ConverterOptions) -> ConverterOptions:
    """Where the source, the calibration and the output are does not change the result."""
    name = Path(options.source.input_network).name
    is_calibrated = options.quantizer.input_list is not None
    return replace(
        options,
        source=replace(options.source, input_network=name),
        output=replace(options.output, output_path=None),
        quantizer=replace(options.quantizer, input_list="inputs.txt" if is_calibrated else None),
    )


def _iterate_files(options: ConverterOptions) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Group, option and values of every option that names files."""
    for field in fields(options):
        group = getattr(options, field.name)
        if not isinstance(group, OptionGroup):
            continue
        for name, option in group.options().items():
            value = getattr(group, name)
            if not value or name in _OTHERS or not _FILES.intersection(option.metavar):
                continue
            texts = (value,) if isinstance(value, str) else tuple(value)
            # A file that is not there is the converter's to complain about.
            if all(Path(text).exists() for text in texts):
                yield field.name, name, texts
