"""Tests of building and splitting fully qualified names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import InvalidInput
from tocsin.model import fqn

_NAMES = st.lists(st.text(alphabet="ab .\"/é'", min_size=1, max_size=6), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (["pg", "shop", "public", "orders"], "pg.shop.public.orders"),
        (["pg", "v1.2", "orders"], 'pg."v1.2".orders'),
        (['say "hi"'], '"say ""hi"""'),
        (["a b", "c/d"], "a b.c/d"),
        (["dao creator tools", "arbitrum'"], "dao creator tools.arbitrum'"),
    ],
)
def test_a_name_is_quoted_when_it_holds_a_dot_or_a_quotation_mark(names: list[str], written: str) -> None:
    assert fqn.join(names) == written
    assert fqn.split(written) == names


@given(_NAMES)
def test_what_is_joined_splits_into_the_same_names(names: list[str]) -> None:
    assert fqn.split(fqn.join(names)) == names


@given(_NAMES, _NAMES)
def test_different_names_make_different_fqns(left: list[str], right: list[str]) -> None:
    assert (fqn.join(left) == fqn.join(right)) == (left == right)


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", '"a', 'a"b', '"a"b', '"a".', '"a"..b'])
def test_what_is_no_fqn_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        fqn.split(text)


def test_a_quoted_name_may_be_plain_all_the_same() -> None:
    assert fqn.split('a."b".c') == ["a", "b", "c"]


def test_parent_and_child_are_opposites() -> None:
    assert fqn.child('pg."v1.2"', "a.b") == 'pg."v1.2"."a.b"'
    assert fqn.parent('pg."v1.2"."a.b"') == 'pg."v1.2"'
    assert fqn.parent("pg") is None
