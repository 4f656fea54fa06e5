from dataclasses import FrozenInstanceError, dataclass

import pytest

from edgewright.config.build import BuildOutput
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup, build
from edgewright.config.rules import Excludes
from edgewright.config.values import OneOf, make_number_parser, parse_dims
from edgewright.core.errors import NotBuiltYet, Problems, UsageError


@dataclass(frozen=True)
class Sample(OptionGroup):
    title = "Sample"
    rules = (Excludes("--quiet", "--shape"),)

    needed: str = opt(also="-n", metavar="FILE", help="a file")
    quiet: bool = opt(help="a flag")
    bits: int = opt(also="--bw", choices=(8, 16), default=8, help="a choice")
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = opt(
        "--shape", keyed=True, type=(str, parse_dims), help="pairs", example="--shape x 1,2"
    )
    colours: tuple[tuple[str, ...], ...] = opt(
        "--colour", nargs=(2, 3), repeated=True, type=(str, OneOf(("rgb", "bgr"))), help="two or three"
    )
    per_row: bool = opt(nargs="?", const=True, help="optional value")
    files: tuple[str, ...] = opt(help="many")
    later: str | None = opt(built=False, help="not yet")
    level: str = opt(choices=("low", "high"), default="high", not_built=("low",), help="partly")
    count: int | None = opt(type=make_number_parser(1), help="number")


OPTIONS = Sample.options()


@pytest.mark.parametrize(
    ("field", "occurrences", "value"),
    [
        ("quiet", [[]], True),
        ("bits", [["8"], ["16"]], 16),
        ("shapes", [["x", "1,2"], ["y", "3"]], (("x", (1, 2)), ("y", (3,)))),
        ("colours", [["x", "rgb"], ["y", "rgb", "bgr"]], (("x", "rgb"), ("y", "rgb", "bgr"))),
        ("per_row", [[]], True),
        ("per_row", [["false"]], False),
        ("files", [["a", "b"], ["c"]], ("a", "b", "c")),
    ],
)
def test_words_become_values(field, occurrences, value):
    assert OPTIONS[field].read(occurrences) == value


@pytest.mark.parametrize(
    ("field", "occurrences", "message"),
    [
        ("bits", [["7"]], "error[usage]: option '--bits' has the value '7', expected one of: 8, 16"),
        (
            "shapes",
            [["x", "1,b"]],
            (
                "error[usage]: option '--shape' has the value '1,b', expected dimensions of 1 or more "
                "separated by commas, as in 1,3,224,224\n  do:    for example: --shape x 1,2"
            ),
        ),
        ("colours", [["x"]], "error[usage]: option '--colour' has 1 values, expected 2 to 3"),
        (
            "colours",
            [["x", "rgb", "red"]],
            "error[usage]: option '--colour' has the value 'red', expected one of: rgb, bgr",
        ),
    ],
)
def test_wrong_words_say_found_and_expected(field, occurrences, message):
    with pytest.raises(UsageError) as caught:
        OPTIONS[field].read(occurrences)
    assert str(caught.value) == message


def test_defaults_fit_the_shape_of_the_option():
    sample = Sample(needed="f")
    assert (sample.quiet, sample.per_row) == (False, False)
    assert (sample.later, sample.count) == (None, None)
    assert (sample.shapes, sample.colours, sample.files) == ((), (), ())
    assert sample.bits == 8


def test_the_name_and_the_type_of_an_attribute_say_the_rest():
    assert OPTIONS["needed"].flags == ("--needed", "-n")
    assert OPTIONS["shapes"].flags == ("--shape",)
    assert [name for name, option in OPTIONS.items() if option.required] == ["needed"]
    counts = {"quiet": 0, "bits": 1, "shapes": 2, "files": "+", "later": 1}
    assert {name: OPTIONS[name].nargs for name in counts} == counts
    assert OPTIONS["shapes"].repeated


def test_an_option_of_several_groups_says_only_what_differs():
    shared = opt(choices=(1, 2), default=1, help="a number")

    @dataclass(frozen=True)
    class First(OptionGroup):
        width: int = shared

    @dataclass(frozen=True)
    class Second(OptionGroup):
        height: int = opt(also="-y", like=shared, default=2)

    assert First().width == First.options()["width"].read([["1"]]) == 1
    assert (Second().height, Second.options()["height"].flags) == (2, ("--height", "-y"))
    assert Second.options()["height"].help == "a number"


def test_a_type_that_no_word_can_have_is_refused():
    with pytest.raises(TypeError, match=r"an option cannot be int \| str, expected one type"):
        opt(help="one or the other").to_option("which", int | str)


def test_python_values_are_checked_like_words():
    with pytest.raises(UsageError, match="'--bits' has the value '7', expected one of: 8, 16"):
        Sample(needed="f", bits=7)
    with pytest.raises(UsageError, match="'--colour' has the value 'red'"):
        Sample(needed="f", colours=(("x", "red"),))


def test_a_name_that_is_given_twice_is_refused():
    with pytest.raises(UsageError, match="option '--shape' names 'x' 2 times, expected once"):
        Sample(needed="f", shapes=(("x", (1,)), ("x", (2,))))


def test_an_option_that_is_not_built_says_so_when_it_is_used():
    with pytest.raises(NotBuiltYet) as caught:
        Sample(needed="f", later="x")
    assert str(caught.value) == (
        "error[not-built-yet]: option '--later' is not built yet\n  do:    leave --later out"
    )
    assert caught.value.exit_code == 4


def test_a_value_that_is_not_built_says_so_and_the_others_work():
    assert Sample(needed="f", level="high").level == "high"
    with pytest.raises(NotBuiltYet, match="value 'low' of option '--level' is not built yet"):
        Sample(needed="f", level="low")


def test_all_usage_problems_come_at_once_and_before_what_is_not_built():
    with pytest.raises(Problems) as caught:
        Sample(needed="f", bits=7, later="x", quiet=True, shapes=(("x", (1,)),))
    assert [error.code for error in caught.value.errors] == ["usage", "usage"]


def test_groups_cannot_be_changed_afterwards():
    sample = Sample(needed="f")
    with pytest.raises(FrozenInstanceError):
        sample.bits = 16


def test_given_lists_only_what_differs_from_the_default():
    assert Sample(needed="f", bits=8, count=3).given() == {"--needed": "f", "--count": 3}


def test_a_missing_required_option_is_named_with_its_spelling():
    with pytest.raises(UsageError) as caught:
        build((Sample,), ({},))
    assert str(caught.value) == (
        "error[usage]: option '--needed' is missing, it is required\n  do:    add --needed FILE"
    )


def test_rules_between_groups_come_before_what_is_not_built():
    with pytest.raises(UsageError, match="'--later' and '--count'"):
        build((Sample,), ({"needed": "f", "later": "x", "count": 1},), (Excludes("--later", "--count"),))


def test_what_a_parser_expects_is_said_once():
    option = BuildOutput.options()["time_limit"]
    with pytest.raises(UsageError, match="has the value '40', expected a time with its unit"):
        option.read([["40"]])
