"""Which regular expressions are taken, and do they mean what they say?"""

from __future__ import annotations

import re

import pytest

from tocsin.conditions.patterns import MAX_PATTERN, PatternError, literal_inside, translated

RUNAWAY = (
    *("(a+)+", "(a*)*b", "(a|a)*", "(a|ab)*", "([a-z]+\\.)*", "((a?){9})+", "(x+x+)+y"),
    *("(.*,){20}", ".*a.*b.*c.*d.*", "a?" * 13, "(a|a)" * 13),
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
    ],
)
def test_a_pattern_matches_the_whole_value(pattern: str, value: str, expected: bool) -> None:
    compiled = re.compile(translated(pattern), re.ASCII | re.DOTALL)
    assert (compiled.fullmatch(value) is not None) is expected


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_a_pattern_that_could_backtrack_without_bound_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        translated(pattern)


@pytest.mark.parametrize("pattern", FOREIGN)
def test_what_the_engines_do_not_share_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        translated(pattern)


def test_the_longest_pattern_is_taken() -> None:
    assert translated("x" * MAX_PATTERN) == "x" * MAX_PATTERN


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
    assert literal_inside(translated(pattern)) == expected
