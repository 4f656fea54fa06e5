"""Which samples calibrate, which choose and which judge, where labels come from, and how sound is read."""

import wave
from itertools import pairwise

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.config.spelling import spell_options
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError
from edgewright.data.audio import AudioSamples
from edgewright.data.copies import read_unique_samples
from edgewright.data.overlaps import is_overlapping
from edgewright.data.sample_format import SampleFormat
from edgewright.data.samples import DataRequest, read_samples
from edgewright.ir.text import parse

GRAPH = parse("graph g {\n  input x: float_32[1,3]\n  y = Relu(x)\n  output y\n}\n")


def _parts(count, **more):
    data = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
    return read_samples(GRAPH, DataRequest(data, **more))


@pytest.mark.parametrize(("count", "most", "calibrating"), [(10, 100, 4), (10, 3, 3), (7, 2, 2), (3, 100, 1)])
def test_no_sample_does_two_things_and_none_is_lost(count, most, calibrating):
    result = _parts(count, calibration_samples=most)
    parts = [result.calibration, result.choosing.selection, result.judging.selection]
    assert len(result.calibration) == calibrating
    assert sorted(number for part in parts for number in part.numbers) == list(range(count))
    assert len(result.judging.selection) >= len(result.choosing.selection) >= 1
    values = [sample["x"][0, 0] for sample in result.judging.selection]
    assert values == [3.0 * number for number in result.judging.selection.numbers]


def test_the_beginning_of_a_shuffled_selection_is_spread_over_all():
    shuffled = _parts(400, calibration_samples=100).judging.selection.shuffle()
    first = sorted(shuffled.numbers[:8])
    assert max(later - earlier for earlier, later in pairwise(first)) < 100
    assert [sample["x"][0, 0] for sample in shuffled] == [3.0 * number for number in shuffled.numbers]


@pytest.mark.parametrize(
    ("count", "says"), [(1, "the only sample calibrates"), (2, "the other chooses and judges")]
)
def test_samples_that_do_several_things_are_said(count, says):
    result = _parts(count)
    others = set(range(count)) - set(result.calibration.numbers) or {0}
    assert set(result.choosing.selection.numbers) == set(result.judging.selection.numbers) == others
    assert says in result.notes[0]


@pytest.mark.parametrize("period", [3, 9])
def test_data_that_come_in_turns_have_all_kinds_in_every_part(period):
    result = _parts(240)
    for part in (result.calibration, result.choosing.selection, result.judging.selection):
        assert {number % period for number in part.numbers} == set(range(period))


def _list_parts(samples):
    return [samples.calibration, samples.choosing.selection, samples.judging.selection]


def list_rows(data):
    return [{"x": row[None]} for row in data]


@pytest.mark.parametrize("make", [list_rows, lambda data: iter(list_rows(data))], ids=["list", "in turn"])
def test_a_part_of_samples_is_spread_over_all_however_they_come(make):
    data = np.arange(90, dtype=np.float32).reshape(30, 3)
    selection = read_samples(GRAPH, DataRequest(make(data))).judging.selection
    first = [float(sample["x"][0, 0]) for sample in selection.shuffle().take(4)]
    assert max(first) - min(first) > 45
    assert [float(sample["x"][0, 0]) / 3 for sample in selection] == [*selection.numbers]


def test_a_loader_that_mixes_its_samples_anew_each_time_is_read_once():
    class Loader:
        def __iter__(self):
            return iter(np.random.default_rng().random((20, 1, 3)).astype(np.float32))

    selection = read_samples(GRAPH, DataRequest(Loader())).judging.selection
    first, again = ([sample["x"].tobytes() for sample in selection] for _ in range(2))
    assert first == again


def test_of_copies_one_counts_and_the_parts_are_as_large_as_without_them():
    data = np.arange(90, dtype=np.float32).reshape(30, 3)
    alone = read_unique_samples(GRAPH, DataRequest(data))
    request = DataRequest(np.repeat(data, 9, 0), labels=list(range(270)))
    result = read_unique_samples(GRAPH, request)
    assert [len(part) for part in _list_parts(result)] == [len(part) for part in _list_parts(alone)]
    values = [sample["x"].tobytes() for part in _list_parts(result) for sample in part]
    assert len(set(values)) == len(values) == 30
    for part in (result.choosing, result.judging):
        assert part.labels.values == list(part.selection.numbers)
    assert result.notes[-1] == "of 270 samples 240 are copies of others and are left out: 30 count"
    assert not any("copies" in note for note in alone.notes)


def test_copies_of_data_named_apart_judge_nothing_that_they_calibrated_or_chose():
    data = np.arange(36, dtype=np.float32).reshape(12, 3)
    request = DataRequest(data, eval_data=np.concatenate([data[:3], data[:3] + 100, data[:3] + 100]))
    result = read_unique_samples(GRAPH, request)
    assert result.judging.selection.numbers == (3, 4, 5)
    assert result.notes[-1] == "of 21 samples 6 are copies of others and are left out: 15 count"
    same = read_unique_samples(GRAPH, DataRequest(data, eval_data=data))
    assert len(same.judging.selection) == 1


