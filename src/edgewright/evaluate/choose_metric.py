"""Which metric suits a model and its data: classes only where the model shows them, else closeness."""

import math
from collections.abc import Mapping, Sequence

from edgewright.config.build import AUTO, split_metric
from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.core.words import did_you_mean, quote_names
from edgewright.data.labels import ARRAYS, BOXES, CLASSES, TEXTS, Labels
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.answers import RightAnswers, SameAnswers
from edgewright.evaluate.metrics.measure import ANY, Measure
from edgewright.evaluate.metrics.pixels import IntersectionOverUnion
from edgewright.evaluate.metrics.values import Closeness
from edgewright.evaluate.output_kinds import has_classes, has_codes, is_single_answer
from edgewright.evaluate.records import Metric
from edgewright.ir.graph import Graph

RIGHT, SAME, CLOSENESS, IOU = RightAnswers.name, SameAnswers.name, Closeness.name, IntersectionOverUnion.name
# What labels are good for, by their kind.
LABEL_USES = {
    CLASSES: "right-answers or top-5",
    ARRAYS: "iou, where they are the class of each pixel, box-iou, where they are boxes, or FILE.py:FUNCTION",
    TEXTS: "wer:ALPHABET.txt or cer:ALPHABET.txt, where the model has CTC outputs",
    BOXES: "map, for detections",
}


def choose_metric(
    graph: Graph, labels: Labels | None, requested: str = AUTO, outputs: Mapping[str, Array] | None = None
) -> Metric:
    """The metric that was asked for, or the one that the model and the data show.

    ``outputs`` of one sample show probabilities that the graph does not.
    """
    classes = [name for name in graph.outputs if has_classes(graph, name, (outputs or {}).get(name))]
    labelled = _list_labelled(graph, labels, classes)
    if requested == AUTO:
        return _choose(graph, labels, labelled, classes)
    pairs = split_metric(requested)
    _check_outputs(graph, pairs)
    chosen: dict[str, str] = {}
    for output, name in pairs.items():
        measure = find_measure(name)
        if measure.package:
            # At once, and not when the first sample is judged.
            require(measure.package, to=f"measure {name}")
        _check_labels(graph, measure, name, labels, labelled)
        fitting = [output] if output else _list_fitting(graph, measure, classes, labelled)
        if not fitting:
            raise UsageError(
                f"the metric '{shown(name)}' compares answers, and every output has a single value",
                do=f"choose another one, as in {spell_option('metric', CLOSENESS)}",
            )
        _check_shapes(graph, measure, fitting)
        chosen |= dict.fromkeys(fitting, name)
    return _make_metric(chosen)


def check_metric(graph: Graph, labels: Labels | None, requested: str) -> None:
    """Refuses what does not fit, before anything is run: also labels that no output has the classes of."""
    is_plain = requested == AUTO and labels is not None and labels.kind == CLASSES
    choose_metric(graph, labels, RIGHT if is_plain else requested)


def drop_labels(metric: Metric) -> Metric:
    """The metric where no labels are known: by the float model's answers."""
    names = {output: metric.find_name(output) for output in metric.outputs}
    return _make_metric(
        {
            output: (SAME if name == RIGHT else CLOSENESS) if find_measure(name).needs_labels else name
            for output, name in names.items()
        }
    )


def _make_metric(chosen: Mapping[str, str], reason: str = "") -> Metric:
    """One metric for all outputs, or each its own."""
    names = list(dict.fromkeys(chosen.values()))
    if len(names) == 1:
        return Metric(names[0], find_measure(names[0]).text, tuple(chosen), reason)
    texts = [f"{name}: {find_measure(name).text}" for name in names]
    spelled = ",".join(f"{output}={name}" for output, name in chosen.items())
    return Metric(spelled, "; ".join(texts), tuple(chosen), reason, tuple(chosen.values()))


def _choose(graph: Graph, labels: Labels | None, labelled: list[str], classes: list[str]) -> Metric:
    if labels is not None and labels.kind != CLASSES:
        return _choose_by_labels(graph, labels, classes, labelled)
    if labelled:
        best = labelled[0]
        others = _judge_by_kind(graph, [name for name in graph.outputs if name != best], classes)
        has = "has their classes" if _count_elements(graph, best) > 1 else "answers one of them"
        reason = f"labels are known and '{best}' {has}"
        if others:
            reason += "; the other outputs are compared with the float model's"
        return _make_metric({best: RIGHT, **others}, reason)
    unused = "" if labels is None else "; the labels are not used, for no output has their classes"
    if classes and len(classes) == len(graph.outputs):
        reason = f"every output holds probabilities or classes{unused}"
        return _make_metric(dict.fromkeys(classes, SAME), reason)
    chosen = _judge_by_kind(graph, graph.outputs, classes)
    if SAME in chosen.values():
        reason = f"whole numbers are answers, the other outputs need not be classes{unused}"
        return _make_metric(chosen, reason)
    reason = f"the outputs need not be classes{unused}"
    return _make_metric(chosen, reason if unused else reason + _offer_another(graph))


def _offer_another(graph: Graph) -> str:
    """The metric that may be meant where outputs are judged by their values."""
    if any(_is_single_map(shape) for shape in _list_shapes(graph).values()):
        return f"; {spell_option('metric', IOU)} compares the pixels of a mask, labels are better"
    if any(_count_elements(graph, name) > 1 for name in graph.outputs):
        return f"; {spell_option('metric', SAME)} compares the largest one, labels are better"
    return ""


