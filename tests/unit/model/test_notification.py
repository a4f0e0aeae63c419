"""Tests of the text of reasons, and of deterministic ids."""

from __future__ import annotations

import pytest

from tocsin.model.notification import Reason, ReasonKind, message_id, notification_id

OF = {"subscription_id": "s", "subscription_name": "schema", "destination_id": "d"}


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason(kind=ReasonKind.OWNER, **OF), "you own it (alert schema)"),
        (Reason(kind=ReasonKind.OWNER, team="shop", **OF), "you own it through team shop (alert schema)"),
        (Reason(kind=ReasonKind.FOLLOWER, **OF), "you follow it (alert schema)"),
        (Reason(kind=ReasonKind.OWNER, via="a.b", hops=1, **OF), "you own a.b, 1 hop downstream (alert schema)"),
        (Reason(kind=ReasonKind.FOLLOWER, via="a.b", hops=2, **OF), "you follow a.b, 2 hops downstream (alert schema)"),
        (
            Reason(kind=ReasonKind.FOLLOWER, via="a.b", hops=12, **OF),
            "you follow a.b, 12 hops downstream (alert schema)",
        ),
        (Reason(kind=ReasonKind.ADMIN, **OF), "you are an administrator (alert schema)"),
        (Reason(kind=ReasonKind.TEAM, team="shop", **OF), "you are in team shop (alert schema)"),
        (Reason(kind=ReasonKind.USER, **OF), "the alert names you (alert schema)"),
        (Reason(kind=ReasonKind.EXTERNAL, **OF), "the alert names this address (alert schema)"),
    ],
)
def test_a_reason_reads_as_a_sentence(reason: Reason, sentence: str) -> None:
    assert reason.sentence() == sentence
    about = sentence.replace("you own", "ana owns").replace("you follow", "ana follows").replace("you are", "ana is")
    assert reason.sentence("ana") == about.replace("you", "ana")


def test_the_same_causes_give_the_same_id_and_others_another() -> None:
    first = notification_id("e", "Email", "a@example.com")
    assert notification_id("e", "Email", "a@example.com") == first
    other_ids = {notification_id("e", "Email", "b@example.com"), notification_id("f", "Email", "a@example.com")}
    other_ids |= {notification_id("e", "ActivityFeed", "a@example.com"), message_id(first)}
    assert first not in other_ids
    assert len(other_ids) == 4
