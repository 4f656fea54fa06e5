"""Dimensions that may be symbolic: integers, or polynomials over named symbols with a canonical form."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import Union

from edgewright.core.errors import ShapeMismatch

Dim = Union[int, "Expr"]
Shape = tuple[Dim, ...]

# A monomial is a sorted tuple of atoms (repeated for powers); an atom is a symbol's name or a function.
Atom = Union[str, "_Call"]
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class _Call:
    """A function of dimensions that no polynomial expresses: floor division, remainder, maximum."""

    function: str
    arguments: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(a) for a in self.arguments)})"


@dataclass(frozen=True, eq=False)
class Expr:
    """A symbolic dimension. Equal expressions have equal terms."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return _build(_sum(_terms(self), _terms(other)))

    def __mul__(self, other: Dim) -> Dim:
        product: dict[Monomial, int] = {}
        for left, a in _terms(self).items():
            for right, b in _terms(other).items():
                key = tuple(sorted(left + right, key=str))
                product[key] = product.get(key, 0) + a * b
        return _build(product)

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    def __floordiv__(self, other: Dim) -> Dim:
        return _divide(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return _divide(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - (self // other) * other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __int__(self) -> int:
        raise TypeError(f"dimension '{self}' is symbolic")

    __index__ = __int__

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return "+".join(_term_text(monomial, factor) for monomial, factor in self.terms).replace("+-", "-")

    __repr__ = __str__

    @property
    def symbols(self) -> frozenset[str]:
        """The names this dimension depends on."""
        return frozenset().union(*(_atom_symbols(a) for monomial, _ in self.terms for a in monomial))


def symbol(name: str) -> Expr:
    """The symbolic dimension named ``name``."""
    return Expr((((name,), 1),))


def is_static(shape: Iterable[Dim]) -> bool:
    """Whether every dimension is a number."""
    return all(isinstance(dim, int) for dim in shape)


def element_count(shape: Iterable[Dim]) -> Dim:
    """Product of all dimensions (1 for a scalar)."""
    count: Dim = 1
    for dim in shape:
        count = count * dim
    return count


def ceil_div(dim: Dim, divisor: int) -> Dim:
    """Quotient rounded up."""
    return (dim + (divisor - 1)) // divisor


def maximum(left: Dim, right: Dim) -> Dim:
    """The larger dimension; symbolic where that is not known, always written as ``b + max(a-b, 0)``."""
    difference = left - right
    for gap, larger in ((difference, left), (difference * -1, right)):
        low = lower_bound(gap)
        if low is not None and low >= 0:
            return larger
    if isinstance(left, int) or (isinstance(right, Expr) and str(left) < str(right)):
        left, right = right, left
    return _call("max", left - right, 0) + right


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller dimension; symbolic where that is not known."""
    return left + right - maximum(left, right)


def lower_bound(dim: Dim) -> int | None:
    """A lower bound if every symbol is 0 or more; None if none is found."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, factor in dim.terms:
        if factor < 0 and monomial:
            return _bound_without(dim, monomial, factor)
        lows = [_lowest(atom) for atom in monomial]
        if any(low < 0 for low in lows):
            return None
        total += reduce(lambda a, b: a * b, lows, factor)
    return total


def evaluate(dim: Dim, values: Mapping[str, int]) -> Dim:
    """The dimension with the given symbols replaced; a number when all are given."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, factor in dim.terms:
        total = (
            reduce(lambda product, atom: product * _evaluate_atom(atom, values), monomial, _as_dim(factor))
            + total
        )
    return total


_FUNCTIONS: dict[str, Callable[[Dim, Dim], Dim]] = {}


def _as_dim(number: int) -> Dim:
    return number


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> Dim:
    if isinstance(atom, str):
        return values[atom] if atom in values else symbol(atom)
    left, right = (evaluate(argument, values) for argument in atom.arguments)
    return _FUNCTIONS[atom.function](left, right)


def _lowest(atom: Atom) -> int:
    """A lower bound of one atom; -1 where none is known."""
    if isinstance(atom, str):
        return 0
    lows = [-1 if low is None else low for low in map(lower_bound, atom.arguments)]
    if atom.function == "max":
        return max(lows)
    divisor = atom.arguments[1]
    if isinstance(divisor, int) and divisor > 0:
        return lows[0] // divisor
    return 0 if min(lows) >= 0 else -1


def _bound_without(dim: Expr, monomial: Monomial, factor: int) -> int | None:
    """Bounds a dimension with a negative term: r - max(y, 0) is r or r - y, and -k*(x//k) is at least -x."""
    if len(monomial) != 1 or isinstance(monomial[0], str):
        return None
    first, second = monomial[0].arguments
    rest = dim + Expr(((monomial, -factor),))
    if monomial[0].function == "max":
        lows = [lower_bound(rest), lower_bound(rest + first * factor)]
        known = [low for low in lows if low is not None]
        return min(known) if len(known) == len(lows) else None
    if isinstance(second, int) and second > 0 and factor % second == 0:
        return lower_bound(rest + first * (factor // second))
    return None


def _call(function: str, left: Dim, right: Dim) -> Dim:
    return Expr((((_Call(function, (left, right)),), 1),))


def _terms(dim: Dim) -> dict[Monomial, int]:
    return dict(dim.terms) if isinstance(dim, Expr) else {(): int(dim)}


def _sum(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    for monomial, factor in right.items():
        left[monomial] = left.get(monomial, 0) + factor
    return left


def _build(terms: dict[Monomial, int]) -> Dim:
    kept = {monomial: factor for monomial, factor in terms.items() if factor}
    if not kept:
        return 0
    if list(kept) == [()]:
        return kept[()]
    return Expr(tuple(sorted(kept.items(), key=lambda item: (-len(item[0]), str(item[0])))))


def _divide(left: Dim, right: Dim) -> Dim:
    """Exact where the divisor is common to all terms, else an opaque floor division."""
    if right == 0:
        raise ShapeMismatch(
            f"a size is '{left}' divided by a dimension of 0",
            do="use inputs that are not empty, or give the size in the source model",
        )
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    if left == right:
        return 1
    exact = _exact_quotient(left, right)
    if exact is not None:
        return exact
    if isinstance(right, int) and right > 0:
        return _split_division(left, right)
    return _call("floordiv", left, right)


def _split_division(left: Dim, right: int) -> Dim:
    """(k*a + r) // k is a + r // k: exact parts are taken out, so that equal sizes look equal."""
    whole = {m: f for m, f in _terms(left).items() if f % right == 0 and m != ()}
    rest = {m: f for m, f in _terms(left).items() if m not in whole}
    constant = rest.pop((), 0)
    whole[()] = constant // right * right
    rest[()] = constant % right
    outside = _build({m: f // right for m, f in whole.items()})
    inside = _build(rest)
    if isinstance(inside, int):
        return outside + inside // right
    common = gcd(right, *(f for f in _terms(inside).values()))
    if common > 1:
        inside, right = _build({m: f // common for m, f in _terms(inside).items()}), right // common
    return _call("floordiv", inside, right) + outside


def _exact_quotient(left: Dim, right: Dim) -> Dim | None:
    divisor = _terms(right)
    if len(divisor) != 1:
        return None
    ((atoms, number),) = divisor.items()
    quotient: dict[Monomial, int] = {}
    for monomial, factor in _terms(left).items():
        remaining = list(monomial)
        for atom in atoms:
            if atom not in remaining:
                return None
            remaining.remove(atom)
        if number == 0 or factor % number:
            return None
        quotient[tuple(remaining)] = factor // number
    return _build(quotient)


def _term_text(monomial: Monomial, factor: int) -> str:
    atoms = "*".join(str(atom) for atom in monomial)
    if not atoms:
        return str(factor)
    return atoms if factor == 1 else f"{factor}*{atoms}"


def _atom_symbols(atom: Atom) -> frozenset[str]:
    if isinstance(atom, str):
        return frozenset({atom})
    return frozenset().union(*(a.symbols for a in atom.arguments if isinstance(a, Expr)))


_FUNCTIONS.update(floordiv=_divide, max=maximum)