def _is_single_map(shape: Sequence[int]) -> bool:
    """Whether it is an image of one channel: there is no class to be the largest one."""
    return len(shape) == 4 and 1 in {shape[1], shape[3]} and sum(size > 1 for size in shape[1:]) == 2


def _judge_by_kind(graph: Graph, outputs: Sequence[str], classes: list[str]) -> dict[str, str]:
    """Values by how close they are; numbers of classes beside them are right or wrong, and never near."""
    codes = {name for name in classes if has_codes(graph, name)}
    return {name: SAME if name in codes else CLOSENESS for name in outputs}


def _choose_by_labels(graph: Graph, labels: Labels, classes: list[str], labelled: list[str]) -> Metric:
    """Labels that are no classes say what is measured, where an output fits them."""
    name = {ARRAYS: IOU, BOXES: "map"}.get(labels.kind, "")
    if name:
        measure = find_measure(name)
        shapes = _list_shapes(graph)
        fitting = _list_fitting(graph, measure, classes, labelled)
        if fitting and not any(measure.find_misfit(shapes, output) for output in fitting):
            return _make_metric(dict.fromkeys(fitting, name), f"labels are {labels.kind}")
    raise UsageError(
        f"labels are {labels.kind}, and which outputs they are of cannot be told",
        do=f"say how they are used, as in {spell_option('metric', LABEL_USES[labels.kind])}",
    )


def _list_labelled(graph: Graph, labels: Labels | None, classes: list[str]) -> list[str]:
    """The outputs that labels are classes of, those that show classes first."""
    if labels is None or labels.kind != CLASSES:
        return []
    rows = [name for name in graph.outputs if _has_label_classes(graph, name, labels)]
    single = [name for name in graph.outputs if _can_answer_label(graph, name, labels)]
    return sorted(rows, key=lambda name: name not in classes) or single


def _list_fitting(graph: Graph, measure: Measure, classes: list[str], labelled: list[str]) -> list[str]:
    """Outputs with more than one value for answers, those that it can look at, all of them for values."""
    if measure.is_joint:
        return list(graph.outputs)[:1]
    if measure.needs_labels:
        return labelled[:1]
    if measure.is_share:
        return classes or [name for name in graph.outputs if _count_elements(graph, name) > 1]
    shapes = _list_shapes(graph)
    return [name for name in graph.outputs if not measure.find_misfit(shapes, name)] or list(graph.outputs)


def _check_outputs(graph: Graph, pairs: Mapping[str, str]) -> None:
    unknown = [name for name in pairs if name and name not in graph.outputs]
    if unknown:
        raise UsageError(
            f"the metric names '{shown(unknown[0])}', the model's outputs are {quote_names(graph.outputs)}",
            do=did_you_mean(unknown[0], list(graph.outputs)),
        )


def _check_shapes(graph: Graph, measure: Measure, outputs: Sequence[str]) -> None:
    shapes = _list_shapes(graph)
    for output in outputs:
        if misfit := measure.find_misfit(shapes, output):
            described = ", ".join(f"'{shown(name)}' {list(shape)}" for name, shape in shapes.items())
            raise UsageError(
                f"the metric '{shown(measure.name)}' cannot look at the outputs {described}: {misfit}",
                do=f"choose another metric, or name the output: {spell_option('metric', 'OUTPUT=NAME')}",
            )


def _check_labels(
    graph: Graph, measure: Measure, name: str, labels: Labels | None, labelled: list[str]
) -> None:
    """Labels of another kind than the metric takes are refused, and missing ones where it needs them."""
    if measure.needs_labels and labels is None:
        raise UsageError(
            f"the metric {shown(name)} needs labels, and none were found",
            do=f"give them with {spell_option('labels', 'FILE')}",
        )
    takes = measure.label_kind
    if labels is not None and takes not in {None, ANY, labels.kind}:
        raise UsageError(
            f"labels are {labels.kind}, the metric {shown(name)} takes {takes}",
            do=f"labels of this kind are for {spell_option('metric', LABEL_USES[labels.kind])}",
        )
    if measure.needs_labels and takes == CLASSES and labels is not None and not labelled:
        raise _make_label_error(graph, labels)


def _has_label_classes(graph: Graph, name: str, labels: Labels) -> bool:
    """Whether an output is one row of classes that the labels are numbers of."""
    shape = graph.types[name].static_shape()
    is_row = sum(size > 1 for size in shape) == 1
    return (
        is_row and _count_elements(graph, name) > labels.largest and graph.types[name].dtype.numpy.kind != "b"
    )


def _can_answer_label(graph: Graph, name: str, labels: Labels) -> bool:
    """Whether an output is the number of a class, or of two classes the probability of the second."""
    return is_single_answer(graph, name) and (has_codes(graph, name) or labels.largest == 1)


def _list_shapes(graph: Graph) -> dict[str, tuple[int, ...]]:
    return {name: graph.types[name].static_shape() for name in graph.outputs}


def _count_elements(graph: Graph, name: str) -> int:
    return math.prod(graph.types[name].static_shape())


def _make_label_error(graph: Graph, labels: Labels) -> UsageError:
    outputs = ", ".join(f"'{name}' {list(shape)}" for name, shape in _list_shapes(graph).items())
    other = SAME if any(_count_elements(graph, name) > 1 for name in graph.outputs) else CLOSENESS
    return UsageError(
        f"labels reach up to {labels.largest}, expected an output with one row of more classes, "
        f"found {outputs}",
        do=f"check that the labels are numbers of classes from 0, or use {spell_option('metric', other)}",
    )
