"""How good latency estimates are, as docs/latency.md and its picture: `make fit-latency`."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from edgewright.estimate.chip_factors import find_pair_factor
from edgewright.estimate.cliffs import CLIFFS
from edgewright.estimate.fit import PRECISIONS
from edgewright.estimate.public_data import SOURCE, list_chips
from edgewright.estimate.validation import (
    KINDS,
    LeftOut,
    choose_bounds,
    leave_families_out,
    measure_coverage,
    measure_errors,
    predict_by_macs,
    predict_left_out,
)

DOCS = Path(__file__).parent.parent / "docs"
SIZE, MARGIN = 460, 52
COLOURS = {"float": "#4c78a8", "w8a8": "#e45756", "w8a16": "#54a24b"}
# The chip that factors are shown from: most networks were measured on it.
FROM = 57


def main() -> None:
    """Writes the page and its picture."""
    left_out = leave_families_out()
    (DOCS / "images" / "latency.svg").write_text(draw_calibration(left_out), "utf-8")
    (DOCS / "latency.md").write_text("\n".join(write_page(left_out)) + "\n", "utf-8")


def write_page(left_out: LeftOut) -> Iterator[str]:
    """The lines of docs/latency.md."""
    yield from (
        "# How good latency estimates are",
        "",
        "Written by `make fit-latency`. What [`edgewright estimate`](guide/estimate.md) says of networks",
        "that a fit has not seen: families of networks (all ResNets, all YOLOs ...) are left out one at a",
        "time, the rest is fitted, and the left-out ones are estimated.",
        "",
        f"Data: {SOURCE}.",
        f"{len(set(left_out.data.names))} networks whose layers are known, {len(left_out.data.chips)} chips;",
        "one time for each network, precision and chip, on the NPU alone.",
        "",
        "![estimated against measured times of networks that were left out](images/latency.svg)",
        "",
        "## Errors",
        "",
        "| precision | networks | median error | 90th percentile | MACs alone | plain convolutions |",
        "|---|---|---|---|---|---|",
    )
    simple = predict_left_out(predict_by_macs)
    for precision in PRECISIONS:
        errors, macs = (measure_errors(each, precision) for each in (left_out, simple))
        plain = measure_errors(left_out, precision, KINDS[0])
        yield row(
            spell(precision),
            *(errors.networks, f"{errors.median:.0%}", f"{errors.p90:.0%}"),
            *(f"{macs.median:.0%} / {macs.p90:.0%}", f"{plain.median:.0%} ({plain.networks} networks)"),
        )
    yield from write_intervals(left_out)
    yield from write_cliffs(left_out)
    yield from write_factors()


def write_intervals(left_out: LeftOut) -> Iterator[str]:
    """What intervals promise and keep."""
    yield from (
        "",
        "Plain convolutions: networks whose ops are convolutions, pools, additions and activations only.",
        "",
        "## Intervals",
        "",
        "A range should hold 80 % of networks. Its ends are quantiles of the left-out errors of its",
        "precision and kind, each network with one vote; where fewer than 19 networks are of both, it holds",
        "the range of the precision and that of the kind. The share inside is counted with the family of",
        "each network left out of its range, too.",
        "",
        "| precision | networks | inside | chance alone allows | high over low, median |",
        "|---|---|---|---|---|",
    )
    for precision in PRECISIONS:
        kept = measure_coverage(left_out, precision)
        low, high = kept.band
        band = f"{low:.0%} to {high:.0%}"
        yield row(spell(precision), kept.networks, f"{kept.share:.0%}", band, f"{kept.width:.1f}")
    yield from (
        "",
        "| precision | kind | networks | range, as factors on the estimate |",
        "|---|---|---|---|",
    )
    for precision in PRECISIONS:
        for kind in KINDS:
            low, high = (math.exp(end) for end in choose_bounds(left_out, precision, kind))
            count = int(left_out.find_rows(precision, kind).sum())
            yield f"| {spell(precision)} | {kind} | {count} | {low:.2f} to {high:.2f} |"


def write_cliffs(left_out: LeftOut) -> Iterator[str]:
    """What is looked for in graphs, and the networks that take more than 1.8 times their estimate."""
    yield from ("", "## Cliffs", "", "Looked for in the graph:", "")
    yield from (f"- {', '.join(map(spell, cliff.precisions))}: {cliff.text}" for cliff in CLIFFS)
    middle = np.nanmedian(left_out.residuals, axis=1)
    places = [int(place) for place in np.argsort(-middle) if math.exp(middle[place]) > 1.8]
    texts = (
        f"{left_out.data.names[place]} {name_precision(left_out, place)} {math.exp(middle[place]):.1f}"
        for place in places
    )
    yield from ("", f"Measured over estimated where it is above 1.8: {', '.join(texts)}.")


def write_factors() -> Iterator[str]:
    """From one chip to the others."""
    chips = list_chips()
    yield from (
        "",
        "## From chip to chip",
        "",
        f"Times on {chips[FROM].name} times this factor, from networks that were measured on both (all",
        "public networks, also those whose layers are not known). The range holds 80 % of networks.",
        "",
        "| to | precision | networks | factor | range | median error | 90th percentile |",
        "|---|---|---|---|---|---|---|",
    )
    for number in chips:
        for precision in PRECISIONS:
            pair = find_pair_factor(FROM, number, precision)
            if number != FROM and pair is not None:
                yield row(
                    *(pair.target, spell(precision), pair.networks, f"{pair.factor:.2f}"),
                    *(
                        f"{pair.low:.2f} to {pair.high:.2f}",
                        f"{pair.median_error:.0%}",
                        f"{pair.p90_error:.0%}",
                    ),
                )


def draw_calibration(left_out: LeftOut) -> str:
    """Estimated against measured times on SM8650, both logarithmic, with the line where they are equal."""
    data = left_out.data
    chip = data.chips.index(FROM)
    points = [
        (PRECISIONS[data.precisions[row]], left_out.predicted[row, chip], data.log_times[row, chip], name)
        for row, name in enumerate(data.names)
        if not math.isnan(data.log_times[row, chip])
    ]
    ends = math.log(100), math.log(1e6)

    def place(value: float) -> float:
        return round((value - ends[0]) / (ends[1] - ends[0]) * (SIZE - 2 * MARGIN) + MARGIN, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}"',
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>',
    ]
    for power in range(2, 7):
        at, label = place(power * math.log(10)), f"{10.0 ** (power - 3):g} ms"
        lines = f"M{at} {MARGIN}V{SIZE - MARGIN}M{MARGIN} {SIZE - at}H{SIZE - MARGIN}"
        parts.append(f'<path d="{lines}" stroke="#ddd"/>')
        parts.append(f'<text x="{at}" y="{SIZE - MARGIN + 16}" text-anchor="middle">{label}</text>')
        parts.append(f'<text x="{MARGIN - 6}" y="{SIZE - at + 4}" text-anchor="end">{label}</text>')
    parts.append(f'<path d="M{MARGIN} {SIZE - MARGIN}L{SIZE - MARGIN} {MARGIN}" stroke="#555"/>')
    for precision, estimated, measured, name in points:
        parts.append(
            f'<circle cx="{place(estimated)}" cy="{SIZE - place(measured)}" r="3.5" '
            f'fill="{COLOURS[precision]}" fill-opacity="0.7">'
            f"<title>{name} {spell(precision)}</title></circle>"
        )
    for line, (precision, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{MARGIN + 12}" cy="{MARGIN + 14 + 16 * line}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{MARGIN + 22}" y="{MARGIN + 18 + 16 * line}">{spell(precision)}</text>')
    parts.append(f'<text x="{SIZE / 2}" y="{SIZE - 10}" text-anchor="middle">estimated on SM8650</text>')
    parts.append(
        f'<text transform="translate(12 {SIZE / 2}) rotate(-90)" text-anchor="middle">measured</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def row(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def name_precision(left_out: LeftOut, place: int) -> str:
    """The precision of a row."""
    return spell(PRECISIONS[left_out.data.precisions[place]])


def spell(precision: str) -> str:
    """The name that users know."""
    return "fp16" if precision == "float" else precision


if __name__ == "__main__":
    main()
