"""Keeps torch's compiler unloaded while torch's shape rules run: they would load it to switch it off."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

NAME = "torch._dynamo"
# What torch._compile puts on a function once the compiler was told to leave it alone.
MARK = "__dynamo_disable"


class _StandIn(ModuleType):
    """Answers what the shape rules ask of the compiler; anything else loads the real one."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.marked: list[Any] = []

    def disable(self, function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        """The function as it is: nothing is compiled here."""
        self.marked.append(function)
        return function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(NAME, None)
        return getattr(importlib.import_module(NAME), name)


@contextmanager
def without_compiler() -> Iterator[None]:
    """Inside, loading the compiler (1.3 s of a conversion) is put off until something really needs it."""
    if NAME in sys.modules:
        yield
        return
    stand_in = _StandIn()
    sys.modules[NAME] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(NAME) is stand_in:
            del sys.modules[NAME]
        for function in stand_in.marked:
            with suppress(AttributeError):
                delattr(function, MARK)
