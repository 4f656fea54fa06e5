"""The option that keeps layouts and data types of inputs and outputs as the source has them."""

from collections.abc import Container
from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Check, Given
from edgewright.core.errors import UsageError, shown


def _check_preserve_io(given: Given) -> UsageError | None:
    usages = given.get("--preserve_io", ())
    for usage in usages:
        if usage and usage[0] not in {"layout", "datatype"}:
            return UsageError(
                f"--preserve_io begins with '{shown(usage[0])}', expected 'layout', 'datatype' or nothing",
                do=f"for example: --preserve_io layout {shown(usage[0])}",
            )
    # Guide 11044: names (its usage 3) do not go together with "all tensors" (its usages 1 and 2).
    if len({len(usage) > 1 for usage in usages}) > 1:
        return UsageError(
            "--preserve_io was given both with and without names, expected one of the two",
            do="name the tensors everywhere or nowhere",
        )
    return None


class _AllTensors:
    """As a container of names: each is inside."""

    def __contains__(self, name: object) -> bool:
        return True


ALL_TENSORS: Container[str] = _AllTensors()


@dataclass(frozen=True)
class PreserveIo(OptionGroup):
    """Inputs and outputs that keep the layout or the data type of the source."""

    title = "Inputs and outputs as in the source"
    rules = (Check(_check_preserve_io),)

    preserve_io: tuple[tuple[str, ...], ...] = opt(
        nargs="*",
        repeated=True,
        metavar=("[{layout,datatype} [NAME ...]]",),
        example="--preserve_io layout input1 output1",
        help="keep the layout or the data type of all inputs and outputs, or of those named; both and all "
        "where nothing follows",
    )

    def layouts(self) -> Container[str]:
        """The inputs and outputs that keep the layout of the source."""
        return self._list_kept("layout")

    def dtypes(self) -> Container[str]:
        """The inputs and outputs that keep the data type of the source."""
        return self._list_kept("datatype")

    def named(self) -> tuple[str, ...]:
        """The inputs and outputs that were named, for a check that the model has them."""
        return tuple(dict.fromkeys(name for _, *names in filter(None, self.preserve_io) for name in names))

    def _list_kept(self, what: str) -> Container[str]:
        usages = [usage for usage in self.preserve_io if not usage or usage[0] == what]
        if any(len(usage) <= 1 for usage in usages):
            return ALL_TENSORS
        return {name for _, *names in usages for name in names}
