"""Tests of the client's request builders against the documented API."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tocsin.client import activity_calls, calls
from tocsin.client import follow_calls as calls_of_follows
from tocsin.client.call import Page
from tocsin.errors import InvalidInput


def test_filters_are_sent_in_camel_case_and_lists_by_commas() -> None:
    pages = calls.list_tables(database_schema="a.b.c", tags=["PII.Sensitive", "Tier.Tier1"], include="all", owner=None)
    assert (pages.first.method, pages.first.path) == ("GET", "tables")
    assert pages.first.query == {
        "limit": "100",
        "databaseSchema": "a.b.c",
        "tags": "PII.Sensitive,Tier.Tier1",
        "include": "all",
    }


def test_types_with_a_nested_path_reach_their_collection() -> None:
    assert calls.get_by_id("databaseService", "1").path == "services/databaseServices/1"
    assert calls.get_subscription("x").path == "events/subscriptions/name/x"


def test_a_name_is_one_part_of_the_path_whatever_it_holds() -> None:
    assert calls.get_by_name("table", 'svc."a.b/c d"').path == "tables/name/svc.%22a.b%2Fc%20d%22"


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"tabel.*table"):
        calls.get_by_id("tabel", "1")


def test_a_patch_is_sent_as_json_patch_with_its_precondition() -> None:
    call = calls.patch("table", "1", [{"op": "remove", "path": "/tags/0"}], if_match='W/"0.3"')
    assert call.headers == {"Content-Type": "application/json-patch+json", "If-Match": 'W/"0.3"'}
    assert call.body == [{"op": "remove", "path": "/tags/0"}]


def test_a_delete_says_how_deep_and_how_hard() -> None:
    assert calls.delete("table", "1", recursive=True, hard=True).query == {"recursive": "true", "hardDelete": "true"}


def test_following_names_both_in_the_path() -> None:
    call = calls.add_follower(entity_type="table", entity_id="t", follower_id="u")
    assert (call.method, call.path, call.body) == ("PUT", "tables/t/followers/u", None)


def test_many_follows_are_selected_in_one_way() -> None:
    call = calls_of_follows.follow_assets("u", dry_run=True, query="tag:PII.Sensitive", query_filter="{}")
    assert (call.method, call.path) == ("POST", "users/u/follows")
    assert call.body == {"query": "tag:PII.Sensitive", "queryFilter": "{}", "dryRun": True}
    call = calls_of_follows.unfollow_assets("u", names=("a.b", "c"), type="table")
    assert (call.path, call.body) == ("users/u/unfollow", {"names": ["a.b", "c"], "type": "table"})
    pages = calls_of_follows.followed_assets("u", review="stale", sort_field="told")
    assert (pages.first.path, pages.first.query) == (
        "users/u/following",
        {"limit": "100", "review": "stale", "sortField": "told"},
    )


@pytest.mark.parametrize(
    "since",
    [
        datetime(2024, 5, 1, 12, tzinfo=UTC),
        datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        datetime(2024, 5, 1, 12, tzinfo=UTC).astimezone().replace(tzinfo=None),
    ],
)
def test_activity_counts_from_a_moment_in_whatever_zone(since: datetime) -> None:
    pages = activity_calls.get_follower_activity("u", since, event_types=["entityUpdated", "testCaseFailure"])
    assert pages.first.path == "users/u/activity"
    event_types = "entityUpdated,testCaseFailure"
    filters = {"limit": "100", "of": "following", "since": "1714564800000", "eventType": event_types}
    assert pages.first.query == filters


def test_an_address_of_a_feed_names_what_it_is_of() -> None:
    of_team = activity_calls.open_feed("u", entity_type="team", entity_id="t")
    assert (of_team.method, of_team.path, of_team.body) == ("POST", "users/u/feeds", {"type": "team", "id": "t"})
    assert activity_calls.open_feed("u", scope="owned").body == {"of": "owned"}
    assert activity_calls.revoke_feed("u", "a/b").path == "users/u/feeds/a%2Fb"


def test_activity_of_an_entity_is_in_its_collection() -> None:
    pages = activity_calls.entity_activity("domain", "d/1", since="24h")
    assert (pages.first.path, pages.first.query) == ("domains/d%2F1/activity", {"limit": "100", "since": "24h"})


def test_a_password_travels_as_openmetadata_sends_it() -> None:
    body = calls.login("a@example.com", "wörd").body
    assert body == {"email": "a@example.com", "password": base64.b64encode("wörd".encode()).decode()}


def test_the_next_page_keeps_the_filters_and_the_last_has_none() -> None:
    pages = calls.list_entities("table", limit=2)
    following = pages.call_after(Page((), after="abc"))
    assert following is not None
    assert following.query == {"limit": "2", "after": "abc"}
    assert pages.call_after(Page(())) is None


def test_follows_are_one_list_with_the_type_of_each() -> None:
    answer = {"tables": [{"id": "1"}], "databaseServices": [{"id": "2"}], "other": [{"id": "3", "type": "chart"}]}
    assert [(row.entity_type, row.id) for row in calls.follows("u").read(answer)] == [
        ("table", "1"),
        ("databaseService", "2"),
        ("chart", "3"),
    ]
