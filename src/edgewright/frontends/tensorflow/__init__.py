"""The TensorFlow frontend: importing it registers every translation, family by family."""

from importlib import import_module

__all__: list[str] = []

FAMILIES = (
    *("activation", "arrays", "cast", "control", "conv", "detection", "elementwise", "gather", "matmul"),
    *("norm", "pool", "quant", "rearrange", "rearrange_fill", "rearrange_slice", "reduce", "resize"),
    *("sequence", "stored"),
)

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
