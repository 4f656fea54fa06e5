"""The schemes by the names that the tools' options have for them."""

from edgewright.core.errors import UsageError
from edgewright.quantize.schemes.entropy import Entropy
from edgewright.quantize.schemes.min_max import Adjusted, MinMax
from edgewright.quantize.schemes.mse import Mse
from edgewright.quantize.schemes.percentile import Percentile
from edgewright.quantize.schemes.scheme import Scheme
from edgewright.quantize.schemes.sqnr import Sqnr

__all__ = ["SCHEMES", "Adjusted", "Entropy", "MinMax", "Mse", "Percentile", "Scheme", "Sqnr", "find_scheme"]

# Legacy names (tf, enhanced, adjusted, symmetric) and those of the calibration options. "symmetric" is the
# true range too: its grid makes the difference.
SCHEMES: dict[str, type[Scheme]] = {
    "tf": MinMax,
    "min-max": MinMax,
    "symmetric": MinMax,
    "enhanced": Sqnr,
    "sqnr": Sqnr,
    "adjusted": Adjusted,
    "mse": Mse,
    "percentile": Percentile,
    "entropy": Entropy,
}


def find_scheme(name: str, percentile: float = 99.99) -> Scheme:
    """The scheme of a name; ``percentile`` matters to the one called so."""
    if name not in SCHEMES:
        raise UsageError(f"there is no scheme '{name}', expected one of {', '.join(SCHEMES)}")
    return Percentile(percentile) if name == "percentile" else SCHEMES[name]()