def test_one_copy_is_said_as_one():
    data = np.arange(36, dtype=np.float32).reshape(12, 3)
    data[7] = data[2]
    result = read_unique_samples(GRAPH, DataRequest(data))
    assert result.notes[-1] == "of 12 samples one is a copy of another and is left out: 11 count"


def test_a_single_sample_is_no_copy_of_itself():
    one = np.ones((1, 3), np.float32)
    assert read_unique_samples(GRAPH, DataRequest(one)).notes == read_samples(GRAPH, DataRequest(one)).notes


SERIES = parse("graph g {\n  input x: float_32[1,64]\n  y = Relu(x)\n  output y\n}\n")


def cut_windows(hop, count=90, length=64):
    series = np.random.default_rng(0).random(hop * count + length).astype(np.float32)
    return np.stack([series[hop * n : hop * n + length] for n in range(count)])


@pytest.mark.parametrize("turn", [1, -1])
def test_of_windows_that_share_most_of_their_values_one_counts(turn):
    result = read_unique_samples(SERIES, DataRequest(cut_windows(8)[::turn]))
    numbers = sorted(n for part in _list_parts(result) for n in part.numbers)
    assert numbers == list(range(0, 90, 5))
    said = "of 90 samples 72 share half of the values of the one before or more and are left out: 18 count"
    assert result.notes[-1] == said


@pytest.mark.parametrize(
    "data",
    [
        cut_windows(40),
        np.random.default_rng(0).random((90, 64)).astype(np.float32),
        np.eye(64, dtype=np.float32),
        np.sign(cut_windows(8) - 0.5),
    ],
    ids=["less than half", "no series", "codes", "masks"],
)
def test_what_shares_less_or_says_little_is_no_overlap(data):
    result = read_unique_samples(SERIES, DataRequest(data))
    assert result.notes == read_samples(SERIES, DataRequest(data)).notes


def test_windows_of_several_inputs_overlap_where_all_of_them_do():
    windows, rows = cut_windows(8), np.random.default_rng(1).random((90, 4)).astype(np.float32)
    pairs = [[{"x": windows[n], "y": each[n]} for n in (3, 4)] for each in (rows, rows * 0)]
    assert [is_overlapping(*pair) for pair in pairs] == [False, True]


def test_data_named_apart_judges_alone():
    other = np.full((4, 3), 7, np.float32)
    result = _parts(6, eval_data=other, labels=[0, 1, 2, 0])
    assert (len(result.calibration), len(result.choosing.selection)) == (3, 3)
    assert len(result.judging.selection) == 4
    assert result.choosing.labels is None
    assert result.labels.values == [0, 1, 2, 0]


def test_labels_follow_the_samples():
    result = _parts(5, labels=[4, 3, 2, 1, 0])
    for part in (result.choosing, result.judging):
        assert part.labels.values == [4 - number for number in part.selection.numbers]
        assert [part.find_label(number) for number in part.selection.numbers] == part.labels.values


def test_a_label_beyond_the_classes_is_seen_wherever_it_is():
    for place in range(9):
        labels = [0] * 9
        labels[place] = 7
        assert _parts(9, labels=labels).labels.largest == 7


