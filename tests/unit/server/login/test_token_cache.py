"""Tests of the token cache: lifetime and invalidation."""

from __future__ import annotations

from tocsin.model.people import Actor
from tocsin.server.login.token_cache import TokenCache

JANE = Actor(id="1", name="jane")


def test_it_is_found_again() -> None:
    cache = TokenCache()
    cache.keep("Bearer x", JANE, revision=0, expires_at_ms=None)
    assert cache.find("Bearer x", 5) is JANE
    assert cache.find("Bearer y", 5) is None
    assert cache.find(None, 5) is None


def test_not_after_it_expires() -> None:
    cache = TokenCache()
    cache.keep("Bearer x", JANE, revision=0, expires_at_ms=10)
    assert cache.find("Bearer x", 9) is JANE
    assert cache.find("Bearer x", 10) is None


def test_not_after_people_changed() -> None:
    revision = 0
    cache = TokenCache(lambda: revision)
    cache.keep("Bearer x", JANE, revision=cache.revision(), expires_at_ms=None)
    revision = 1
    assert cache.find("Bearer x", 5) is None


def test_not_for_long() -> None:
    cache = TokenCache(trusted_s=-1)
    cache.keep("Bearer x", JANE, revision=0, expires_at_ms=None)
    assert cache.find("Bearer x", 5) is None


def test_it_does_not_grow_without_end() -> None:
    cache = TokenCache(max_count=2)
    for header in "abc":
        cache.keep(header, JANE, revision=0, expires_at_ms=None)
    assert [cache.find(header, 5) for header in "abc"] == [None, None, JANE]
