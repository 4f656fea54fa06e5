"""Reads encodings files of every version into one kind of record."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.encodings.comments import without_comments
from edgewright.artifacts.encodings.writer import ADDED
from edgewright.artifacts.net_json.fields import Fields, as_float, as_integer, as_name, parse
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, advise_otherwise, shown
from edgewright.core.files import read_limited
from edgewright.quantize.encodings import Grid
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

LARGEST_FILE = 1 << 31
SECTIONS = ("activation_encodings", "param_encodings")
COURSE_WIDTHS = {
    "activation_bitwidth": "act_bits",
    "param_bitwidth": "weight_bits",
    "bias_bitwidth": "bias_bits",
}
LEGACY = frozenset({"bitwidth", "dtype", "min", "max", "scale", "offset", "is_symmetric"})
LISTED = frozenset(
    {"name", "enc_type", "dtype", "bw", "is_sym", "scale", "offset", "block_size", "compressed_bw"}
    | {"per_block_int_scale"}
)
TYPED = frozenset(
    {"name", "output_dtype", "y_scale", "y_zero_point", "axis", "block_size", "per_channel_float_scale"}
    | {"per_block_int_scale"}
)
WIDEST = 32
FLOAT_WIDTHS = (8, 16, 32)
# The kinds of version 1.0.0, and what each must say besides its scales.
KINDS: dict[str, tuple[str, ...]] = {
    "PER_TENSOR": (),
    "PER_CHANNEL": (),
    "PER_BLOCK": ("block_size",),
    "LPBQ": ("block_size", "per_block_int_scale", "compressed_bw"),
    "VECTOR": (),
}


def read_encodings(path: Path | str) -> EncodingSet:
    """The encodings in a file."""
    return parse_encodings(read_limited(path, LARGEST_FILE), str(path))


@advise_otherwise("export the encodings again")
def parse_encodings(content: bytes, file: str = "") -> EncodingSet:
    """The encodings in the bytes of a file."""
    document = parse(without_comments(content), Where(file=file or None))
    if ADDED not in document:
        return _read_document(document)
    own = Fields({key: value for key, value in document.items() if key != ADDED}, document.where, "the file")
    encodings = _read_document(own)
    added = _read_document(document.fields(ADDED)).tensors
    return replace(
        encodings, tensors=(*encodings.tensors, *(replace(tensor, is_added=True) for tensor in added))
    )


def _read_document(document: Fields) -> EncodingSet:
    if "encodings" in document:
        _refuse_sections(document)
        return _read_typed_file(document)
    missing = [section for section in SECTIONS if section not in document]
    if missing:
        raise BadInput(
            f"the file has no '{missing[0]}', expected both {' and '.join(SECTIONS)}",
            document.where,
            do="add the section; it may be empty",
        )
    read = [_read_section(document, section, is_param=section == SECTIONS[1]) for section in SECTIONS]
    is_listed = any(isinstance(document.first_of(section), list) for section in SECTIONS)
    known = {*SECTIONS, "version", *COURSE_WIDTHS}
    widths = {
        field: document.integer(key, 1, WIDEST) for key, field in COURSE_WIDTHS.items() if key in document
    }
    return EncodingSet(
        tuple(tensor for section in read for tensor in section),
        _read_version(document, ("1.0.0", "lists") if is_listed else ("0.5.0", "tables")),
        extra={key: value for key, value in document.items() if key not in known},
        **widths,
    )


def _refuse_sections(document: Fields) -> None:
    both = [section for section in SECTIONS if section in document]
    if both:
        raise BadInput(
            f"the file has 'encodings' as version 2.0.0 and '{both[0]}' as those before it, expected one",
            document.where,
        )


def _read_version(document: Fields, form: tuple[str, str]) -> str:
    """The version that the file says, which must have the form that the file has."""
    otherwise, spelled = form
    found = document.text("version") if "version" in document else otherwise
    if found.split(".")[0] not in {"0", "1", "2"}:
        raise UnsupportedFeature(
            f"the encodings have version '{shown(found)}', versions 0.4.0 to 2.0.0 are known", document.where
        )
    if found.split(".")[0] != otherwise[0]:
        raise BadInput(
            f"the file says version '{shown(found)}', but has {spelled} as version {otherwise}",
            document.where,
        )
    return found


def _read_section(document: Fields, section: str, *, is_param: bool) -> Iterator[TensorEncoding]:
    content = document.first_of(section)
    if isinstance(content, list):
        names: set[str] = set()
        for item in content:
            fields = Fields(item, document.where, f"an item of '{section}'")
            name = as_name(fields.first_of("name"), "'name'", document.where)
            if name in names:
                raise BadInput(
                    f"'{section}' has two encodings for the tensor", _locate_tensor(document.where, name)
                )
            names.add(name)
            yield _read_listed_entry(
                Fields(item, _locate_tensor(document.where, name), "the entry"), name, is_param=is_param
            )
        return
    for name, entry in Fields(content, document.where, f"'{section}'").items():
        yield _read_legacy(entry, name, _locate_tensor(document.where, name), is_param=is_param)


def _locate_tensor(where: Where, name: str) -> Where:
    return replace(where, tensor=name)


# Versions 0.x: an object (or a list of them) under each name


def _read_legacy(entry: Any, name: str, where: Where, *, is_param: bool) -> TensorEncoding:
    items = entry if isinstance(entry, list) else [entry]
    if not items:
        raise BadInput("the list of encodings is empty, expected at least one", where)
    parts = [
        _read_legacy_part(Fields(item, where, "the encoding"), name, is_param=is_param) for item in items
    ]
    first = parts[0]
    if any(
        (part.bits, part.is_float, part.is_wish) != (first.bits, first.is_float, first.is_wish)
        for part in parts
    ):
        raise BadInput("the encodings of the channels differ in width or type, expected one of both", where)
    if len(parts) == 1:
        return first
    return replace(
        first,
        scales=tuple(number for part in parts for number in part.scales),
        offsets=tuple(number for part in parts for number in part.offsets),
        lows=tuple(number for part in parts for number in part.lows),
        highs=tuple(number for part in parts for number in part.highs),
    )


def _read_legacy_part(fields: Fields, name: str, *, is_param: bool) -> TensorEncoding:
    if "bitwidth" not in fields and any(isinstance(value, dict) for _, value in fields.items()):
        raise UnsupportedFeature(
            "the encodings are nested by layers, expected them by tensors",
            fields.where,
            do="use the .encodings file that AIMET exports beside the *_torch.encodings",
        )
    bits = fields.integer("bitwidth", 1, WIDEST)
    kind = fields.text("dtype").lower() if "dtype" in fields else "int"
    extra = {key: value for key, value in fields.items() if key not in LEGACY}
    if kind == "float":
        _check_float_width(bits, fields.where)
        return TensorEncoding(name, bits, is_param, is_float=True, extra=extra)
    if kind != "int":
        raise BadInput(f"'dtype' is '{shown(kind)}', expected 'int' or 'float'", fields.where)
    ends = tuple(_read_finite(fields, key) if key in fields else None for key in ("min", "max"))
    scale, offset = _read_legacy_steps(fields, bits, *ends)
    return TensorEncoding(
        *(name, bits, is_param),
        scales=() if scale is None else (scale,),
        offsets=() if scale is None else (offset,),
        is_symmetric=_flag(fields, "is_symmetric") if "is_symmetric" in fields else None,
        lows=() if ends[0] is None else (ends[0],),
        highs=() if ends[1] is None else (ends[1],),
        extra=extra,
    )


def _read_legacy_steps(
    fields: Fields, bits: int, low: float | None, high: float | None
) -> tuple[float | None, int]:
    """Scale and offset as given, else from the range; none where only a width is given."""
    if low is not None and high is not None and not low <= high:
        raise BadInput(f"the range is {low} to {high}, expected it in order", fields.where)
    if "scale" not in fields:
        if low is None or high is None:
            return None, 0
        encoding = Grid(bits).encode_range(low, high)
        return encoding.scales[0], encoding.offsets[0]
    scale = _scale(fields.first_of("scale"), fields.where)
    if low is not None and high is not None:
        _check_range(scale, high - low, bits, fields.where)
    offset = fields.integer("offset", -(1 << WIDEST), 1 << WIDEST) if "offset" in fields else None
    if low is not None and (offset is None or offset > 0):
        # If a file counts from the other side, its offset is off by one; its range is right.
        offset = round(min(low, 0.0) / scale)
    return scale, _read_offset(offset or 0, bits, fields.where)


def _check_range(scale: float, width: float, bits: int, where: Where) -> None:
    """A range is as wide as all steps together; files round both, so only what is far off is wrong."""
    expected = ((1 << bits) - 1) * scale
    if width and not expected / 2 <= width <= expected * 2:
        raise BadInput(
            f"'min' and 'max' are {width:g} apart and the steps of {bits} bits with scale {scale:g} cover "
            f"{expected:g}, expected the same",
            where,
        )


# Version 1.0.0: a list of objects with names


def _read_listed_entry(fields: Fields, name: str, *, is_param: bool) -> TensorEncoding:
    bits = fields.integer("bw", 1, WIDEST)
    kind = fields.text("dtype").upper()
    extra = {key: value for key, value in fields.items() if key not in LISTED | {"enc_type"}}
    if kind in {"FLOAT", "FP"}:
        _check_float_width(bits, fields.where)
        return TensorEncoding(name, bits, is_param, is_float=True, extra=extra)
    if kind != "INT":
        raise BadInput(f"'dtype' is '{shown(kind)}', expected 'INT' or 'FLOAT'", fields.where)
    scales = _read_scales(fields.array("scale"), fields.where)
    _check_kind(fields, len(scales))
    raw = fields.array("offset") if "offset" in fields else [-(1 << (bits - 1))] * len(scales)
    expanded = 0
    factors: tuple[int, ...] = ()
    if "per_block_int_scale" in fields:
        factors = _read_factors(fields.array("per_block_int_scale"), fields.where)
        # The width of the file is that of the expanded weights; ours is that of the stored ones.
        expanded, bits = bits, fields.integer("compressed_bw", 1, WIDEST)
        raw = [-(1 << (bits - 1))] * len(scales)
    offsets = tuple(_read_offset(_read_integer(item, fields.where), bits, fields.where) for item in raw)
    if len(offsets) != len(scales):
        raise BadInput(
            f"{len(offsets)} offsets come with {len(scales)} scales, expected as many", fields.where
        )
    return TensorEncoding(
        *(name, bits, is_param),
        scales=scales,
        offsets=offsets,
        is_symmetric=_flag(fields, "is_sym") if "is_sym" in fields else None,
        block_size=fields.integer("block_size", 1, 1 << 30) if "block_size" in fields else 0,
        block_scales=factors,
        expanded_bits=expanded,
        extra=extra,
    )


def _check_kind(fields: Fields, scales: int) -> None:
    """What the kind of an encoding says of its other fields."""
    if "enc_type" not in fields:
        return
    kind = fields.text("enc_type").upper()
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise BadInput(f"'enc_type' is '{shown(kind)}', expected one of {known}", fields.where)
    missing = [key for key in KINDS[kind] if key not in fields]
    if missing:
        raise BadInput(f"an encoding of the kind {kind} has no '{missing[0]}'", fields.where)
    if kind == "PER_TENSOR" and scales != 1:
        raise BadInput(f"an encoding of the kind PER_TENSOR has {scales} scales, expected 1", fields.where)


def _check_float_width(bits: int, where: Where) -> None:
    if bits not in FLOAT_WIDTHS:
        known = ", ".join(map(str, FLOAT_WIDTHS))
        raise BadInput(f"a float encoding has {bits} bits, expected one of {known}", where)


# Version 2.0.0: types and zero points as ONNX has them


def _read_typed_file(document: Fields) -> EncodingSet:
    tensors: dict[str, TensorEncoding] = {}
    for item in document.array("encodings"):
        fields = Fields(item, document.where, "an item of 'encodings'")
        name = as_name(fields.first_of("name"), "'name'", document.where)
        where = _locate_tensor(document.where, name)
        if name in tensors:
            raise BadInput("'encodings' has two encodings for the tensor", where)
        tensors[name] = _read_typed_entry(Fields(item, where, "the entry"), name)
    extra = {key: value for key, value in document.items() if key not in {"encodings", "version"}}
    version = _read_version(document, ("2.0.0", "'encodings'"))
    return EncodingSet(tuple(tensors.values()), version, extra=extra)


def _read_typed_entry(fields: Fields, name: str) -> TensorEncoding:
    kind = fields.text("output_dtype").lower()
    word = kind.rstrip("0123456789")
    bits = int(kind[len(word) :] or 0) if len(kind) < 16 else 0
    extra = {key: value for key, value in fields.items() if key not in TYPED}
    if word == "float" and bits in {16, 32}:
        return TensorEncoding(name, bits, is_float=True, extra=extra)
    if word not in {"int", "uint"} or not 1 <= bits <= WIDEST:
        raise UnsupportedFeature(f"'output_dtype' is '{shown(kind)}', expected int4 to uint32", fields.where)
    scale = _read_nested(fields.first_of("y_scale", "per_channel_float_scale"), fields.where)
    zeros = (
        _read_nested(fields.first_of("y_zero_point"), fields.where)
        if "y_zero_point" in fields
        else np.zeros_like(scale)
    )
    if zeros.shape != scale.shape or not np.isfinite(zeros).all() or (zeros != np.rint(zeros)).any():
        raise BadInput(
            f"'y_zero_point' has shape {list(zeros.shape)} and 'y_scale' {list(scale.shape)}, "
            "expected whole numbers of one shape",
            fields.where,
        )
    axis = fields.integer("axis", -8, 7) if "axis" in fields else None
    block = fields.integer("block_size", 1, 1 << 30) if "block_size" in fields else 0
    factors = (
        _read_nested(fields.first_of("per_block_int_scale"), fields.where)
        if "per_block_int_scale" in fields
        else None
    )
    half = 1 << (bits - 1) if word == "int" else 0
    low, high = (-half, half - 1) if half else (0, (1 << bits) - 1)
    if ((zeros < low) | (zeros > high)).any():
        worst = int(zeros.min() if (zeros < low).any() else zeros.max())
        raise BadInput(f"a zero point is {worst}, expected {low} to {high} of {kind}", fields.where)
    flat = [_order_by_channel(array, axis, is_blocked=bool(block)) for array in (scale, zeros)]
    return TensorEncoding(
        *(name, bits),
        scales=_read_scales(flat[0], fields.where),
        offsets=tuple(_read_offset(-int(zero) - half, bits, fields.where) for zero in flat[1]),
        is_symmetric=None,
        is_signed=word == "int",
        axis=axis,
        block_size=block,
        block_scales=()
        if factors is None
        else _read_factors(_order_by_channel(factors, axis, is_blocked=True), fields.where),
        expanded_bits=0 if factors is None else 2 * bits,
        shape=scale.shape if factors is None else factors.shape,
        extra=extra,
    )


def _read_nested(value: Any, where: Where) -> np.ndarray[Any, Any]:
    """A number, or nested lists of numbers, as an array."""
    try:
        array = np.array(value, np.float64)
    except (ValueError, TypeError, OverflowError) as problem:
        raise BadInput(
            f"'{shown(value)}' is neither a number nor a regular list of numbers", where
        ) from problem
    if array.size == 0 or array.ndim > 8:
        raise BadInput(f"a list has shape {list(array.shape)}, expected numbers", where)
    return array


def _order_by_channel(array: np.ndarray[Any, Any], axis: int | None, *, is_blocked: bool) -> list[float]:
    """Numbers channel by channel: the axis of the blocks comes last."""
    if is_blocked and axis is not None and -array.ndim <= axis < array.ndim:
        array = np.moveaxis(array, axis, -1)
    flat: list[float] = array.reshape(-1).tolist()
    return flat


# Numbers


def _read_scales(items: list[Any], where: Where) -> tuple[float, ...]:
    if not items:
        raise BadInput("the list of scales is empty, expected at least one", where)
    return tuple(_scale(item, where) for item in items)


def _scale(item: Any, where: Where) -> float:
    scale = as_float(item, "a scale", where)
    if not (scale > 0 and math.isfinite(scale)):
        raise BadInput(f"a scale is {scale}, expected a finite number above 0", where)
    return scale


def _read_offset(offset: int, bits: int, where: Where) -> int:
    """An offset in our form; a positive one is the integer that stands for zero."""
    stored = -offset if offset > 0 else offset
    if not -(1 << bits) < stored <= 0:
        raise BadInput(f"an offset is {offset}, expected {-(1 << bits) + 1} to 0 in {bits} bits", where)
    return stored


def _read_factors(items: list[Any], where: Where) -> tuple[int, ...]:
    flat = np.array(items, object).reshape(-1).tolist()
    # A large model has millions, of few values; true is no number here, although it equals 1.
    are_numbers = set(map(type, flat)) <= {int, float}
    for item in set(flat) if are_numbers else flat:
        as_integer(item, "a factor of a block", where, 1, 255)
    return tuple(map(int, flat))


def _read_integer(item: Any, where: Where) -> int:
    return as_integer(item, "an offset", where, -(1 << WIDEST), 1 << WIDEST)


def _read_finite(fields: Fields, key: str) -> float:
    number = as_float(fields.first_of(key), f"'{key}'", fields.where)
    if not math.isfinite(number):
        raise BadInput(f"'{key}' is {number}, expected a finite number", fields.where)
    return number


def _flag(fields: Fields, key: str) -> bool:
    found = fields.first_of(key)
    if isinstance(found, str) and found.lower() in {"true", "false"}:
        return found.lower() == "true"
    if not isinstance(found, bool):
        raise BadInput(f"'{key}' is '{shown(found)}', expected true or false", fields.where)
    return found
