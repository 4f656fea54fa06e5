"""Damage that knows what a file is made of: messages, trees, archives, text; the same for the same seed."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

Mutate = Callable[[Random, bytes], bytes]

NUMBERS = (
    *(
        0,
        1,
        -1,
        2,
        3,
        7,
        8,
        16,
        100,
        255,
        256,
        999,
        65535,
        65536,
        1 << 20,
        (1 << 31) - 1,
        1 << 31,
        (1 << 32) - 1,
    ),
    *(1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 31), -(1 << 63), 10**12, 10**30),
)
REALS = (0.0, -0.0, -1.0, 1e-45, 1e38, 1e300, float("nan"), float("inf"), -float("inf"), 0.5)
WORDS = (
    "",
    "x",
    "..",
    "../../up",
    "/etc/passwd",
    "a" * 300,
    "NaN",
    "1e999",
    "\0",
    "\n",
    "ünï",
    "true",
    "-1",
    "9" * 30,
)
_DEEPEST = 12


def change_bytes(random: Random, data: bytes) -> bytes:
    """Some bytes changed, words overwritten, parts cut out, repeated or put elsewhere."""
    changed = bytearray(data or b"\0")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        place = random.randrange(len(changed) or 1)
        kind = random.randrange(7)
        if kind == 0:
            changed[place : place + 1] = bytes([random.randrange(256)])
        elif kind == 1:
            width = random.choice((1, 2, 4, 8))
            value = random.choice(NUMBERS) & ((1 << 8 * width) - 1)
            start = place - place % width
            changed[start : start + width] = value.to_bytes(width, "little")
        elif kind == 2:
            del changed[place:]
        elif kind == 3:
            del changed[place : place + random.choice((1, 4, 16, 64))]
        elif kind == 4:
            part = changed[place : place + random.choice((1, 4, 16, 64))]
            where = random.randrange(len(changed) + 1)
            changed[where:where] = part
        elif kind == 5:
            changed[place] ^= 1 << random.randrange(8) if changed else 0
        else:
            value = struct.pack("<f", random.choice((0.0, -1.0, 1e38, float("nan"), float("inf"))))
            start = place - place % 4
            changed[start : start + 4] = value
        changed = changed or bytearray(b"\0")
    return bytes(changed)


# Protobuf: a tree of fields, each a number or bytes that may be messages themselves.

Field = tuple[int, int, Any]


def change_message(random: Random, data: bytes) -> bytes:
    """A message with a field changed, left out, repeated, put elsewhere or of another kind, at any depth."""
    if random.random() < 0.1:
        return change_bytes(random, data)
    fields = _read_fields(data)
    if fields is None:
        return change_bytes(random, data)
    for _ in range(random.choice((1, 1, 2, 3))):
        fields = _change_fields(random, fields, 0)
    return _write_fields(fields)


def _change_fields(random: Random, fields: list[Field], depth: int) -> list[Field]:
    fields = list(fields)
    if not fields:
        return [(random.randrange(1, 20), 0, random.choice(NUMBERS) & (1 << 64) - 1)]
    place = random.randrange(len(fields))
    number, wire, value = fields[place]
    inner = _read_fields(value) if wire == 2 and depth < _DEEPEST else None
    if inner and random.random() < 0.8:
        fields[place] = (number, 2, _write_fields(_change_fields(random, inner, depth + 1)))
        return fields
    kind = random.randrange(8)
    if kind == 0:
        del fields[place]
    elif kind == 1:
        fields.insert(random.randrange(len(fields) + 1), fields[place])
    elif kind == 2:
        random.shuffle(fields)
    elif kind == 3:
        fields[place] = (random.randrange(1, 20), wire, value)
    elif wire == 0:
        fields[place] = (number, 0, random.choice(NUMBERS) & (1 << 64) - 1)
    elif wire == 2:
        text = random.choice(WORDS).encode()
        fields[place] = (number, 2, text if kind == 4 else change_bytes(random, value) if value else text)
    else:
        width = 4 if wire == 5 else 8
        fields[place] = (number, wire, random.randbytes(width))
    return fields


def _read_fields(data: bytes) -> list[Field] | None:
    """The fields of a message; None where the bytes are none."""
    fields: list[Field] = []
    place = 0
    with suppress(IndexError):
        while place < len(data):
            key, place = _read_varint(data, place)
            number, wire = key >> 3, key & 7
            if not 0 < number < 1 << 20:
                return None
            if wire == 0:
                value, place = _read_varint(data, place)
                fields.append((number, 0, value))
                continue
            size = {1: 8, 5: 4}.get(wire)
            if wire == 2:
                size, place = _read_varint(data, place)
            if size is None or place + size > len(data):
                return None
            fields.append((number, wire, data[place : place + size]))
            place += size
        return fields
    return None


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 70:
            return value, place


def _write_varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _write_fields(fields: list[Field]) -> bytes:
    out = b""
    for number, wire, value in fields:
        out += _write_varint(number << 3 | wire)
        out += (
            _write_varint(value) if wire == 0 else (_write_varint(len(value)) if wire == 2 else b"") + value
        )
    return out


# Trees of tables, lists, texts and numbers.


def change_json(random: Random, data: bytes) -> bytes:
    """A tree with values changed, or its text."""
    if random.random() < 0.1:
        return change_text(random, data)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return change_text(random, data)
    for _ in range(random.choice((1, 1, 2, 3))):
        tree = change_tree(random, tree)
    return json.dumps(tree).encode()


def change_tree(random: Random, tree: Any, depth: int = 0) -> Any:
    """One place of a tree changed."""
    if isinstance(tree, dict) and tree and (random.random() < 0.9 or depth == 0):
        key = random.choice(list(tree))
        kind = random.randrange(10)
        copy = dict(tree)
        if kind == 0:
            del copy[key]
        elif kind == 1:
            copy[random.choice(WORDS)] = copy.pop(key)
        else:
            copy[key] = change_tree(random, copy[key], depth + 1)
        return copy
    if isinstance(tree, list) and tree and random.random() < 0.9:
        place, kind, copy = random.randrange(len(tree)), random.randrange(8), list(tree)
        if kind == 0:
            del copy[place]
        elif kind == 1:
            copy.insert(place, copy[place])
        else:
            copy[place] = change_tree(random, copy[place], depth + 1)
        return copy
    return random.choice(
        (random.choice(NUMBERS), random.choice(REALS), random.choice(WORDS), None, True, [], {}, [[]], tree)
    )


def change_text(random: Random, data: bytes) -> bytes:
    """Lines and words changed, or bytes."""
    if random.random() < 0.3:
        return change_bytes(random, data)
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind == 0 and len(lines) > 1:
            del lines[place]
        elif kind == 1:
            lines.insert(random.randrange(len(lines) + 1), lines[place])
        elif kind == 2:
            lines[place] = random.choice((b" ", b"\t", b"- ", b"#", b"\xef\xbb\xbf", b"\r")) + lines[place]
        else:
            words = lines[place].split(b" ")
            words[random.randrange(len(words))] = random.choice(
                (str(random.choice(NUMBERS)), random.choice(WORDS))
            ).encode()
            lines[place] = b" ".join(words)
    return b"\n".join(lines)


# Archives: a member is changed and the archive written again, so that its checksum is right.


def change_zip(member: Callable[[str], Mutate], method: int = zipfile.ZIP_STORED) -> Mutate:
    """How a zip is damaged: `member` says how a member of a name is."""

    def change(random: Random, data: bytes) -> bytes:
        if random.random() < 0.15:
            return change_bytes(random, data)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = [(name, archive.read(name)) for name in archive.namelist()]
        except Exception:
            return change_bytes(random, data)
        if not members:
            return change_bytes(random, data)
        place, kind = random.randrange(len(members)), random.randrange(12)
        name, content = members[place]
        if kind == 0:
            del members[place]
        elif kind == 1:
            members[place] = (
                random.choice(("", "../x", "/x", "x" * 300, name + "/", name.upper(), "model")),
                content,
            )
        elif kind == 2:
            members[place] = (name, random.choice(members)[1])
        else:
            members[place] = (name, member(name)(random, content))
        return write_zip(members, random.choice((method, method, method, zipfile.ZIP_DEFLATED)))

    return change


def write_zip(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with a date of its own."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            item = zipfile.ZipInfo(name or "x", (2020, 1, 1, 0, 0, 0))
            archive.writestr(item, content, compress_type=method)
    return file.getvalue()


def change_tar(random: Random, data: bytes) -> bytes:
    """A tar with a field of a header changed and its checksum right, or its bytes."""
    if random.random() < 0.3 or len(data) < 512:
        return change_bytes(random, data)
    block = 512 * random.randrange(len(data) // 512)
    head = bytearray(data[block : block + 512])
    field = random.choice(((0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155)))
    value = random.choice(
        (b"\0", b"../up.raw", b"/x", b"99999999999", b"\x80" + b"\xff" * 11, b"2", b"-1", b"7")
    )
    head[field[0] : field[0] + field[1]] = value.ljust(field[1], b"\0")[: field[1]]
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return data[:block] + bytes(head) + data[block + 512 :]


def change_npy(random: Random, data: bytes) -> bytes:
    """An .npy file with its header changed, or its bytes."""
    if random.random() < 0.3 or data[:6] != b"\x93NUMPY" or len(data) < 12:
        return change_bytes(random, data)
    size = int.from_bytes(data[8:10], "little")
    header, content = data[10 : 10 + size].decode("latin1"), data[10 + size :]
    parts = {
        "descr": random.choice(
            (
                "'<f4'",
                "'|O'",
                "'<f8'",
                "'|V9999999'",
                "'<U9'",
                "[('a','<f4')]",
                "7",
                "'>i2'",
                "'<q9'",
                "'|b1'",
            )
        ),
        "fortran_order": random.choice(("True", "False", "7", "None")),
        "shape": random.choice(
            (
                "(2, 3)",
                "()",
                f"({random.choice(NUMBERS)},)",
                "(-1,)",
                "(True,)",
                "(1.5,)",
                "'x'",
                f"({'1,' * 70})",
                "(0, 10**9)",
            )
        ),
    }
    kind = random.randrange(4)
    if kind == 0:
        header = change_text(random, header.encode("latin1")).decode("latin1")
    else:
        kept = {key: value for key, value in parts.items() if random.random() < 0.95}
        header = "{" + ", ".join(f"'{key}': {value}" for key, value in kept.items()) + "}"
    body = header.encode("latin1", "replace")[:60000]
    return data[:8] + len(body).to_bytes(2, "little") + body + content


def change_xml(random: Random, data: bytes) -> bytes:
    """Tags, texts and attributes changed, or the text."""
    pieces = data.replace(b">", b">\0").replace(b"<", b"\0<").split(b"\0")
    if random.random() < 0.2 or len(pieces) < 3:
        return change_text(random, data)
    for _ in range(random.choice((1, 1, 2))):
        place, kind = random.randrange(len(pieces)), random.randrange(6)
        if kind == 0:
            del pieces[place]
        elif kind == 1:
            pieces.insert(random.randrange(len(pieces) + 1), pieces[place])
        elif kind == 2:
            pieces[place] = random.choice(
                (
                    b"<!DOCTYPE x>",
                    b"<!-- -- -->",
                    b"<![CDATA[x]]>",
                    b"&amp;",
                    b"&x;",
                    b"<?xml version='1.0' encoding='utf-7'?>",
                )
            )
        elif not pieces[place].startswith(b"<"):
            pieces[place] = random.choice((*WORDS, str(random.choice(NUMBERS)))).encode()
        else:
            pieces[place] = change_bytes(random, pieces[place])
    return b"".join(pieces)


def frame_again(data: bytes) -> bytes:
    """A context binary with sizes and checksum put right, so that damage reaches its description."""
    import hashlib

    if len(data) < 64:
        return data
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def change_context(random: Random, data: bytes) -> bytes:
    """A context binary whose description is changed as a tree and framed again, or its bytes."""
    if random.random() < 0.3 or len(data) < 64:
        changed = change_bytes(random, data)
        return frame_again(changed) if random.random() < 0.5 else changed
    size, stored = struct.unpack_from("<QQ", data, 16)
    if size > len(data):
        return change_bytes(random, data)
    start = -(-(32 + size) // 64) * 64
    body = change_json(random, data[32 : 32 + size])
    padded = body + bytes(-(32 + len(body)) % 64)
    head = data[:16] + struct.pack("<QQ", len(body), stored)
    return frame_again(head + padded + data[start : start + stored] + bytes(32))


def change_head(random: Random, data: bytes) -> bytes:
    """A file whose description comes first: mostly that is changed, what follows stays in its place."""
    place = min(len(data), random.choice((64, 512, 4096, len(data))))
    return change_bytes(random, data[:place]) + data[place:]


def change_safetensors(random: Random, data: bytes) -> bytes:
    """A header changed as a tree and measured again, or the bytes."""
    size = int.from_bytes(data[:8], "little")
    if random.random() < 0.2 or size > len(data):
        return change_head(random, data)
    header = change_json(random, data[8 : 8 + size])
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def change_table(random: Random, data: bytes) -> bytes:
    """Cells of a table changed, or its text."""
    if random.random() < 0.3:
        return change_text(random, data)
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    cells = lines[place].split(b",")
    value = str(random.choice((*NUMBERS, *REALS, *WORDS)))
    cells[random.randrange(len(cells))] = value.encode()
    lines[place] = b",".join(cells)
    return b"\n".join(lines)
