"""The first lines of the report: what was built, how accurate it is, what is worst and what to do."""

from dataclasses import dataclass
from pathlib import PurePath

from edgewright.analyse.records import Finding, Layer
from edgewright.build.candidates import AS_GIVEN
from edgewright.build.measured_advice import CHOICE, NO_PRECISION
from edgewright.build.records import BuildRecord, Candidate
from edgewright.config.spelling import spell_option
from edgewright.core.quantities import format_bytes
from edgewright.evaluate.records import Accuracy, Loss, shorten_metric_name
from edgewright.evaluate.verdict import DISAGREEMENT, MET, MISSED, NO_EMULATION, NO_LIMIT, NOT_PROVEN
from edgewright.reports.html.words import (
    format_db,
    format_duration,
    format_limit,
    format_name,
    format_percent,
    format_points,
)

BACKENDS = {"float": "float model", "htp-sim": "simulation", "htp-native": "emulator"}
# Kinds of warnings that come before all figures: random data, no compiler.
DATA, ENVIRONMENT = "data", "environment"
NATIVE, SIMULATION = "htp-native", "htp-sim"
# What is said in large letters, and how it looks.
WORDS = {
    MET: ("limit met", "good"),
    NOT_PROVEN: ("not proven", "bad"),
    MISSED: ("limit missed", "bad"),
    NO_LIMIT: ("built", "plain"),
}
SCORES = {
    "right-answers": "right answers",
    "same-answers": "same answers as float",
    "closeness": "closeness",
}


@dataclass(frozen=True)
class Tile:
    """A figure in large print."""

    title: str
    figure: str
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Verdict:
    """A word, sentences, figures, and the first things to do."""

    word: str
    tone: str
    title: str
    sentences: tuple[str, ...]
    tiles: tuple[Tile, ...]
    # What heads the list of these.
    asking: str
    to_do: tuple[Finding, ...]


def make_verdict(record: BuildRecord) -> Verdict:
    """What a build came to."""
    word, tone = ("random data", "bad") if DATA in _map_warnings(record) else WORDS[record.verdict.word]
    model, chip = PurePath(record.source.file).stem, name_chip(record, is_short=True)
    title = f"{format_name(model)} for {format_name(chip)}"
    sentences = (
        _describe_measure(record),
        _describe_build(record),
        _describe_accuracy(record),
        *(f"{reason[:1].upper()}{reason[1:]}." for reason in record.verdict.reasons),
        _describe_worst_layer(record),
        _describe_next_step(record),
    )
    asking = "What to do first" if record.is_met is False else "What would make it better"
    return Verdict(
        word, tone, title, tuple(filter(None, sentences)), _make_tiles(record), asking, list_remedies(record)
    )


def name_chip(record: BuildRecord, *, is_short: bool = False) -> str:
    """The chip with its architecture, or as options name it."""
    plain, _, more = record.target.partition(" (")
    if is_short:
        return plain
    return record.target if more or not record.architecture else f"{plain} (Hexagon {record.architecture})"


def list_remedies(record: BuildRecord, count: int = 3) -> tuple[Finding, ...]:
    """What can be done, the most serious first."""
    both = dict.fromkeys((*record.preflight.findings, *record.findings))
    serious = [f for f in both if f.grade != "note" and f.do]
    return tuple(sorted(serious, key=lambda finding: finding.grade != "error")[:count])


def choose_headline(record: BuildRecord) -> Accuracy | None:
    """The figure that the verdict is drawn from: of the output that loses most, nearest to a device."""
    loss = record.verdict.loss
    rows = [item for item in record.accuracy if item.score is not None and item.backend == loss.backend]
    return min(rows, key=lambda item: item.output != loss.output, default=None)


def find_chosen_candidate(record: BuildRecord) -> Candidate | None:
    """The precision that was taken."""
    return next((candidate for candidate in record.candidates if candidate.is_chosen), None)


def find_worst_layer(record: BuildRecord) -> Layer | None:
    """The layer that adds most noise by itself; where that is not known, the one farthest away."""
    own = {layer: layer.own_db for layer in record.layers if layer.own_db is not None}
    far = {layer: layer.sim_db for layer in record.layers if layer.sim_db is not None}
    noises = own or far
    return min(noises, key=lambda layer: noises[layer]) if noises else None