def test_a_table_gives_labels_to_files_and_to_folders(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for place in (1, 2):
            np.save(tmp_path / "data" / name / f"{place}.npy", np.zeros((1, 3), np.float32))
    (tmp_path / "t.csv").write_text("name,class\ncat,5\ndog/1.npy,6\ndog/2.npy,7\n")
    result = read_samples(GRAPH, DataRequest(tmp_path / "data", labels=tmp_path / "t.csv"))
    parts = (result.choosing, result.judging)
    known = {number: part.find_label(number) for part in parts for number in part.selection.numbers}
    right = {0: 5, 1: 5, 2: 6, 3: 7}
    assert len(known) == 2
    assert known == {number: right[number] for number in known}
    (tmp_path / "t.csv").write_text("cat,5\n")
    with pytest.raises(BadInput, match="2 of 4 files have no label, the first is"):
        read_samples(GRAPH, DataRequest(tmp_path / "data", labels=tmp_path / "t.csv"))


def _write(path, values, rate, channels=1, width=2):
    scaled = np.round(np.asarray(values) * (2 ** (8 * width - 1) - 1)).astype("<i4")
    raw = scaled.view(np.uint8).reshape(-1, 4)[:, :width]
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(raw.tobytes())


def _format(length):
    return SampleFormat(
        parse(f"graph g {{\n  input x: float_32[1,{length},1]\n  y = Relu(x)\n  output y\n}}\n")
    )


@pytest.mark.parametrize("width", [2, 3, 4])
def test_sound_keeps_its_values_and_a_short_end_is_filled_with_silence(tmp_path, width):
    values = np.linspace(-0.9, 0.9, 16)
    _write(tmp_path / "a.wav", values, 8000, width=width)
    result = AudioSamples(_format(10), tmp_path)
    pieces = [sample["x"].reshape(-1) for sample in result]
    assert len(result) == 2
    np.testing.assert_allclose(np.concatenate(pieces)[:16], values, atol=1e-4)
    assert not pieces[1][6:].any()


def test_several_channels_become_their_mean(tmp_path):
    left, right = np.full(8, 0.5), np.full(8, -0.1)
    _write(tmp_path / "a.wav", np.stack([left, right], 1).reshape(-1), 8000, channels=2)
    (piece,) = AudioSamples(_format(8), tmp_path / "a.wav")
    np.testing.assert_allclose(piece["x"].reshape(-1), 0.2, atol=1e-4)


def test_another_rate_is_the_same_tone_in_fewer_values(tmp_path):
    times = np.arange(1600) / 16000
    _write(tmp_path / "a.wav", 0.5 * np.sin(2 * np.pi * 200 * times), 16000)
    (piece,) = AudioSamples(_format(800), tmp_path, 8000)
    expected = 0.5 * np.sin(2 * np.pi * 200 * np.arange(800) / 8000)
    np.testing.assert_allclose(piece["x"].reshape(-1), expected, atol=2e-3)


def test_what_is_no_sound_and_what_takes_none_are_refused(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"RIFF....")
    with pytest.raises(BadInput, match=r"no readable .wav file of whole numbers"):
        AudioSamples(_format(8), tmp_path)
    picture = parse("graph g {\n  input x: float_32[1,4,4,3]\n  y = Relu(x)\n  output y\n}\n")
    with pytest.raises(ShapeMismatch, match="expected one axis of time for sound"):
        AudioSamples(SampleFormat(picture), tmp_path)


def test_folders_named_by_words_and_labels_of_another_count_are_said_not_to_be_used(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for place in (1, 2):
            np.save(tmp_path / name / f"{place}.npy", np.zeros((1, 3), np.float32))
    result = read_samples(GRAPH, DataRequest(tmp_path))
    assert result.labels is None
    assert "2 folders, which are not named by numbers, are no labels" in result.notes[-1]
    assert "'cat,0'" in result.notes[-1]
    few = read_samples(GRAPH, DataRequest({"x": np.zeros((6, 3), np.float32), "labels": np.arange(4)}))
    assert few.labels is None
    assert few.notes[-1] == "4 labels are beside 6 samples: not used, expected one for each"


def test_a_missing_input_is_given_with_the_samples_or_made_a_constant():
    graph = parse(
        "graph g {\n  input x: float_32[1,2]\n  input rate: float_32[1]\n"
        "  y = ElementWiseAdd(x, rate)\n  output y\n}\n"
    )
    with (
        spell_options({"input_values": "--input_value"}),
        pytest.raises(UsageError, match="missing: 'rate'") as caught,
    ):
        SampleFormat(graph).convert_sample({"x": np.zeros((1, 2), np.float32)}, 0)
    assert "make it a constant: --input_value 'rate' VALUE" in caught.value.do
    # A tool that cannot make it one does not say so.
    with spell_options({}), pytest.raises(UsageError) as caught:
        SampleFormat(graph).convert_sample({"x": np.zeros((1, 2), np.float32)}, 0)
    assert "constant" not in caught.value.do


@pytest.mark.parametrize(
    ("name", "values"),
    [("target", [0, 1, 2, 3, 4, 5]), ("class", [[0], [1], [2], [3], [4], [5]]), ("y", [0.0, 1, 2, 3, 4, 5])],
)
def test_labels_in_an_archive_have_the_names_and_forms_of_columns(name, values, tmp_path):
    path = tmp_path / "samples.npz"
    np.savez(path, x=np.arange(18, dtype=np.float32).reshape(6, 3), **{name: np.array(values)})
    judging = read_samples(GRAPH, DataRequest(path)).judging
    assert list(judging.labels.values) == list(judging.selection.numbers)


@pytest.mark.parametrize("values", [np.eye(6), np.full(6, 0.5), np.zeros((6, 2), int)])
def test_an_array_that_is_named_like_labels_and_is_not_used_is_said(values, tmp_path):
    path = tmp_path / "samples.npz"
    np.savez(path, x=np.arange(18, dtype=np.float32).reshape(6, 3), labels=values)
    result = read_samples(GRAPH, DataRequest(path))
    assert result.judging.labels is None
    assert any("the array 'labels' [6" in note and "is not used" in note for note in result.notes)


def test_an_input_that_is_named_like_labels_holds_none():
    graph = parse(
        "graph g {\n  input x: float_32[1]\n  input target: float_32[1]\n"
        "  y = ElementWiseAdd(x, target)\n  output y\n}\n"
    )
    data = {"x": np.zeros((6, 1), np.float32), "target": np.zeros((6, 1), np.float32)}
    assert read_samples(graph, DataRequest(data)).judging.labels is None
