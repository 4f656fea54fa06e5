import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edgewright.analyse.records import Finding
from edgewright.config.spelling import spell_options
from edgewright.evaluate.verdict import NO_EMULATION, judge_loss
from edgewright.reports.html import render_report
from edgewright.reports.html.plotly_bundle import load_plotly_bundle
from tests.browser.sample_build import HOSTILE, hostile, record

ROOT = Path(__file__).parents[3]
SCRIPT = re.compile(r"<script[^>]*>")


def text_of(build):
    return b"".join(render_report(build)).decode()


def test_the_first_lines_say_what_was_built_how_accurate_it_is_and_which_layer_is_worst():
    head = text_of(record()).partition('id="accuracy"')[0].partition("<main>")[2]
    assert "mnist_cntk.onnx was built for SM8650 (Hexagon v75) in w8a8" in head
    assert "Measured by right-answers: How often the largest score is that of the digit shown" in head
    assert "it answers 98.0 % of 100 samples that neither calibrated nor chose correctly" in head
    assert "less than the float model on the same samples" in head
    assert "proven to be within the limit of 1 point." in head
    assert "The worst layer is Conv2d + Relu &#39;ReLU114_Output_0&#39;" in head
    assert "To do: nothing before it runs on a device" in head


def test_a_missed_limit_is_said_first():
    missed = judge_loss(replace(record().verdict.loss, points=0.8), 0.5)
    text = text_of(replace(record(), verdict=missed, max_drop=0.5))
    assert "limit missed" in text.partition("<h1>")[0]
    assert "0.80 points are lost, 0.5 may be." in text
    assert "or allow more than 0.5 points" in text or "To do: allow more than 0.5 points" in text


def test_what_is_not_proven_is_never_called_ready():
    doubtful = judge_loss(replace(record().verdict.loss, high=2.0), 1.0)
    text = text_of(replace(record(), verdict=doubtful))
    assert "not proven" in text.partition("<h1>")[0]
    assert "more samples like these would prove the limit of 1." in text
    assert "To do: give" in text
    assert "runs on a device" not in text.partition('id="accuracy"')[0]


def test_the_time_of_a_build_is_all_of_it_and_of_a_resumed_one_that_of_its_stages():
    stages = sum(stage.seconds for stage in record().stages)
    assert "7 min 30 s" in text_of(replace(record(), seconds=450.0))
    assert f"{stages:.1f} s" in text_of(replace(record(), seconds=0.0))


def test_without_a_limit_nothing_is_called_ready_however_much_is_lost():
    lossy = judge_loss(replace(record().verdict.loss, points=40.0, low=35.0, high=45.0), None)
    head = text_of(replace(record(), verdict=lossy, max_drop=None)).partition('id="accuracy"')[0]
    assert "To do: decide whether up to 45.00 points may be lost; max_drop=1 has" in head
    assert "runs on a device" not in head
    assert "ready" not in head.partition("<main>")[2]


def test_samples_that_were_not_run_for_time_are_not_asked_for_again():
    loss = replace(record().verdict.loss, high=2.0, samples=12)
    doubtful = replace(record(), verdict=judge_loss(loss, 1.0))
    asked = (
        "give it more time with time_limit=..., which was enough for 12 of 900 samples, or take it unproven"
    )
    many = replace(doubtful.samples, judged=tuple(range(900)))
    assert asked in text_of(replace(doubtful, samples=many))
    none_left = replace(doubtful.samples, judged=tuple(range(12)))
    assert "more samples that judge (eval_data=...; of data=... fewer than half do)" in text_of(
        replace(doubtful, samples=none_left)
    )
    few = judge_loss(replace(loss, samples=5), 1.0)
    assert "which was enough for 5 of 900 samples" in text_of(replace(doubtful, verdict=few, samples=many))


def test_a_command_is_asked_for_by_its_options():
    loss = replace(record().verdict.loss, high=2.0, samples=12)
    doubtful = replace(record(), verdict=judge_loss(loss, 1.0))
    few = replace(doubtful.samples, judged=tuple(range(12)))
    with spell_options({"eval_data": "--eval-data", "data": "--data"}):
        text = text_of(replace(doubtful, samples=few))
    assert "more samples that judge (--eval-data; of --data fewer than half do)" in text


def test_an_emulator_that_had_no_time_is_given_more():
    verdict = judge_loss(record().verdict.loss, 10.0, doubts=(NO_EMULATION,))
    text = text_of(replace(record(), verdict=verdict, max_drop=10.0))
    assert "To do: give it more time with time_limit=...: the emulator runs" in text


def test_the_same_record_gives_the_same_bytes():
    assert text_of(record()) == text_of(record())


