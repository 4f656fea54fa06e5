"""Reads the XML description of an op package; nothing in it is trusted."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from defusedxml import DefusedXmlException, ElementTree

from edgewright.artifacts.op_package.records import OpDef, PackageDef, PortDef
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.numbers import DType
from edgewright.core.words import did_you_mean
from edgewright.ops.package import PackageParam

LARGEST_FILE = 1 << 24
RANKS = ("SCALAR", "1D", "2D", "3D", "4D", "5D", "ND")
BACKENDS = ("CPU", "GPU", "DSP", "HTP", "HTA", "LPAI", "AIC", "SAVER")
_ANY_TYPE = "BACKEND_SPECIFIC"
# Names become identifiers and file names of generated source.
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
# Of inputs and outputs also as QNN names its own: in[0], in[1..m].
_TENSOR = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}(\[\d{1,3}(\.\.\w{1,3})?\])?")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
Element = Any


def read(path: Path | str) -> PackageDef:
    """The package that a file describes."""
    path = Path(path)
    where = Where(file=str(path))
    try:
        root = ElementTree.fromstring(read_limited(path, LARGEST_FILE), forbid_dtd=True)
    except DefusedXmlException as problem:
        raise BadInput(
            f"the XML declares a DTD or entities ({type(problem).__name__}), which are not read", where
        ) from None
    # ValueError and LookupError: an encoding that is declared and not known, or not of bytes.
    except (ElementTree.ParseError, ValueError, LookupError, TypeError) as problem:
        raise BadInput(f"the XML is damaged: {problem}", where, do="check it with an XML editor") from None
    if root.tag != "OpDefCollection":
        raise BadInput(f"the root is '{shown(root.tag)}', expected 'OpDefCollection'", where)
    return _Reading(where).read_package(root)


class _Reading:
    def __init__(self, where: Where) -> None:
        self._where = where

    def read_package(self, root: Element) -> PackageDef:
        name = self._name(root.get("PackageName", ""), "attribute PackageName")
        ops = [
            self._read_op(item) for listed in root.findall("OpDefList") for item in listed.findall("OpDef")
        ]
        if not ops:
            raise self._make_error("there is no OpDefList with an OpDef, expected at least one")
        self._check_unique("OpDef", [op.name for op in ops])
        supplements = root.findall("SupplementalOpDefList")
        more = {op: tuple(self._read_supplemental(supplements, op)) for op in (op.name for op in ops)}
        merged = [_with_backends(op, more[op.name]) for op in ops]
        for op in merged:
            if not op.backends:
                raise self._make_error(
                    f"op '{op.name}' names no SupportedBackend, expected at least one", op.name
                )
        return PackageDef(name, root.get("Version", ""), root.get("Domain", ""), tuple(merged))

    def _read_op(self, item: Element) -> OpDef:
        name = self._name(_read_text(item, "Name"), "the Name of an OpDef")
        inputs = tuple(self._read_port(port, name) for port in item.findall("Input"))
        outputs = tuple(self._read_port(port, name) for port in item.findall("Output"))
        params = tuple(self._read_param(param, name) for param in item.findall("Parameter"))
        if not inputs or not outputs:
            raise self._make_error(
                f"the op has {len(inputs)} inputs and {len(outputs)} outputs, expected 1 of each", name
            )
        ports = [port.identifier for port in (*inputs, *outputs)]
        names = [*ports, *(param.name for param in params)]
        self._check_unique(f"part of op '{name}'", names)
        return OpDef(
            name,
            " ".join(_read_text(item, "Description/Content").split()),
            inputs,
            outputs,
            params,
            tuple(self._read_backend(found.text or "", name) for found in item.findall("SupportedBackend")),
            self._read_truth(item, "UseDefaultTranslation", name, default=False),
        )

    def _read_port(self, item: Element, op: str) -> PortDef:
        name = _read_text(item, "Name")
        if not _TENSOR.fullmatch(name):
            name = self._name(name, f"a part of op '{op}'", op)
        return PortDef(
            name,
            self._read_dtypes(item, op, name),
            self._rank(item, op, name),
            _read_text(item, "Shape/Layout"),
            self._read_truth(item, "Mandatory", op, default=True),
            self._read_truth(item, "Repeated", op, default=".." in name),
            self._read_truth(item, "IsStaticTensor", op, default=False),
        )

    def _read_param(self, item: Element, op: str) -> PackageParam:
        name = self._name(_read_text(item, "Name"), f"a part of op '{op}'", op)
        dtypes = self._read_dtypes(item, op, name) or (DType.FLOAT_32,)
        words = tuple((found.text or "").strip() for found in item.findall("Enumeration/Enum"))
        default = item.find("Default")
        return PackageParam(
            name,
            dtypes[0],
            self._rank(item, op, name) != "SCALAR",
            self._read_truth(item, "Mandatory", op, default=True),
            None if default is None else _parse_value((default.text or "").strip(), words),
            words,
        )

    def _read_dtypes(self, item: Element, op: str, part: str) -> tuple[DType, ...]:
        found = []
        for word in ((each.text or "").strip() for each in item.findall("Datatype")):
            plain = word.removeprefix("QNN_DATATYPE_")
            if word == _ANY_TYPE:
                continue
            if plain not in DType.__members__:
                known = [f"QNN_DATATYPE_{name}" for name in DType.__members__]
                raise self._make_error(
                    f"'{part}' has the Datatype '{shown(word)}', which QNN does not have",
                    op,
                    did_you_mean(word, known, "name one of QNN's data types"),
                )
            found.append(DType[plain])
        return tuple(found)

    def _rank(self, item: Element, op: str, part: str) -> str:
        rank = _read_text(item, "Shape/Rank") or "ND"
        if rank not in RANKS:
            raise self._make_error(
                f"'{part}' has the Rank '{shown(rank)}', expected one of {', '.join(RANKS)}", op
            )
        return rank

    def _read_backend(self, text: str, op: str) -> str:
        word = text.strip()
        if word not in BACKENDS:
            raise self._make_error(
                f"SupportedBackend is '{shown(word)}', expected one of {', '.join(BACKENDS)}", op
            )
        return word

    def _read_supplemental(self, lists: list[Element], op: str) -> list[str]:
        """Backends whose supplemental list includes the op."""
        return [
            self._read_backend(listed.get("Backend", ""), op)
            for listed in lists
            if op in {(found.text or "").strip() for found in listed.findall("SupportedOps/OpName")}
        ]

    def _read_truth(self, item: Element, tag: str, op: str, *, default: bool) -> bool:
        text = _read_text(item, tag).lower()
        if text and text not in _TRUTH:
            raise self._make_error(f"{tag} is '{shown(text)}', expected true or false", op)
        return _TRUTH.get(text, default)

    def _name(self, text: str, what: str, op: str | None = None) -> str:
        if not _IDENTIFIER.fullmatch(text):
            raise self._make_error(
                f"{what} is '{shown(text)}', expected letters, digits and '_', a letter first, at most 80", op
            )
        return text

    def _check_unique(self, what: str, names: list[str]) -> None:
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise self._make_error(f"{count} times '{name}' is a {what}, expected unique names")

    def _make_error(self, what: str, op: str | None = None, do: str = "") -> BadInput:
        return BadInput(what, Where(file=self._where.file, op=op), do=do or "correct the XML file")


def _with_backends(op: OpDef, more: tuple[str, ...]) -> OpDef:
    named = tuple(dict.fromkeys((*op.backends, *more)))
    return OpDef(op.name, op.description, op.inputs, op.outputs, op.params, named, op.is_default_translation)


def _read_text(item: Element, path: str) -> str:
    found = item.find(path)
    return "" if found is None else (found.text or "").strip()


def _parse_value(text: str, words: tuple[str, ...]) -> Any:
    """A Default: a tensor in braces or brackets, a number, true or false, a word of its list, or a string."""
    if text in words:
        return words.index(text)
    inner = text.strip("{}[] ")
    if text[:1] in {"{", "["}:
        return [_number(part.strip(" {}[]")) for part in inner.split(",") if part.strip(" {}[]")]
    if text.lower() in {"true", "false"}:
        return int(_TRUTH[text.lower()])
    return _number(text)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
