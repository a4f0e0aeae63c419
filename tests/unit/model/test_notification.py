"""Tests of the text of reasons, and of deterministic ids."""

from __future__ import annotations

from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.notification import ORDERED_IDS, NotificationIdScheme, Reason, ReasonKind, message_id

OF = {"subscription_id": "s", "subscription_name": "schema", "destination_id": "d"}


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason(kind=ReasonKind.OWNER, **OF), "you own it (alert schema)"),
        (Reason(kind=ReasonKind.OWNER, team="shop", **OF), "you own it through team shop (alert schema)"),
        (
            Reason(kind=ReasonKind.OWNER, held_by="INC-7", **OF),
            "you own it (alert schema; nothing more until INC-7, upstream, is resolved)",
        ),
        (Reason(kind=ReasonKind.FOLLOWER, **OF), "you follow it (alert schema)"),
        (Reason(kind=ReasonKind.OWNER, via="a.b", hops=1, **OF), "you own a.b, 1 step below (alert schema)"),
        (
            Reason(kind=ReasonKind.OWNER, team="shop", via="a.b", hops=2, **OF),
            "you own a.b through team shop, 2 steps below (alert schema)",
        ),
        (Reason(kind=ReasonKind.FOLLOWER, via="a.b", hops=2, **OF), "you follow a.b, 2 steps below (alert schema)"),
        (
            Reason(kind=ReasonKind.FOLLOWER, via="a.b", hops=12, **OF),
            "you follow a.b, 12 steps below (alert schema)",
        ),
        (Reason(kind=ReasonKind.ADMIN, **OF), "you are an administrator (alert schema)"),
        (Reason(kind=ReasonKind.TEAM, team="shop", **OF), "you are in team shop (alert schema)"),
        (Reason(kind=ReasonKind.USER, **OF), "the alert names you (alert schema)"),
        (Reason(kind=ReasonKind.USER, met="follows", **OF), "you follow it (alert schema)"),
        (Reason(kind=ReasonKind.USER, met="owns", **OF), "you own it (alert schema)"),
        (Reason(kind=ReasonKind.USER, met="isMemberOf:shop", **OF), "you are in team shop (alert schema)"),
        (Reason(kind=ReasonKind.FOLLOWER, of_subject=True, **OF), "you follow it (alert schema)"),
        (Reason(kind=ReasonKind.EXTERNAL, **OF), "the alert names this address (alert schema)"),
    ],
)
def test_a_reason_reads_as_a_sentence(reason: Reason, sentence: str) -> None:
    assert reason.sentence() == sentence
    about = sentence.replace("you own", "ana owns").replace("you follow", "ana follows").replace("you are", "ana is")
    assert reason.sentence("ana") == about.replace("you", "ana")


OFFSETS = st.integers(1, 2**48 - 1)
CAUSES = st.tuples(OFFSETS, st.uuids().map(str), st.sampled_from(["Email", "ActivityFeed"]), st.text())
BOUNDARY = 2**40


@given(st.lists(CAUSES, min_size=2, unique=True), st.sampled_from([ORDERED_IDS, NotificationIdScheme(BOUNDARY)]))
def test_the_same_causes_give_the_same_id_and_others_another(
    causes: list[tuple[int, str, str, str]], ids: NotificationIdScheme
) -> None:
    ids_by_cause = {cause: ids.of(*cause) for cause in causes}
    all_ids = [*ids_by_cause.values(), *map(message_id, ids_by_cause.values())]
    assert len(set(all_ids)) == 2 * len(causes)
    assert all(ids.of(*cause) == identity for cause, identity in ids_by_cause.items())
    for identity in all_ids:
        parsed = UUID(identity)
        assert (str(parsed), parsed.variant) == (identity, RFC_4122)


@given(st.lists(CAUSES, min_size=2))
def test_ids_are_in_the_order_of_the_log_and_so_are_those_of_messages(causes: list[tuple[int, str, str, str]]) -> None:
    ids = [ORDERED_IDS.of(*cause) for cause in causes]
    by_id = sorted(zip(ids, causes, strict=True))
    by_message = sorted(zip(map(message_id, ids), causes, strict=True))
    in_order = sorted(offset for offset, *_ in causes)
    assert [cause[0] for _, cause in by_id] == [cause[0] for _, cause in by_message] == in_order
    assert {UUID(identity).version for identity in (*ids, *map(message_id, ids))} == {8}
    assert all(int(identity.replace("-", "")[:12], 16) == cause[0] for identity, cause in by_id)


def test_events_before_the_upgrade_keep_their_ids() -> None:
    event = "0193e1a2-7c0f-7a5b-9a53-7f2f0d6c7a11"
    stored, stored_message = "1d2d7aa4-f55a-5cf1-a9f7-6d60eca9d67d", "fe9f5117-3f00-50dc-80b0-575d029809cc"
    for offset in (1, 41, 42):
        assert NotificationIdScheme(hashed_through=42).of(offset, event, "Email", "ana@example.com") == stored
    assert message_id(stored) == stored_message
    assert (
        NotificationIdScheme(hashed_through=42).of(43, event, "Email", "ana@example.com").startswith("00000000-002b-8")
    )