def _describe_measure(record: BuildRecord) -> str:
    """What is measured comes before all figures, and why where nobody asked for it."""
    why = f" ({record.metric.reason})" if record.metric.reason else ""
    return f"Measured by {format_name(record.metric.short_name)}: {record.metric.text}{why}."


def _describe_build(record: BuildRecord) -> str:
    asked = "" if record.chosen == record.precision else f" (asked for: {record.precision})"
    how = "with the encodings that it came with" if record.chosen == AS_GIVEN else f"in {record.chosen}"
    return f"{format_name(record.source.file)} was built for {format_name(name_chip(record))} {how}{asked}."


def _describe_accuracy(record: BuildRecord) -> str:
    best = choose_headline(record)
    if best is None:
        if not record.accuracy:
            return "Its accuracy was not measured."
        worst = min((a.sqnr_db for a in record.accuracy if a.sqnr_db is not None), default=None)
        return f"Its outputs are {format_db(worst)} from the float model's."
    text = f"On the {BACKENDS.get(best.backend, best.backend)} it {_describe_score(record, best)}"
    if best.low is not None and best.high is not None:
        text += f" (95 % interval {best.low:.2f} to {best.high:.2f}{_name_output(record, best)})"
    return f"{text}{_describe_loss(record)}."


def _describe_loss(record: BuildRecord) -> str:
    """What the float model has more on the same samples, and whether that is proven to be little enough."""
    loss = record.verdict.loss
    if not loss.samples:
        return ""
    lost = format_points(loss.points) if loss.points > 0.005 else "nothing"
    text = f", {lost} less than the float model on the same samples ({loss.low:.2f} to {loss.high:.2f})"
    if record.verdict.word != MET:
        return text
    return f"{text}: proven to be within the limit of {format_limit(record.max_drop or 0.0)}"


def _name_output(record: BuildRecord, best: Accuracy) -> str:
    """The output, where there are several."""
    count = len(record.metric.outputs)
    return f"; output '{format_name(best.output)}', the lowest of {count}" if count > 1 else ""


def _describe_score(record: BuildRecord, best: Accuracy) -> str:
    count = "one sample" if best.samples == 1 else f"{best.samples} samples"
    samples = f"{count} that neither calibrated nor chose"
    name = shorten_metric_name(record.metric.find_name(best.output))
    if name == "right-answers":
        return f"answers {format_percent(best.score)} of {samples} correctly"
    if name == "same-answers":
        return f"gives the float model's answer for {format_percent(best.score)} of {samples}"
    return f"reaches {format_percent(best.score)} {name} on {samples}"


def _describe_worst_layer(record: BuildRecord) -> str:
    layer = find_worst_layer(record)
    if layer is None:
        return ""
    text = f"The worst layer is {layer.op} '{format_name(layer.source)}'"
    if layer.own_db is not None:
        return f"{text}: alone it leaves its result {format_db(layer.own_db)} from the float model's."
    return f"{text}, {format_db(layer.sim_db)} from the float model."


def _describe_next_step(record: BuildRecord) -> str:
    if hindrance := _find_obstacle(record):
        return f"To do: {hindrance}."
    verdict = record.verdict
    if verdict.word == NOT_PROVEN and (verdict.needed is not None or verdict.reasons[0] == NO_EMULATION):
        return f"To do: {find_way_to_proof(record)}, or take it unproven."
    if verdict.reasons and verdict.word != MISSED:
        return "To do: find out what the reasons above come from before it goes to a device."
    if verdict.word == MISSED:
        return _describe_way_out(record)
    if verdict.word == NO_LIMIT:
        lost = f"up to {max(0.0, verdict.loss.high):.2f} points"
        option = spell_option("max_drop", "1")
        return f"To do: decide whether {lost} may be lost; {option} has the build judge it by one."
    more = "before it runs on a device; the findings below would make it more accurate"
    return f"To do: nothing{f' {more}' if list_remedies(record) else ', it is ready to run on a device'}."


def find_way_to_proof(record: BuildRecord) -> str:
    """What would prove a limit that is not proven."""
    verdict = record.verdict
    if verdict.needed is not None:
        return _ask_for_samples(record, verdict.needed)
    if verdict.reasons[0] == NO_EMULATION:
        return f"{_ask_for_time()}: the emulator runs what the simulation only stands in for"
    return "mend what is named first"


