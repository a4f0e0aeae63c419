"""Tests of the tokens of links to follow no longer, or again."""

from __future__ import annotations

import pytest

from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.follow import FollowLink, link_of, request_of, token_of, unfollow_text
from tocsin.model.notification import Followed

ASKED = FollowLink("0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11", follows=False, until_ms=1_000)


@pytest.mark.parametrize("follows", [True, False])
def test_a_token_says_what_is_asked_until_it_is_over(follows: bool) -> None:
    request = ASKED._replace(follows=follows)
    token = token_of(request, b"key")
    assert request_of(token, b"key", 999) == request
    assert request_of(token, b"key", 1_000) is None
    assert link_of(request, b"key", "https://t.example") == f"https://t.example/api/v1/follow/{token}"


@pytest.mark.parametrize(
    ("through", "text"),
    [
        (None, "Unfollow the asset"),
        (Followed(type="databaseSchema", id="x"), "Unfollow the database schema"),
        (Followed(type="table", id="x", relation="column"), "Unfollow the column"),
    ],
)
def test_a_button_says_what_is_followed(through: Followed | None, text: str) -> None:
    assert unfollow_text(through) == text


def test_nobody_else_can_make_or_change_a_token() -> None:
    token = token_of(ASKED, b"key")
    muting = mute_links.token_of(mute_links.MuteLink(ASKED.notification_id, 9_000), b"key")
    wrong = (
        *(token_of(ASKED, b"other"), token.replace(".1000.", ".9000."), token.replace(".unfollow.", ".follow.")),
        *(token[:-1], token + "x", "", ".", "a.b.c", "ü", muting),
    )
    assert [request_of(one, b"key", 0) for one in wrong] == [None] * len(wrong)
