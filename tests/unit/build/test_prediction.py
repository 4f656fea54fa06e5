"""Which candidates a build will try, foreseen from what two of them lose on a few samples."""

from dataclasses import replace

from edgewright.build.candidates import SearchLimit
from edgewright.build.prediction import Prediction, Tried, predict_search

AUTO = ("w8a8", "fp16", "w8a16", "w8a8+algorithms", "mixed")
VALUES, ANSWERS = SearchLimit(1.0), SearchLimit(1.0, least=6.6)


def test_where_8_bits_are_proven_only_fewer_bits_are_tried() -> None:
    assert predict_search(AUTO, VALUES, {"w8a8": Tried(0.3, 0.4, 20)}) == Prediction(
        ("w8a8", "mixed"), "w8a8"
    )


def test_where_8_bits_lose_too_much_half_precision_is_mostly_proven() -> None:
    tried = {"w8a8": Tried(20.0, 24.0, 20), "fp16": Tried(0.1, 0.2, 20)}
    # Mixed widths come near to the limit, which proves nothing of values.
    assert predict_search(AUTO, VALUES, tried) == Prediction(AUTO, "fp16")


def test_of_answers_that_prove_nothing_the_cheapest_is_judged() -> None:
    tried = {"w8a8": Tried(10.0, 20.6, 20), "fp16": Tried(0.0, 6.6, 20)}
    assert predict_search(AUTO, ANSWERS, tried) == Prediction(AUTO, "mixed")
    kept = {"w8a8": Tried(0.0, 6.6, 20)}
    assert predict_search(AUTO, ANSWERS, kept) == Prediction(("w8a8",), "w8a8")


def test_what_is_hopeless_is_not_foreseen() -> None:
    tried = {"w8a8": Tried(20.0, 24.0, 20), "fp16": Tried(3.0, 3.5, 20)}
    assert predict_search(AUTO, VALUES, tried) == Prediction(AUTO[:3], "fp16")
    # Half precision keeps the limit, and cannot be proven to: nothing narrower can.
    near = {"w8a8": Tried(20.0, 24.0, 20), "fp16": Tried(0.8, 1.05, 20)}
    assert predict_search(AUTO, VALUES, near) == Prediction(AUTO[:3], "fp16")


def test_algorithms_may_mend_what_is_lost_by_little() -> None:
    tried = {"w8a8": Tried(1.2, 1.4, 20), "fp16": Tried(0.1, 0.2, 20)}
    assert predict_search(AUTO, VALUES, tried).built == AUTO[:4]


def test_where_most_is_in_half_precision_in_any_case_that_is_judged() -> None:
    """Wider values would cost less than half precision elsewhere: a recurrent net has few to widen."""
    plain, half = Tried(2.6, 3.9, 20), Tried(0.1, 0.1, 20)
    assert predict_search(AUTO, VALUES, {"w8a8": plain, "fp16": half}).chosen == "w8a16"
    recurrent = {"w8a8": replace(plain, cost=3.97), "fp16": half}
    assert predict_search(AUTO, VALUES, recurrent).chosen == "fp16"
