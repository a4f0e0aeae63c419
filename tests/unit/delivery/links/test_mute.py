"""Tests of the tokens of links to mute."""

from __future__ import annotations

from tocsin.delivery.links.mute import MuteLink, link_of, request_of, token_of

ASKED = MuteLink("0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11", 1_000)


def test_a_token_says_what_is_asked_until_it_is_over() -> None:
    token = token_of(ASKED, b"key")
    assert request_of(token, b"key", 999) == ASKED
    assert request_of(token, b"key", 1_000) is None
    assert link_of(ASKED, b"key", "https://t.example") == f"https://t.example/api/v1/mute/{token}"


def test_nobody_else_can_make_or_change_a_token() -> None:
    token = token_of(ASKED, b"key")
    wrong = (
        token_of(ASKED, b"other"),
        token.replace(".1000.", ".9000."),
        token[:-1],
        token + "x",
        "",
        ".",
        "a.b.c",
        "ü",
    )
    assert [request_of(one, b"key", 0) for one in wrong] == [None] * len(wrong)