def _ask_for_samples(record: BuildRecord, needed: int) -> str:
    """More of them, or the time to run those that are there."""
    run, given = record.verdict.loss.samples, len(record.samples.judged)
    if run >= given:
        named = f"{spell_option('eval_data')}; of {spell_option('data')} fewer than half do"
        return f"give {needed - run} more samples that judge ({named})"
    time = f"{_ask_for_time()}, which was enough for {run} of {given} samples"
    return time if needed <= given else f"{time}, and {needed - given} more samples"


def _ask_for_time() -> str:
    return f"give it more time with {spell_option('time_limit')}"


def _describe_way_out(record: BuildRecord) -> str:
    """What is left where the limit is missed."""
    return f"To do: {_find_way_out(record, format_limit(record.max_drop or 0.0))}."


def _find_way_out(record: BuildRecord, allowed: str) -> str:
    kinds = {finding.kind for finding in record.findings}
    unbuilt = [each.name for each in record.left_out if each.is_for_time]
    differs = any(reason.startswith(DISAGREEMENT) for reason in record.verdict.reasons)
    op, more = "op that simulation and emulator compute differently", f"or allow more than {allowed}"
    ways = (
        (differs, f"edgewright debug finds the first {op}; {more}"),
        (bool(unbuilt), f"{_ask_for_time()}, for {', '.join(unbuilt)}; {more}"),
        (
            NO_PRECISION in kinds,
            f"allow more than {allowed}, or change the model: no precision keeps it on these samples",
        ),
        (CHOICE in kinds, f"give more samples, so that the precision is chosen well; {more}"),
        (bool(list_remedies(record)), f"the findings below say what helps, as measured; {more}"),
        # Its widths and ranges were chosen before, by samples that nobody knows here.
        (record.chosen == AS_GIVEN, f"build from the float model that it was made from, {more}"),
    )
    other = f"allow more than {allowed}, or build from other samples"
    return next((text for is_way, text in ways if is_way), other)


def _find_obstacle(record: BuildRecord) -> str:
    """Why this is nothing for a device, whatever its figures are."""
    kinds = _map_warnings(record)
    if any(finding.grade == "error" for finding in record.findings):
        return "fix what the compiler refuses, the findings below say what: there is no binary for a device"
    if DATA in kinds:
        return f"{kinds[DATA]}: random numbers say nothing about accuracy"
    if ENVIRONMENT in kinds:
        return f"{kinds[ENVIRONMENT]} and build again: no device loads what the simulation compiled"
    return ""


def _map_warnings(record: BuildRecord) -> dict[str, str]:
    """Kinds of warnings of the pre-flight, and what fixes each."""
    return {finding.kind: finding.do for finding in record.preflight.findings if finding.grade == "warning"}


def _describe_reach(loss: Loss) -> str:
    """The interval, and what the loss is taken from."""
    return f"{loss.low:.2f} to {loss.high:.2f}; float {format_percent(loss.float_score)} on the same samples"


def _make_tiles(record: BuildRecord) -> tuple[Tile, ...]:
    best, candidate, layer = choose_headline(record), find_chosen_candidate(record), find_worst_layer(record)
    tiles = []
    if best is not None:
        tone = {True: "good", False: "bad", None: ""}[record.is_met]
        where = BACKENDS.get(best.backend, best.backend)
        title = SCORES.get(record.metric.find_name(best.output), "accuracy")
        tiles.append(Tile(title, format_percent(best.score), where, tone))
        loss = record.verdict.loss
        lost = format_points(loss.points).removesuffix(" points")
        tiles.append(Tile("points lost", lost, _describe_reach(loss), tone))
    if candidate is not None:
        size = f"{record.source.weight_bytes / max(candidate.weight_bytes, 1):.1f} times smaller than float"
        tiles.append(Tile("weights", format_bytes(candidate.weight_bytes), size))
        tiles.append(Tile("cost", f"{candidate.cost:.2f}", "plain w8a8 is 1"))
    if layer is not None:
        noise_db = layer.sim_db if layer.own_db is None else layer.own_db
        tiles.append(Tile("worst layer", format_db(noise_db), format_name(layer.op)))
    # Exporting a model in memory is in no stage, and stages that were taken over are of an earlier run.
    took = max(record.seconds, sum(stage.seconds for stage in record.stages))
    return (*tiles, Tile("build time", format_duration(took), f"{len(record.stages)} stages"))