def test_the_page_asks_nothing_of_the_network():
    text = re.sub(r'id="plotly-gz">[^<]*', "", text_of(record()))
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:,)""", text)
    assert "fetch(" not in text
    assert "@import" not in text


def test_every_section_has_its_link_and_its_row_in_the_guide():
    text, guide = text_of(record()), (ROOT / "docs/guide/report.md").read_text("utf-8")
    sections = re.findall(r'<section id="([^"]+)"', text)
    assert re.findall(r'<li><a href="#([^"]+)">', text) == sections
    shown = ", ".join(re.findall(r"^\| ([A-Z][^|]*) \|", guide, re.MULTILINE))
    titles = ["Summary", *re.findall(r"<h2>([^<]+)</h2>", text)]
    assert [title for title in titles if title not in shown] == []


def test_names_cannot_leave_their_places():
    plain, odd = text_of(record()), text_of(hostile())
    assert len(SCRIPT.findall(odd)) == len(SCRIPT.findall(plain))
    assert HOSTILE not in odd
    assert "<script>document" not in odd
    assert "</script>document" not in odd


def test_data_of_plots_is_json_whatever_the_names_are():
    found = re.search(r'id="plots">(.*?)</script>', text_of(hostile()), re.DOTALL)
    assert set(json.loads(found.group(1))) >= {"layers", "pareto", "tensor-0"}


def test_a_record_with_little_in_it_makes_a_page_too():
    bare = replace(
        record(), layers=(), tensors=(), candidates=(), accuracy=(), findings=(), artifacts=(), stages=()
    )
    text = text_of(bare)
    assert "Its accuracy was not measured." in text
    assert "Nothing needs to be fixed." in text


@pytest.fixture
def no_plotly(monkeypatch):
    # Python's own way to say that a package is not there.
    monkeypatch.setitem(sys.modules, "plotly", None)
    load_plotly_bundle.cache_clear()
    yield
    load_plotly_bundle.cache_clear()


@pytest.mark.usefixtures("no_plotly")
def test_without_plotly_the_page_has_tables_and_says_what_adds_plots():
    text = text_of(record())
    assert "pip install &#39;edgewright[plots]&#39;" in text
    assert 'class="plot' not in text
    assert "8 bits hold" in text
    assert len(text) < 200_000


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_figures_beyond_all_numbers_do_not_break_the_page(value):
    odd = replace(
        record(),
        candidates=tuple(replace(candidate, sqnr_db=value, drop=value) for candidate in record().candidates),
    )
    assert "</html>" in text_of(odd)


def test_the_figure_that_the_verdict_is_drawn_from_is_the_headline():
    build = record()
    emulated = replace(build.accuracy[1], backend="htp-native", samples=7)
    verdict = judge_loss(replace(build.verdict.loss, backend="htp-native", samples=7), 1.0)
    text = text_of(replace(build, accuracy=(*build.accuracy, emulated), verdict=verdict))
    assert "On the emulator it answers 98.0 % of 7 samples" in text


def test_the_worst_of_several_outputs_gives_the_headline_and_is_named():
    build = record()
    better = replace(build.accuracy[1], output="better", score=99.5, samples=100)
    outputs = ("better", build.accuracy[1].output)
    several = replace(
        build, metric=replace(build.metric, outputs=outputs), accuracy=(better, *build.accuracy)
    )
    text = text_of(several)
    assert "it answers 98.0 % of 100 samples that neither calibrated nor chose correctly" in text
    assert f"output &#39;{build.accuracy[1].output}&#39;, the lowest of 2" in text


def warned(*findings):
    build = record()
    return replace(build, preflight=replace(build.preflight, findings=findings), findings=findings)


def test_figures_of_random_data_never_look_like_a_verdict():
    text = text_of(warned(Finding("warning", "data", "RANDOM DATA", do="build with --data SAMPLES")))
    assert "random data</span>" in text.partition("<h1>")[0]
    assert "To do: build with --data SAMPLES: random numbers say nothing about accuracy." in text
    assert text.partition('id="accuracy"')[0].count("RANDOM DATA") == 1


def test_what_no_device_loads_is_never_called_ready():
    missing = Finding("warning", "environment", "no compiler", do="pip install it")
    refused = Finding("error", "backend-crash", "refused", do="explain")
    assert "To do: pip install it and build again: no device loads" in text_of(warned(missing))
    assert "there is no binary for a device" in text_of(warned(refused))


def test_a_model_that_came_quantized_is_said_to_keep_its_encodings():
    text = text_of(replace(record(), chosen="as given", precision="auto"))
    assert "with the encodings that it came with (asked for: auto)." in text


def test_other_samples_are_not_asked_for_where_the_ranges_came_with_the_model():
    missed = judge_loss(replace(record().verdict.loss, points=0.8), 0.5)
    given = replace(record(), verdict=missed, max_drop=0.5, chosen="as given", findings=(), left_out=())
    assert "To do: build from the float model that it was made from, or allow more than" in text_of(given)
