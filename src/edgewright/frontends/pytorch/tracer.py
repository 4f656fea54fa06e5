"""Follows a program op by op: computes what is known, translates what depends on the inputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from edgewright.config.spelling import advise_cut, spell_option
from edgewright.core.errors import (
    BadInput,
    EdgewrightError,
    LimitExceeded,
    UnsupportedOp,
    Where,
    locate_problem,
    shown,
)
from edgewright.frontends.pytorch.context import RANDOM_ADVICE, Context
from edgewright.frontends.pytorch.evaluation import (
    LARGEST_CONSTANT,
    UNFILLED,
    Budget,
    check_arguments,
    find_danger,
    find_reason,
)
from edgewright.frontends.pytorch.package_ops import (
    find_package_definition,
    infer_by_package,
    write_package_op,
)
from edgewright.frontends.pytorch.quantized import PackedWeights, with_encoding
from edgewright.frontends.pytorch.registry import find, find_whole
from edgewright.frontends.pytorch.values import Tensor, as_array, list_boxes, replace_tensors
from edgewright.ops.package import PackageOpDefinition

WITH_MASK = "_cachemask"
# Ops of real numbers whose results can be complex.
MAY_MAKE_COMPLEX = frozenset(
    {
        *("aten::_fft_r2c", "aten::view_as_complex", "aten::complex", "aten::polar"),
        *("aten::to", "aten::_to_copy", "aten::mul", "aten::add", "aten::sub", "aten::div"),
    }
)
# Never computed here: what they say of weights are encodings.
ENCODINGS = "quantized_decomposed::"
RESHAPE_IN_PLACE = frozenset({"aten::transpose_", "aten::t_", "aten::unsqueeze_", "aten::squeeze_"})
# What torch, and a translation of arguments that make no sense, raise.
REFUSALS = (
    *(RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError),
    *(ArithmeticError, AssertionError),
)
MOST_CALLS = 100_000
# Ops that torch cannot foresee on types alone; their results are like their first argument.
LIKE_FIRST = frozenset({"aten::fake_quantize_per_tensor_affine", "aten::fake_quantize_per_channel_affine"})


class Stopped(Exception):
    """The walk cannot go on behind an op that is not supported; the problem is noted."""


@dataclass(frozen=True)
class Call:
    """What became of one op of the program: the ONNX nodes from ``first`` to ``last``, or a problem."""

    op: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    first: int
    last: int
    problem: EdgewrightError | None = None
    # Weights that it reads.
    stored: tuple[str, ...] = ()
    # Whether it needs the results of an op that is not supported.
    is_behind: bool = False

    def moved(self, places: Sequence[int]) -> "Call":
        """The call once nodes were left out: ``places`` are the new ones."""
        first, last = places[self.first], places[self.last]
        return replace(self, first=first, last=last, is_behind=first == last and self.first < self.last)


class Tracer:
    """One walk through one program."""

    def __init__(self, torch: Any, file: str, *, is_run: bool = False) -> None:
        self.torch = torch
        # Whether the program is computed, not translated: then all of it is known.
        self._is_run = is_run
        self.ctx = Context(torch)
        self.file = file
        self.calls: list[Call] = []
        self.problems: list[EdgewrightError] = []
        # Tensors that were changed in place, one entry each time.
        self.written: list[Tensor] = []
        self._depth = 0
        self._count = 0
        self._budget = Budget()

    def known(self, data: Any, path: str = "") -> Tensor:
        """A constant of the program."""
        # Torch has no quantized tensors without values.
        like = self.torch.empty(data.shape, device="meta") if data.is_quantized else data.detach().to("meta")
        box = Tensor(like, data.detach())
        box.path = path
        return box

    def input(self, name: str, shape: Sequence[int], dtype: Any) -> Tensor:
        """An input of the program."""
        self.ctx.writer.free(name)
        try:
            meta = self.torch.empty(tuple(shape), dtype=dtype, device="meta")
        except (RuntimeError, TypeError, ValueError, OverflowError) as problem:
            raise BadInput(
                f"no tensor has the shape {shown(list(shape), 80)}", Where(file=self.file, tensor=name)
            ) from problem
        return Tensor(meta, name=name)

    def call(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], label: str = "") -> Any:
        """The results of an op; a problem with it is noted, and the walk goes on where types are known."""
        self._count += 1
        if self._count > MOST_CALLS:
            raise LimitExceeded(
                f"the program calls more than {MOST_CALLS} ops", do="lower the trip counts of its loops"
            )
        if self._depth:
            return self._call(op, args, kwargs)
        first = len(self.ctx.writer.nodes)
        self.ctx.writer.label = label or op.name()
        where = Where(file=self.file, op=_name_op(op), node=self.ctx.writer.label)
        problem: EdgewrightError | None = None
        read = tuple(box.name or "" for box in list_boxes([args, kwargs]) if box.data is None)
        try:
            results = self._call(op, args, kwargs)
        except UnsupportedOp as found:
            problem = locate_problem(found, where)
            self.problems.append(problem)
            results = self._make_placeholders(op, args, kwargs)
        except EdgewrightError as found:
            raise locate_problem(found, where) from found.__cause__
        made = [box for box in list_boxes(results) if box.data is None]
        outputs = self._name_values(made, first)
        if made or problem is not None:
            last = len(self.ctx.writer.nodes)
            weights = [box.name for box in list_boxes([args, kwargs]) if box.data is not None and box.path]
            stored = tuple(filter(None, weights))
            self.calls.append(
                Call(where.op or "", self.ctx.writer.label, read, outputs, first, last, problem, stored)
            )
        if problem is not None and results is None:
            raise Stopped
        return results

    def compute(self, op: Any, *args: Any) -> Any:
        """The results of another op that is part of the one being translated."""
        return self._call(op, args, {})

    def refresh(self, box: Tensor) -> None:
        """Brings a view up to date with what was written into its root."""
        root = box.root
        if root.was_changed:
            raise UnsupportedOp(
                "a tensor is read that may have been changed in place: a branch on the input's data decides",
                do=advise_cut("change tensors in place before such a branch, or not at all"),
            )
        if box is root or box.seen == root.version:
            return
        box.seen = root.version
        if root.data is not None:
            box.data, box.name = self._repeat_view(box, root.data), None
            return
        indices = self._repeat_view(box, self._number_elements(root)).reshape(-1)
        flat = self.ctx.reshape(root.name, [-1])
        picked = self.ctx.add("Gather", flat, as_array(indices), axis=0)
        box.data, box.name = None, self.ctx.reshape(picked, box.shape)

    def _call(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        for box in list_boxes([args, kwargs]):
            self.refresh(box)
        whole = find_whole(op._schema.name)
        if whole is not None and not self._is_run:
            return self._run_whole(op, whole, args, kwargs)
        return with_encoding(self, op._schema.name, args, self._run_op(op, args, kwargs))

    def _run_whole(self, op: Any, handler: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
        before, self.ctx.op = self.ctx.op, _name_op(op)
        try:
            with _explain_torch_errors(op):
                return handler(self, *_order_arguments(op, args, kwargs))
        finally:
            self.ctx.op = before

    def _run_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        args = self._without_masks(op, args)
        if _is_in_place(op):
            return self._run_in_place(op, args, kwargs)
        is_kept = (op._schema.name.startswith(ENCODINGS) or self._is_random(op)) and not self._is_run
        if all(box.data is not None for box in list_boxes([args, kwargs])) and not is_kept:
            return self._evaluate_op(op, args, kwargs)
        return self._translate_op(op, args, kwargs)

    def _is_random(self, op: Any) -> bool:
        return self.torch.Tag.nondeterministic_seeded in op.tags

    def _without_masks(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """Known masks as the places that they pick: how many those are is then known too."""
        if not op._schema.name.startswith(("aten::index", "aten::_unsafe_index")):
            return args
        if len(args) < 2 or not isinstance(args[1], list | tuple):
            return args
        places: list[Any] = []
        for item in args[1]:
            is_mask = isinstance(item, Tensor) and item.data is not None and item.dtype == self.torch.bool
            places += [self.known(p) for p in item.data.nonzero(as_tuple=True)] if is_mask else [item]
        return [args[0], places, *args[2:]]

    def _evaluate_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Computes an op whose arguments are all known, once its results are known to be of bearable size."""
        reason = find_reason(self.torch, op, is_run=self._is_run)
        if reason:
            raise self._make_unknown_op_error(op, reason)
        check_arguments(op, args)
        sizes = self._infer_results(op, args, kwargs, is_needed=False)
        metas = _flatten_results(self.torch, sizes)
        largest = max((int(meta.numel()) for meta in metas), default=0)
        if largest > LARGEST_CONSTANT:
            raise LimitExceeded(f"a constant of {largest} elements is asked for, at most {LARGEST_CONSTANT}")
        if not self._is_run and not _is_view(op):
            self._budget.spend(op, args, metas)
        results = self._run(op, self._move_arguments(args, "cpu"), self._move_arguments(kwargs, "cpu"))
        if op._schema.name in UNFILLED:
            results = self.torch.zeros_like(results)
        boxed = _box_results(self.torch, results, self.known)
        return self._as_views(op, args, kwargs, boxed)

    def _translate_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        is_complex = self._is_complex(op, args, kwargs)
        handler = find(op.name(), is_complex=is_complex)
        definition = find_package_definition(op)
        if definition is not None:
            return self._of_package(op, definition, args, kwargs)
        if handler is None and not any("Tensor" in str(item.type) for item in op._schema.returns):
            return self._infer_results(op, args, kwargs)
        if handler is None:
            return self._decompose_op(op, args, kwargs)
        metas = self._infer_results(op, args, kwargs)
        before = self.ctx.out, self.ctx.op
        self.ctx.out, self.ctx.op = _flatten_results(self.torch, metas), _name_op(op)
        try:
            with _explain_torch_errors(op):
                names = handler(self.ctx, *_order_arguments(op, args, kwargs))
        finally:
            self.ctx.out, self.ctx.op = before
        given = iter([names] if isinstance(names, str) else names)
        boxed = _box_results(self.torch, metas, lambda meta: Tensor(meta, name=next(given, None)))
        return self._as_views(op, args, kwargs, boxed)

    def _is_complex(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether an op has complex numbers as arguments or makes them."""
        if any(box.dtype.is_complex for box in list_boxes([args, kwargs])):
            return True
        if op._schema.name not in MAY_MAKE_COMPLEX:
            return False
        metas = self._infer_results(op, args, kwargs, is_needed=False)
        return any(meta.is_complex() for meta in _flatten_results(self.torch, metas))

    def _of_package(
        self, op: Any, definition: PackageOpDefinition, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """An op that a package describes, as it is."""
        names = [item.name for item in op._schema.arguments]
        arguments = dict(zip(names, _order_arguments(op, args, kwargs), strict=True))
        try:
            metas = self._infer_results(op, args, kwargs)
        except EdgewrightError as problem:
            metas = infer_by_package(self.torch, definition, arguments, problem)
        made = iter(write_package_op(self.ctx, definition, arguments, _flatten_results(self.torch, metas)))
        return _box_results(self.torch, metas, lambda meta: Tensor(meta, name=next(made)))

    def _decompose_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An op without a translation, by torch's own definition of it in terms of others."""
        from edgewright.frontends.pytorch.decompose import find_definition, record_definition

        body = find_definition(self.torch, op)
        if body is None or self._depth > 20:
            raise self._make_unknown_op_error(op, "has no translation")
        self._depth += 1
        try:
            with _explain_torch_errors(op):
                return record_definition(self, body, args, kwargs)
        finally:
            self._depth -= 1

    def _run_in_place(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The op that makes a new tensor, then that tensor written into the first argument."""
        target = args[0]
        if not isinstance(target, Tensor):
            raise self._make_unknown_op_error(op, "changes something else than a tensor")
        if op._schema.name in RESHAPE_IN_PLACE:
            return self._reshape_in_place(op, target, args, kwargs)
        result = self._call(self._find_functional(op), args, kwargs)
        if isinstance(result, Tensor):
            self._write(target, result)
        return target

    def _reshape_in_place(
        self, op: Any, target: Tensor, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Tensor:
        """The tensor itself gets the shape of a view of what it was."""
        before = Tensor(self.torch.empty_like(target.meta), target.data, target.name)
        before.parent, before.how, before.seen = target.parent, target.how, target.seen
        packet = getattr(self.torch.ops.aten, op._schema.name.split("::")[1].removesuffix("_"))
        overload = next(name for name in ("int", "dim", "default") if hasattr(packet, name))
        result = self._call(getattr(packet, overload), [before, *args[1:]], kwargs)
        # The same torch tensor, too: whoever holds it sees the new shape.
        op(target.meta, *args[1:], **kwargs)
        target.data, target.name, target.version = result.data, result.name, before.version
        self.written.append(target)
        return target.as_view_of(before, result.how)

    def _find_functional(self, op: Any) -> Any:
        packet = op._schema.name.split("::")[1].removesuffix("_")
        found = getattr(getattr(self.torch.ops.aten, packet, None), op._overloadname, None)
        if found is None:
            raise self._make_unknown_op_error(op, "changes a tensor in place")
        return found

    def _write(self, target: Tensor, result: Tensor) -> None:
        root = target.root
        is_known = result.data is not None and root.data is not None
        if is_known:
            new = self.torch.broadcast_to(result.data.to(target.dtype), target.shape).clone()
        else:
            name = self.ctx.value(result, target.dtype)
            if result.shape != target.shape:
                name = self.ctx.add("Expand", name, self.ctx.ints(target.shape))
        if target is root:
            target.data, target.name = (new, None) if is_known else (None, name)
        elif is_known:
            whole = root.data.clone()
            self._repeat_view(target, whole).copy_(new)
            root.data, root.name = whole, None
            target.data, target.name = new, None
        else:
            indices = self._repeat_view(target, self._number_elements(root)).reshape(-1)
            flat = self.ctx.reshape(self.ctx.value(root), [-1])
            parts = self.ctx.reshape(name, [-1])
            whole_name = self.ctx.add("ScatterElements", flat, as_array(indices), parts, axis=0)
            root.data, root.name = None, self.ctx.reshape(whole_name, root.shape)
            target.data, target.name = None, name
        root.version += 1
        target.seen = root.version
        self.written.append(root)
        for other in root.shared:
            other.was_changed = True

    def _number_elements(self, root: Tensor) -> Any:
        """Each element's place, in the shape of the tensor: what a view makes of it tells what it views."""
        if root.count > LARGEST_CONSTANT:
            raise LimitExceeded(f"a tensor of {root.count} elements is changed in place")
        return self.torch.arange(root.count).reshape(root.shape)

    def _repeat_view(self, box: Tensor, root_data: Any) -> Any:
        if box.parent is None or box.how is None:
            return root_data
        return box.how(self._repeat_view(box.parent, root_data))

    def _as_views(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], results: Any) -> Any:
        """Results that share their argument's memory, marked as its views."""
        if not args or not isinstance(args[0], Tensor) or not _is_view(op):
            return results
        base = args[0]

        def made(index: int | None) -> Callable[[Any], Any]:
            def how(data: Any) -> Any:
                plain = self._move_arguments(args[1:], "cpu")
                found = op(data, *plain, **self._move_arguments(kwargs, "cpu"))
                return found if index is None else found[index]

            return how

        if isinstance(results, Tensor):
            return results if results is base else results.as_view_of(base, made(None))
        for index, item in enumerate(results):
            item.as_view_of(base, made(index))
        return results

    def _infer_results(
        self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, is_needed: bool = True
    ) -> Any:
        """What torch says of the results' types, without computing them."""
        if op._schema.name.removesuffix(WITH_MASK) in LIKE_FIRST:
            like = self.torch.empty_like(args[0].meta)
            return (like, like.to(self.torch.bool)) if op._schema.name.endswith(WITH_MASK) else like
        # A view of what lies elsewhere in memory is a copy: where things lie has no meaning here.
        op = self.torch.ops.aten.reshape.default if op.name() == "aten::view" else op
        try:
            named = self._move_arguments(kwargs, "meta")
            if any(item.name == "device" and item.kwarg_only for item in op._schema.arguments):
                # Without a device a tensor would be made, whatever its size.
                named["device"] = self.torch.device("meta")
            return self._run(op, self._move_arguments(args, "meta"), named)
        except EdgewrightError as problem:
            if not is_needed:
                return []
            raise problem from None

    def _run(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        reason = find_danger(op)
        if reason:
            raise self._make_unknown_op_error(op, reason)
        with _explain_torch_errors(op), self.torch.no_grad():
            return op(*args, **kwargs)

    def _move_arguments(self, value: Any, device: str) -> Any:
        """Arguments as torch takes them, all tensors on one device."""
        plain = replace_tensors(value, lambda box: box.meta if device == "meta" else box.data)
        return _move_to_device(plain, self.torch, device)

    def _make_placeholders(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Results of an op that is not supported: types are enough to look at what follows."""
        try:
            metas = self._infer_results(op, args, kwargs)
        except EdgewrightError:
            return None
        free = self.ctx.writer.free
        return _box_results(self.torch, metas, lambda meta: Tensor(meta, name=free(self.ctx.writer.label)))

    def _name_values(self, made: Sequence[Tensor], since: int) -> tuple[str, ...]:
        """The values that an op made, named after it."""
        writer = self.ctx.writer
        for box in made:
            if box.name is not None and box.name.startswith(f"{writer.label}/"):
                box.name = writer.rename(box.name, writer.label, since)
        return tuple(box.name or "" for box in made)

    def _make_unknown_op_error(self, op: Any, reason: str) -> UnsupportedOp:
        if self._is_random(op):
            return UnsupportedOp(
                f"PyTorch op '{_name_op(op)}' is not supported here: its results are random", do=RANDOM_ADVICE
            )
        return UnsupportedOp(
            f"PyTorch op '{_name_op(op)}' {reason}",
            do=advise_cut(),
        )


@contextmanager
def _explain_torch_errors(op: Any) -> Iterator[None]:
    """Inside, what torch raises is said as what it means: data decides a size, or inputs do not fit."""
    try:
        yield
    except NotImplementedError as problem:
        raise UnsupportedOp(
            f"PyTorch op '{_name_op(op)}' has a result whose size depends on the input's data",
            do=advise_cut(),
        ) from problem
    except REFUSALS as problem:
        if "data-dependent" in str(problem) or "meta" in str(problem):
            raise UnsupportedOp(
                f"PyTorch op '{_name_op(op)}' depends on the input's data: {_take_first_line(problem)}",
                do=advise_cut(),
            ) from problem
        raise BadInput(
            f"torch refuses '{_name_op(op)}' for these inputs: {_take_first_line(problem)}",
            do=f"check the shapes and types of the inputs ({spell_option('input_shapes')}, "
            f"{spell_option('input_dtypes')})",
        ) from problem


def _name_op(op: Any) -> str:
    return str(op.name()).removesuffix(".default")


def _is_in_place(op: Any) -> bool:
    name = op._schema.name.split("::")[-1]
    return name.endswith("_") and not name.endswith("__") and op._schema.is_mutable


def _is_view(op: Any) -> bool:
    """Whether results share memory with the first argument."""
    info = [item.alias_info for item in op._schema.returns]
    return bool(info) and info[0] is not None and not info[0].is_write


def _order_arguments(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """All arguments in the order of the schema, defaults filled in."""
    schema = op._schema.arguments
    rest = [kwargs.get(item.name, item.default_value) for item in schema[len(args) :]]
    return [*args, *rest]


def _flatten_results(torch: Any, results: Any) -> list[Any]:
    if isinstance(results, torch.Tensor):
        return [results]
    if isinstance(results, list | tuple):
        return [tensor for item in results for tensor in _flatten_results(torch, item)]
    return []


def _box_results(torch: Any, results: Any, box: Callable[[Any], Tensor]) -> Any:
    if isinstance(results, torch.Tensor):
        return box(results)
    if isinstance(results, list | tuple):
        return (
            type(results)(_box_results(torch, item, box) for item in results)
            if type(results) in (list, tuple)
            else tuple(_box_results(torch, item, box) for item in results)
        )
    return results


def _move_to_device(value: Any, torch: Any, device: str) -> Any:
    if isinstance(value, torch.device):
        return torch.device(device)
    if isinstance(value, PackedWeights) and device == "cpu":
        return value.pack(torch)
    if isinstance(value, list):
        return [_move_to_device(item, torch, device) for item in value]
    if isinstance(value, tuple):
        return tuple(_move_to_device(item, torch, device) for item in value)
    if isinstance(value, Mapping):
        return {key: _move_to_device(item, torch, device) for key, item in value.items()}
    return value


def _take_first_line(problem: Exception) -> str:
    return shown(str(problem).strip().split("\n", maxsplit=1)[0], 300)
