"""Tests of the error classes: all survive pickling, and each names who must act."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from tocsin.errors import InvalidCondition, MissingExtra, TocsinError


def every_error(kind: type[TocsinError] = TocsinError) -> Iterator[type[TocsinError]]:
    yield kind
    for subclass in kind.__subclasses__():
        yield from every_error(subclass)


ERRORS = [kind for kind in every_error() if kind.__module__ == "tocsin.errors"]


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_survives_pickling_with_its_facts(kind: type[TocsinError]) -> None:
    error = kind("what happened")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert again.__dict__ == error.__dict__
        assert again.args == error.args
        assert str(again) == "what happened"


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_says_by_default_what_its_docstring_says(kind: type[TocsinError]) -> None:
    assert kind.__doc__
    if kind is not MissingExtra:  # it names the extra that is missing
        assert str(kind()) == kind.__doc__.strip().splitlines()[0]


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ERRORS]
    assert len(set(codes)) == len(codes)
    assert all(code.isupper() and code.replace("_", "").isalpha() for code in codes)


def test_a_condition_error_keeps_its_position_on_the_way() -> None:
    error = InvalidCondition("unknown field", line=2, column=7, expected=("a name",), suggestion="eventType")
    again = pickle.loads(pickle.dumps(error))
    assert (again.line, again.column, again.expected, again.suggestion) == (2, 7, ("a name",), "eventType")


def test_a_missing_extra_names_what_to_install() -> None:
    assert "tocsin[spark]" in str(MissingExtra(extra="spark"))
