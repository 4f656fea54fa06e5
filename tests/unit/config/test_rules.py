import pytest

from edgewright.config.rules import Beats, Check, Excludes, Needs, OneRequired, WithoutEffect
from edgewright.core.errors import UsageError

IDLE = WithoutEffect(("--a", "--b"), unless=("--c", "--d"))


@pytest.mark.parametrize(
    ("rule", "given", "is_broken"),
    [
        (Excludes("--a", "--b"), {"--a": 1, "--b": 1}, True),
        (Excludes("--a", "--b"), {"--a": 1}, False),
        (Excludes("--a", "--b"), {"--b": 1}, False),
        (Needs("--a", "--b"), {"--a": 1}, True),
        (Needs("--a", "--b"), {"--a": 1, "--b": 1}, False),
        (Needs("--a", "--b"), {"--b": 1}, False),
        (OneRequired(("--a", "--b")), {}, True),
        (OneRequired(("--a", "--b")), {"--b": 1}, False),
        (Check(lambda given: UsageError("no") if given else None), {"--a": 1}, True),
        (Check(lambda given: UsageError("no") if given else None), {}, False),
    ],
)
def test_a_strict_rule_is_broken_exactly_where_it_says(rule, given, is_broken):
    assert (rule.problem(given) is not None) == is_broken
    assert rule.warning(given) is None


@pytest.mark.parametrize(
    ("rule", "given", "warns"),
    [
        (IDLE, {"--a": 1}, "without --c or --d these options have no effect: --a"),
        (IDLE, {"--a": 1, "--b": 1}, "without --c or --d these options have no effect: --a, --b"),
        (IDLE, {"--a": 1, "--d": 1}, None),
        (IDLE, {"--c": 1}, None),
        (Beats("--a", "--b"), {"--a": 1, "--b": 1}, "--a comes before --b for the tensors that it names"),
        (Beats("--a", "--b"), {"--a": 1}, None),
    ],
)
def test_a_mild_rule_warns_exactly_where_it_says(rule, given, warns):
    assert rule.warning(given) == warns
    assert rule.problem(given) is None
