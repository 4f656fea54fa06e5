"""Conversions that schemas share: a model is converted once, however often it is quantized."""

from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

from edgewright.config.quantizer import Quantizer
from edgewright.sdk.converter import ConverterOptions, PreparedConversion, prepare_conversion, use_packages
from edgewright.sdk.evaluator.converter_options import identify_first_half


class Conversions:
    """Keeps conversions while an evaluation runs."""

    def __init__(self) -> None:
        self._prepared: dict[tuple[object, ...], PreparedConversion] = {}
        self._packages = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._packages.close()

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self._prepared)

    def prepare(self, options: ConverterOptions) -> PreparedConversion:
        """The first half of a conversion.

        A float model is the one that is quantized elsewhere, unless its source has encodings of its own.
        """
        key = identify_first_half(options)
        if key in self._prepared:
            return self._prepared[key]
        if not options.quantizer.is_asked_for and options.output.float_bw == 32:
            plain = self._convert(replace(options, quantizer=Quantizer(float_fallback=True)))
            if not plain.converted.encodings:
                return plain
        return self._convert(options)

    def _convert(self, options: ConverterOptions) -> PreparedConversion:
        key = identify_first_half(options)
        if key not in self._prepared:
            if options.package.given():
                self._packages.enter_context(use_packages(options.package))
            self._prepared[key] = prepare_conversion(options)
        return self._prepared[key]
