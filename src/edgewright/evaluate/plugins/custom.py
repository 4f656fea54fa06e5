"""Plugins of the user's own: Python files in the folder that CUSTOM_PLUGIN_PATH names."""

import importlib.util
import inspect
import logging
import os
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.words import quote_names
from edgewright.evaluate.plugins.plugin import Plugin, find_builtin_plugins

VARIABLE = "CUSTOM_PLUGIN_PATH"
log = logging.getLogger(__name__)


def find_plugins() -> dict[str, type[Plugin]]:
    """Those of the guide, and the user's own where CUSTOM_PLUGIN_PATH is set: their code is run then."""
    return {**find_builtin_plugins(), **_load_folders(os.environ.get(VARIABLE, ""))}


@cache
def _load_folders(paths: str) -> Mapping[str, type[Plugin]]:
    """Every class of every file that is a plugin, under its name; kept, so that it is said once."""
    plugins: dict[str, type[Plugin]] = {}
    for path in filter(None, paths.split(os.pathsep)):
        folder = Path(path)
        if not folder.is_dir():
            raise UsageError(
                f"{VARIABLE} is '{shown(path)}', expected a folder of Python files", do="name the folder"
            )
        for file in sorted(folder.rglob("*.py")):
            for name, plugin in _list_plugins(_run_file(file, folder)).items():
                _check_name(name, plugins, file)
                plugins[name] = plugin
    if paths:
        named = quote_names(sorted(plugins)) or "none"
        log.warning("%s is set: the code of %s was run; plugins: %s", VARIABLE, shown(paths), named)
    return plugins


def _run_file(file: Path, folder: Path) -> ModuleType:
    name = f"edgewright_custom_{sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up; files of the folder may import each other.
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        del sys.modules[name]
        raise BadInput(
            f"the file of plugins failed with {type(problem).__name__}: {shown(problem)}",
            Where(file=str(file)),
            do=f"correct it, or take it out of {VARIABLE}",
        ) from problem
    finally:
        sys.path.remove(str(folder))
    return module


def _list_plugins(module: ModuleType) -> dict[str, type[Plugin]]:
    plugins = {}
    for item in vars(module).values():
        if inspect.isclass(item) and issubclass(item, Plugin) and item.__module__ == module.__name__:
            item.is_custom = True
            plugins[item.name] = item
    return plugins


def _check_name(name: str, others: Mapping[str, type[Plugin]], file: Path) -> None:
    if name in find_builtin_plugins() or name in others:
        raise UsageError(
            f"there is a plugin '{shown(name, 60)}' already",
            Where(file=str(file)),
            do="give the class another name, or set another 'name' in it",
        )
