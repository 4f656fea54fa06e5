"""What changed between two builds: as text, and as one HTML file that needs nothing else."""

from collections.abc import Iterable, Iterator, Sequence

from edgewright.build.compare_builds import OTHER, BuildComparison, Change, LayerChange
from edgewright.core.page import Block, Table
from edgewright.reports.html.page import make_environment
from edgewright.reports.html.words import shorten_middle

# Layers that the terminal shows; the page has more.
FEW_LAYERS, MOST_LAYERS = 10, 200
BACKENDS = {"htp-sim": "simulation", "htp-native": "emulator"}


def make_page(comparison: BuildComparison) -> list[Block]:
    """The page of `edgewright compare-builds` in a terminal."""
    blocks: list[Block] = [f"{comparison.title}: what changed from {comparison.first} to {comparison.second}"]
    blocks += [f"warning: {text}" for text in comparison.warnings]
    blocks.append(_make_table("Summary", comparison.summary))
    sections = (
        ("Figures", comparison.figures),
        ("Precisions that were tried", comparison.candidates),
        ("Options", comparison.options),
        ("Versions", comparison.versions),
        ("Files", comparison.artifacts),
    )
    blocks += [_make_table(title, changes) for title, changes in sections if changes]
    if comparison.layers:
        blocks.append(_make_layer_table(comparison.layers))
    return blocks


def render_comparison(comparison: BuildComparison) -> Iterable[bytes]:
    """The HTML file; the same comparison gives the same bytes."""
    template = make_environment().get_template("compared_builds.html.jinja")
    shown_layers = comparison.layers[:MOST_LAYERS]
    widest = max((abs(layer.second_db - layer.first_db) for layer in shown_layers), default=1.0)
    sections = list(_list_sections(comparison))
    yield template.render(
        comparison=comparison,
        sections=sections,
        layers=shown_layers,
        widest=widest,
        backend=BACKENDS.get(shown_layers[0].backend, "") if shown_layers else "",
    ).encode("utf-8", "replace")


def _list_sections(comparison: BuildComparison) -> Iterator[tuple[str, str, Sequence[Change]]]:
    """The id, the title and the rows of every list that is not empty."""
    yield from (
        section
        for section in (
            ("figures", "Figures", comparison.figures),
            ("precisions", "Precisions that were tried", comparison.candidates),
            ("options", "Options", comparison.options),
            ("versions", "Versions", comparison.versions),
            ("files", "Files", comparison.artifacts),
        )
        if section[2]
    )


def _make_table(title: str, changes: Sequence[Change]) -> Table:
    rows = tuple(
        (change.what, change.first, change.second, "" if change.tone == OTHER else change.tone)
        for change in changes
    )
    return Table(title, ("", "first", "second", ""), rows)


def _make_layer_table(layers: Sequence[LayerChange]) -> Table:
    better = sum(layer.second_db > layer.first_db for layer in layers)
    where = BACKENDS.get(layers[0].backend, layers[0].backend)
    title = f"Layers on the {where}, in dB to the float model: {better} better, {len(layers) - better} worse"
    rows = tuple(
        (
            shorten_middle(layer.source, 60),
            layer.op,
            f"{layer.first_db:.1f}",
            f"{layer.second_db:.1f}",
            f"{layer.second_db - layer.first_db:+.1f}",
        )
        for layer in layers[:FEW_LAYERS]
    )
    return Table(title, ("layer", "op", "first", "second", "change"), rows, frozenset({2, 3, 4}))
