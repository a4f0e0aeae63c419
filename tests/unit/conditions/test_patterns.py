"""Tests of regular expressions in conditions: which are accepted, and what they match."""

from __future__ import annotations

import pytest

from tocsin.conditions.backtracking import PatternError
from tocsin.conditions.patterns import (
    MAX_PATTERN,
    MAX_VALUE,
    backtracking_pattern,
    is_match,
    literal_inside,
    translate,
)

RUNAWAY = (
    *("(a+)+", "(a*)*b", "(a|a)*", "(a|ab)*", "([a-z]+\\.)*", "((a?){9})+", "(x+x+)+y"),
    *("(.*,){20}", "a?" * 20, "(a|a)" * 20, ".{0,8}" * 9, ".{0,8}" * 12, "(?:ab|ac)+" * 3, ".*[a-z]*[a-z]*x"),
    *("(?:x{60}){60}", "(|a)*", "x*" * 40),
)
FOREIGN = (
    *("(?=a)", "(?i)a", "(?P<n>a)", "(a)\\1", "\\bword", "\\p{L}", "\\q", "\\", "a++", "a**", "a{2}{3}"),
    *("a{,3}", "a{3,2}", "a{9999}", "{", "a}", "[", "[]", "[z-a]", "[\\w-z]", "(", ")", "a)", "*a", "a|*"),
    *("a^b", "a$b", "x" * (MAX_PATTERN + 1)),
)


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("^abc$", "abc", True),
        ("a|b", "b", True),
        (".*", "two\nlines", True),
        ("a\\.b", "a.b", True),
        ("a\\.b", "axb", False),
        ("a$", "a\n", False),
        ("[a-c]+", "abc", True),
        ("[^a-c]", "d", True),
        ("[a\\]]+", "a]", True),
        ("[-a]+", "-a", True),
        ("[a-]+", "-a", True),
        ("[&&a]+", "&a", True),
        ("[\\d.]+", "1.2", True),
        ("\\d", "٣", False),
        ("\\w+", "é", False),
        ("(?:foo|bar)+", "foobar", True),
        ("(ab){2}", "abab", True),
        ("a{2,3}?", "aaa", True),
        ("x\\{1\\}", "x{1}", True),
        ("\\$\\^", "$^", True),
        ("price\\$", "price$", True),
        ("", "", True),
        ("(a|)b", "b", True),
        ("😀.", "😀😀", True),
        ("\\s[\\s]", "\v\v", True),
        ("[^\\s]|\\S|[\\S]", "\v", False),
        ("[\\S.]", "x", True),
        ("x*", "x" * MAX_VALUE, True),
        ("x*", "x" * (MAX_VALUE + 1), False),
        (".", "\ud800", True),
    ],
)
def test_a_pattern_matches_the_whole_value(pattern: str, value: str, expected: bool) -> None:
    assert is_match(translate(pattern), value) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (".*a.*b+", "(?>.*?a).*b+"),
        (".*a.*b.*c.*d.*", "(?>.*?a)(?>.*?b)(?>.*?c)(?>.*?d).*"),
        ("x.+(ab|cd).*(a|b)?.*", "x(?>.+?(?:ab|cd)).*(?:a|b)?.*"),
        ("(.*a.*|b)c", "(?:(?>.*?a).*|b)c"),
    ],
)
def test_fixed_parts_between_open_repeats_are_not_tried_again(pattern: str, expected: str) -> None:
    assert backtracking_pattern(translate(pattern)) == expected


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_a_pattern_that_could_backtrack_without_bound_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        translate(pattern)


@pytest.mark.parametrize("pattern", FOREIGN)
def test_what_the_engines_do_not_share_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        translate(pattern)


def test_the_longest_pattern_is_taken() -> None:
    assert translate("x" * MAX_PATTERN) == "x" * MAX_PATTERN


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", "abc"),
        (".*\\.t1\\d+_03", ".t1"),
        (".*_03", "_03"),
        ("a?bcd*e", "bc"),
        ("(?:orders)+x", "orders"),
        ("(ab){2}c", "ab"),
        ("(?:abc|abd)e", "e"),
        ("abc|abd", ""),
        ("(long)?no", "no"),
        (r"lake\.shop\.s[0-2]\.t\d+_0", ".t"),
        ("prefix.*x", "prefix"),
        ("x(?:y.*z)?", "x"),
        ("[a-z]+", ""),
        ("", ""),
    ],
)
def test_what_every_match_holds_is_known(pattern: str, expected: str) -> None:
    assert literal_inside(translate(pattern)) == expected
