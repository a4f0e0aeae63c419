"""Tests of entity tags in the forms of both generations of clients."""

from __future__ import annotations

import hashlib

import pytest

from tocsin.flow.capture import etag

_DOCUMENT = {"version": 0.3, "updatedAt": 1705320000000}
_STRONG = '"' + hashlib.sha256(b"0.3-1705320000000").hexdigest()[:16] + '"'


@pytest.mark.parametrize("if_match", [_STRONG, 'W/"0.3"', "*", f'"x", {_STRONG}', 'W/"0.2" , W/"0.3"'])
def test_the_present_state_is_recognised(if_match: str) -> None:
    assert etag.holds(if_match, _DOCUMENT)


@pytest.mark.parametrize("if_match", ['W/"0.2"', '"0.3"', "", '"bogus"', _STRONG.strip('"')])
def test_another_state_is_not(if_match: str) -> None:
    assert not etag.holds(if_match, _DOCUMENT)


def test_what_is_published_holds() -> None:
    assert etag.holds(etag.strong_tag(_DOCUMENT), _DOCUMENT)
    assert etag.holds(etag.weak_tag(_DOCUMENT), _DOCUMENT)
