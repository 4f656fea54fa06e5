"""Statements of TorchScript code: calls are followed, branches and loops resolved for the given inputs."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.core.errors import LimitExceeded, UnsupportedOp, Where, locate_problem, shown
from edgewright.frontends.pytorch.script_code import Function
from edgewright.frontends.pytorch.script_expressions import Expressions, Frame, Raised
from edgewright.frontends.pytorch.script_objects import Objects, Record
from edgewright.frontends.pytorch.script_ops import branch_values
from edgewright.frontends.pytorch.tracer import Tracer
from edgewright.frontends.pytorch.values import Tensor

MOST_TRIPS = 20_000
# Functions that call each other, modules in modules.
DEEPEST_CALL = 60
# What a block that does not return gives back.
GOES_ON: Any = object()


class Walk(Expressions):
    """One pass over a program."""

    _depth = 0

    def call_function(
        self, function: Function, args: Sequence[Any], named: Mapping[str, Any], owner: Record | None
    ) -> Any:
        """The result of a function of the archive."""
        if self._depth >= DEEPEST_CALL:
            raise LimitExceeded(
                f"calls are nested more than {DEEPEST_CALL} levels deep",
                Where(file=self.tracer.file, detail=shown(function.name)),
                do="check where the file comes from",
            )
        frame = Frame(owner, self._bind(function, args, named))
        self._depth += 1
        try:
            result = self.run(function.body, frame)
        finally:
            self._depth -= 1
        return None if result is GOES_ON else result

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> Any:
        """What a block returns, or GOES_ON."""
        for statement in statements:
            self.count_step()
            result = self._step(statement, frame)
            if result is not GOES_ON:
                return result
        return GOES_ON

    def _bind(self, function: Function, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = [item.name for item in function.arguments]
        if len(args) > len(names) or not set(named) <= set(names):
            raise self.refuse(f"'{shown(function.name)}' is called with too many arguments")
        values = {**dict(zip(names, args, strict=False)), **named}
        for item in function.arguments:
            if item.name not in values:
                if item.default is None:
                    raise self.refuse(f"'{shown(function.name)}' is called without '{shown(item.name)}'")
                values[item.name] = self.evaluate(item.default, Frame(None))
        return values

    def _step(self, statement: ast.stmt, frame: Frame) -> Any:
        if isinstance(statement, ast.Return):
            return None if statement.value is None else self.evaluate(statement.value, frame)
        if isinstance(statement, ast.If):
            return self._branch(statement, frame)
        if isinstance(statement, ast.For | ast.While):
            return self._loop(statement, frame)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            self._assign(statement, frame)
        elif isinstance(statement, ast.Expr):
            self.evaluate(statement.value, frame)
        elif isinstance(statement, ast.With):
            return self._enter(statement, frame)
        elif not isinstance(statement, ast.Pass):
            raise self.refuse_form(statement)
        return GOES_ON

    def _assign(self, statement: ast.Assign | ast.AnnAssign, frame: Frame) -> None:
        if statement.value is None:
            return
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(statement.value, ast.Call):
            value = self.call(statement.value, frame, _find_hint(target))
        else:
            value = self.evaluate(statement.value, frame)
        self._store(target, value, frame)

    def _store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, list | tuple) or len(value) != len(target.elts):
                raise Raised(f"{len(target.elts)} values are expected, others come")
            for item, part in zip(target.elts, value, strict=True):
                self._store(item, part, frame)
        elif isinstance(target, ast.Attribute):
            record = self.evaluate(target.value, frame)
            if not isinstance(record, Record):
                raise self.refuse(f"the program sets '{shown(target.attr)}' of what is no object")
            self.objects.write(record, target.attr, value)
        else:
            raise self.refuse_form(target)

    def _enter(self, statement: ast.With, frame: Frame) -> Any:
        """Settings of gradients mean nothing here; other contexts would run methods of the program."""
        for item in statement.items:
            context = self.evaluate(item.context_expr, frame)
            name = context.class_name if isinstance(context, Record) else ""
            if not name.startswith("__torch__.torch.autograd.") or item.optional_vars is not None:
                raise self.refuse(f"the program enters a context '{shown(name)}'")
        return self.run(statement.body, frame)

    def _branch(self, statement: ast.If, frame: Frame) -> Any:
        condition = self.evaluate(statement.test, frame)
        if isinstance(condition, Tensor) and condition.data is not None:
            condition = bool(condition.data)
        if not isinstance(condition, Tensor):
            return self.run(statement.body if condition else statement.orelse, frame)
        self._follow_both(condition, statement, frame)
        return GOES_ON

    def _follow_both(self, condition: Tensor, statement: ast.If, frame: Frame) -> None:
        """A branch on data: both ways are followed and each result is chosen at run time."""
        changes = _Changes(self.tracer, self.objects, frame)
        ways: list[dict[str, Any] | None] = []
        for block in (statement.body, statement.orelse):
            inner = Frame(frame.owner, dict(frame.names))
            try:
                if self.run(block, inner) is not GOES_ON:
                    raise self._refuse_branch("returns", frame)
                ways.append(inner.names)
            except Raised:
                # A check of the data: the way that raises is not taken.
                ways.append(None)
            if changes.are_there():
                raise self._refuse_branch("changes the model's state, a list, or a tensor in place", frame)
        first, second = ways
        if first is None or second is None:
            left = first if second is None else second
            if left is None:
                raise Raised("both ways of a branch raise an exception")
            frame.names = left
            return
        self._choose(condition, statement, frame, first, second)

    def _choose(
        self,
        condition: Tensor,
        statement: ast.If,
        frame: Frame,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
    ) -> None:
        assigned = [_list_assigned(block) for block in (statement.body, statement.orelse)]
        names = [name for name in assigned[0] if name in assigned[1]]
        hint = next((name for name in names if _is_telling(name)), "")
        label = self._label("prim::if", frame, hint)
        ways = [[way[name] for name in names] for way in (first, second)]
        chosen = branch_values(self.tracer, condition, ways[0], ways[1], label)
        # What only one way gives a value to has none behind the branch.
        for name in {*assigned[0], *assigned[1]}:
            frame.names.pop(name, None)
        frame.names.update(zip(names, chosen, strict=True))

    def _refuse_branch(self, what: str, frame: Frame) -> Exception:
        return locate_problem(
            UnsupportedOp(f"a branch that depends on the input's data {what}"),
            Where(file=self.tracer.file, op="prim::If", node=self._label("prim::if", frame, "")),
        )

    def _loop(self, statement: ast.For | ast.While, frame: Frame) -> Any:
        trips = iter(self._list_trips(statement, frame)) if isinstance(statement, ast.For) else None
        for count in range(MOST_TRIPS + 1):
            if trips is not None:
                place = next(trips, None)
                if place is None:
                    return GOES_ON
                assert isinstance(statement, ast.For)
                self._store(statement.target, place, frame)
            elif not self._decide(statement, frame):
                return GOES_ON
            if count == MOST_TRIPS:
                raise UnsupportedOp(f"a loop runs more than {MOST_TRIPS} times", Where(file=self.tracer.file))
            result = self.run(statement.body, frame)
            if result is not GOES_ON:
                return result
        return GOES_ON

    def _list_trips(self, statement: ast.For, frame: Frame) -> Sequence[int]:
        trips = self.evaluate(statement.iter, frame)
        if not isinstance(trips, range):
            raise self.refuse("a loop runs over something else than a range")
        return trips

    def _decide(self, statement: ast.For | ast.While, frame: Frame) -> bool:
        assert isinstance(statement, ast.While)
        value = self.evaluate(statement.test, frame)
        if not isinstance(value, Tensor):
            return bool(value)
        if value.data is None:
            raise locate_problem(
                UnsupportedOp(
                    "how often a loop runs depends on the input's data",
                    do="script the model with a fixed number of steps",
                ),
                Where(file=self.tracer.file, op="prim::Loop", node=self._label("prim::loop", frame, "")),
            )
        return bool(value.data)


class _Changes:
    """Tells whether anything that was there before has changed since."""

    def __init__(self, tracer: Tracer, objects: Objects, frame: Frame) -> None:
        self._tracer, self._objects, self._frame = tracer, objects, frame
        self._writes = len(tracer.written), len(objects.written)
        self._born = Tensor(None).born, objects.count
        self._lists = self._list_contents()

    def are_there(self) -> bool:
        """Tensors, attributes of objects, lists and dictionaries: those that are new do not count."""
        tensors = self._tracer.written[self._writes[0] :]
        records = self._objects.written[self._writes[1] :]
        return (
            any(box.born < self._born[0] for box in tensors)
            or any(record.born < self._born[1] for record in records)
            or self._list_contents() != self._lists
        )

    def _list_contents(self) -> dict[int, list[int]]:
        contents: dict[int, list[int]] = {}
        waiting = list(self._frame.names.values())
        while waiting:
            value = waiting.pop()
            if not isinstance(value, list | tuple | dict) or id(value) in contents:
                continue
            items = [*value, *value.values()] if isinstance(value, dict) else list(value)
            contents[id(value)] = [id(item) for item in items]
            waiting += items
        return contents


def _find_hint(target: ast.expr) -> str:
    """The name that a result has in the program, where a person gave it one."""
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return next((n.id for n in names if isinstance(n, ast.Name) and _is_telling(n.id)), "")


def _is_telling(name: str) -> bool:
    """Whether it is more than a number: torch calls what has no name ``_0``, ``_1``, ..."""
    return not (name.startswith("_") and (name[1:].isdigit() or len(name) == 1))


def _list_assigned(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that a block and the blocks in it give values to."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return list(
        dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    )
